//! Configuration files of MCP hosts: listing, adding, removing and checking servers.
//!
//! Programs that use MCP servers are called hosts: Claude Desktop, Cursor, VS Code, Codex and many more. Each stores
//! its servers in its own file, format and layout. [`Hosts`] is the table of hosts, as data. [`discover`] reads the
//! servers of all hosts; [`Config`] reads one file and plans a [`Change`] to it; [`doctor`] diagnoses problems.
//!
//! A change edits one entry and preserves every other byte: comments, order, white space and line ends. A file that
//! cannot be parsed is not modified; the error says where it is invalid.
//!
//! This crate knows files and does not know the protocol: it starts no program and opens no connection. The environment
//! is passed in as an [`Env`], so all operating systems can be tested on one.

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
pub mod suggest;
mod table;
mod text;
pub mod words;

pub use change::Change;
pub use config::{Config, Overwrite, Server, read_file};
pub use discover::{Discovery, discover};
pub use entry::{Entry, Remote, Stdio, Transport};
pub use env::{Env, Os};
pub use error::{Error, ErrorKind};
pub use format::Format;
pub use table::{Host, Hosts, Place, Scope};
pub use text::{Part, Text};

/// Configurations as trees, with the positions of their parts.
pub mod tree {
    pub use crate::{
        format::position,
        node::{Member, Node, Value},
    };
}
