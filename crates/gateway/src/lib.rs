//! A gateway for the Model Context Protocol: a configuration file turned into a served host.
//!
//! * [`Config`] is the file, read and validated; [`schema`] describes it for editors.
//! * [`Approvals`] are for files of projects, which are not the user's own.
//! * [`statuses`] asks the gateways that run for their status.
//!
//! This crate knows hosts, configuration files and transports. It must not know terminals.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod config;
mod connect;
mod error;
mod files;
mod project;
mod secrets;
mod status;
mod watch;

pub use config::{Config, schema};
pub use error::{Error, ErrorKind};
pub use files::state_folder;
pub use project::{Approvals, Project};
pub use status::runtime_folder;
#[cfg(unix)]
pub use status::{StatusSocket, statuses};
