//! Where programs keep their Model Context Protocol servers, and how those are listed, added, removed and checked.
//!
//! Programs that use servers are called hosts: Claude Desktop, Cursor, VS Code, Codex and many more. Each keeps its
//! servers in a file of its own format, at a place of its own, in a shape of its own. [`Hosts`] is a table of all that,
//! as data. [`discover`] reads what every host has; [`Config`] reads one file and makes a [`Change`] of it; [`doctor`]
//! says what is wrong with it.
//!
//! Files belong to their users. A change touches one entry, and every other byte stays what it is: comments, order,
//! white space, line ends. What cannot be understood is left alone, with a sentence saying where it is wrong.
//!
//! This crate knows files and does not know the protocol: it starts no program and opens no connection. What is around
//! it comes in as an [`Env`], so all operating systems can be tested on one.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backup;
mod change;
#[cfg(feature = "cli")]
pub mod cli;
mod config;
mod discover;
pub mod doctor;
pub mod dotenv;
mod entry;
mod env;
mod error;
mod format;
mod lock;
mod node;
mod program;
mod shape;
mod suggest;
mod table;
mod text;
pub mod words;

pub use change::Change;
pub use config::{Config, Overwrite, Server};
pub use discover::{Discovery, discover};
pub use entry::{Entry, Remote, Stdio, Transport};
pub use env::{Env, Os};
pub use error::{Error, ErrorKind};
pub use format::Format;
pub use table::{Host, Hosts, Place, Scope};
pub use text::{Part, Text};
