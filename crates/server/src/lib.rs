//! Servers of the Model Context Protocol (MCP): functions become tools, resources and prompts.
//!
//! A [`Server`] is built from [`tool`]s, [`resource`]s and [`prompt`]s. Each is a function, `async` or not, whose
//! parameters are [extractors](extract) and whose result becomes the [reply]. The same function answers clients of
//! every protocol revision.
//!
//! The layer below is [`couplet_core::Service`]: implement it yourself if you need a server without registries.
//!
//! This crate knows handlers. It must not know transports, revisions or eras.

#![doc = include_str!("docs/lib.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod args;
mod blocking;
mod check;
mod checks;
mod ctx;
mod definition;
mod dispatch;
mod drain;
mod error;
mod extension;
pub mod extract;
mod fault;
#[cfg_attr(not(feature = "validate"), path = "no_full.rs")]
mod full;
mod guard;
mod handle;
pub mod handler;
mod inner;
mod lifespan;
mod list;
pub mod media;
mod middleware;
mod mount;
pub mod outcomes;
mod prompt;
mod registry;
mod replicas;
pub mod reply;
mod resource;
pub mod schema;
mod scopes;
mod server;
mod setters;
mod signature;
mod strings;
mod together;
mod tool;
mod tool_middleware;
mod trace;

pub use checks::Validation;
pub use ctx::{Answer, Ctx};
pub use error::{NotFound, ToolError};
pub use extension::{Extension, ToolData};
pub use handle::{ServerHandle, WeakServerHandle};
pub use lifespan::Lifespan;
pub use middleware::{ListedTool, Middleware, Next};
pub use mount::MountState;
pub use prompt::{IntoPrompt, PromptBuilder, PromptDef, prompt};
pub use reply::Json;
pub use resource::{IntoResource, ResourceBuilder, ResourceDef, resource};
pub use schemars;
pub use server::{Ready, Server};
pub use signature::Signature;
pub use tool::{IntoTool, ToolBuilder, ToolDef, tool};
pub use tool_middleware::{ToolCall, ToolNext};
