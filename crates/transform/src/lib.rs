//! Transforms of servers of the Model Context Protocol: another view of a service, without a change to the service.
//!
//! | task | type |
//! |---|---|
//! | rename, hide and describe tools, prompts and resources | [`Transform`] |
//! | preset, hide, rename and narrow the arguments of a tool | [`ToolTransform`], [`ArgumentTransform`] |
//! | make several services of one | [`Split`] |
//! | offer resources and prompts to hosts that know only tools | [`ResourcesAsTools`], [`PromptsAsTools`] |
//! | offer many tools through a search | [`ToolSearch`] |
//!
//! Each of them wraps any service: a server, with all that is mounted in it, a proxy, a view of a host, or another
//! transform. Transforms are functions of names, so that a call needs no list, and what is listed is what can be called.
//!
//! ```
//! use std::sync::Arc;
//!
//! use couplet_core::{IntoService, Service};
//! use couplet_server::{Server, tool};
//! use couplet_transform::{ToolTransform, Transform};
//!
//! let server: Server = Server::new("issues", "1.0.0").tool(tool("create", || "created")).tool(tool("purge", || "…"));
//! let issues = ToolTransform::new().name("new_issue").description("Creates an issue in the team's repository.");
//! let service: Arc<dyn Service> = Transform::new(server).tool("create", issues).hide_tools("purge").into_service();
//! # drop(service);
//! ```
//!
//! This crate knows calls, replies and definitions. It must not know transports, handlers or revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod added;
mod argument;
mod errors;
mod glob;
mod items;
mod list;
mod names;
mod nested;
mod prompts;
mod resources;
mod schema;
mod search;
mod split;
mod tool;
mod transform;
mod uris;

pub use argument::ArgumentTransform;
pub use glob::{Glob, GlobError};
pub use items::{PromptTransform, ResourceTransform};
pub use prompts::PromptsAsTools;
pub use resources::ResourcesAsTools;
pub use search::ToolSearch;
pub use split::Split;
pub use tool::ToolTransform;
pub use transform::Transform;
