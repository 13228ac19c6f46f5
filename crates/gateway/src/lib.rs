//! A gateway for the Model Context Protocol: a configuration file turned into a served host.
//!
//! * [`Gateway`] is a host that follows a configuration file: to serve over any transport.
//! * [`Config`] is the file, read and validated; [`schema`] describes it for editors.
//! * [`Approvals`] are for files of projects, which are not the user's own.
//! * [`Gateway::questions`] are the calls that wait for the consent of a person on this machine.
//! * [`statuses`] asks the gateways that run for their status, and [`controls`] for their questions and grants.
//!
//! This crate knows hosts, configuration files and transports. It must not know terminals.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod assemble;
mod audit;
pub mod config;
mod connect;
mod consent;
#[cfg(unix)]
mod control;
mod discovery;
mod env_file;
mod error;
mod files;
mod gateway;
mod http;
mod pins;
mod project;
mod project_files;
mod rules;
mod secrets;
#[cfg(unix)]
mod socket;
mod status;
mod upstreams;
mod watch;

pub use access::Access;
pub use audit::audit_key;
pub use config::{Config, schema};
pub use consent::WaitingQuestion;
#[cfg(unix)]
pub use control::{Control, ControlSocket, controls};
pub use error::{Error, ErrorKind};
pub use files::state_folder;
pub use gateway::Gateway;
pub use pins::{Inspected, PinFile, Unapproved, inspect, seen};
pub use project::{Approvals, Project};
#[cfg(unix)]
pub use status::{StatusSocket, statuses};
pub use status::{runtime_folder, runtime_folders};
