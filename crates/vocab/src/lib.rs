//! The Model Context Protocol as data for others: JSON Schema, JSON-LD, RDF, and a validator.
//!
//! * [`schema`] prints the JSON Schema of each revision, drawn from the Rust types.
//! * [`check`] and [`validate`] say what is wrong with a message or a file, where, and in which revision it would be right.
//! * [`jsonld`] and [`rdf`] turn messages and whole logs into linked data, in bounded memory, and back.
//! * [`vocabulary`] is every term of every revision.
//! * [`log`] is the format of recorded logs.
//! * `cli` (feature) has all of it as commands.
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
//! This crate knows what messages look like, from one table over the types (`src/table/`), and nothing of behaviour: no
//! transport, no session beyond its name, no runtime. It fetches nothing: what a document refers to is embedded or an error.

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
