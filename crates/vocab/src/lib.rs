//! The Model Context Protocol as data: JSON Schema, JSON-LD, RDF, and a validator, for every revision.
//!
//! * [`schema`] generates the JSON Schema of each revision from the Rust types.
//! * [`check`] and [`validate`] report errors in messages and files, and the revisions in which they would be valid.
//! * [`jsonld`] and [`rdf`] convert messages and logs to linked data and back, in bounded memory.
//! * [`vocabulary`] lists every term of every revision.
//! * [`log`] is the format of recorded logs.
//! * `cli` (feature) provides the subcommands.
//!
//! ```
//! use couplet_vocab::rdf::{Format, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), Format::Turtle);
//! writer.message(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#)?;
//! let turtle = String::from_utf8(writer.finish()?)?;
//! assert!(turtle.contains(r#"mcp:params [ mcp:name "add""#), "{turtle}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows the structure of messages, from one table over the types (`src/table/`), and no behaviour: no
//! transport, no runtime, and of sessions only the names. It fetches nothing: a document that refers to anything that
//! is not embedded is an error.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
mod error;
pub mod jsonld;
pub mod log;
pub mod rdf;
pub mod schema;
mod table;
mod tree;
pub mod validate;
pub mod vocabulary;

pub use error::Error;
