//! Typed clients for MCP servers in Rust, TypeScript and Python, generated from their definitions.
//!
//! A tool becomes a function with types for its arguments and its structured content, from its schemas; prompts and
//! resource templates become functions, too. A schema that a language cannot express becomes any JSON value.
//!
//! This crate knows the definitions of the protocol and three languages. It knows no transport and does no I/O. Its
//! input is untrusted: all work is bounded, and no text of a server becomes code. Equal definitions give equal text.
//!
//! ```
//! use couplet_generate::{Definitions, Generator, Language};
//! use couplet_types::{RawJson, Tool};
//!
//! let schema = r#"{ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] }"#;
//! let forecast = Tool::new("forecast", RawJson::from_text(schema)?).description("Forecasts the weather.");
//! let definitions = Definitions::new().server("weather").tools(vec![forecast]);
//!
//! let code = Generator::new(&definitions).code(Language::Rust);
//! assert!(code.contains("pub struct ForecastInput {"));
//! assert!(code.contains("pub fn forecast(&self, arguments: &ForecastInput)"));
//! # Ok::<(), serde_json::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod definitions;
mod json;
mod language;
mod model;
mod names;
mod python;
mod rust;
mod text;
mod typescript;
mod writer;

pub use definitions::Definitions;
pub use language::Language;

use model::Model;

/// A generator of clients for one server.
#[derive(Debug)]
pub struct Generator {
    model: Model,
}

impl Generator {
    /// Creates a generator. The type of the client is named after the server: `WeatherClient`.
    pub fn new(definitions: &Definitions) -> Self {
        Self { model: model::model(definitions, None) }
    }

    /// Creates a generator for a client whose type has this name.
    pub fn with_name(definitions: &Definitions, name: &str) -> Self {
        Self { model: model::model(definitions, Some(name)) }
    }

    /// Returns the code of the client.
    pub fn code(&self, language: Language) -> String {
        match language {
            Language::Rust => rust::code(&self.model),
            Language::TypeScript => typescript::code(&self.model),
            Language::Python => python::code(&self.model),
        }
    }

    /// Returns tests of the client, whose module has this name: each function with values of its types.
    ///
    /// In Rust they are a module to append to the code; in the other languages they are a file of their own
    /// ([`Language::tests_file`]).
    pub fn tests(&self, language: Language, module: &str) -> String {
        match language {
            Language::Rust => rust::tests(&self.model),
            Language::TypeScript => typescript::tests(&self.model, module),
            Language::Python => python::tests(&self.model, module),
        }
    }

    /// Returns the name of the module of the client, such as `weather_client`.
    pub fn module(&self) -> String {
        names::snake(&self.model.client)
    }

    /// Returns the number of functions: tools, prompts and resource templates.
    pub fn functions(&self) -> usize {
        self.model.tools.len() + self.model.prompts.len() + self.model.templates.len()
    }
}
