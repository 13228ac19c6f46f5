//! MCP Apps (`io.modelcontextprotocol/ui`): tools with a view of their own, which a host shows beside the result.
//!
//! A server offers views as resources and says which tool has which ([`Apps`], [`View`], [`AppTool`]). A host declares
//! that it can show them ([`ClientApps`]), fetches them ([`HostApps`]), keeps them from what they did not ask for
//! ([`Csp::policy`], [`AppTools`]) and talks to them ([`Bridge`]). The window itself is the host's: this crate is data
//! and decisions, without I/O.
//!
//! This crate is written on the registries of `couplet-server` and `couplet-client` alone, as anybody's extension could
//! be. It must not know transports and revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod bridge;
#[cfg(feature = "client")]
mod client;
mod csp;
mod meta;
pub mod sandbox;
#[cfg(feature = "server")]
mod server;
mod tools;

pub use bridge::{Bridge, DisplayMode, FromView, Host, HostContext, ModelContext, Size, ViewMessage, WrongTime};
#[cfg(feature = "client")]
pub use client::{AppView, ClientApps, HostApps};
pub use csp::Csp;
pub use meta::{MIME_TYPE, Permission, Permissions, ToolUi, ViewMeta, Visibility};
#[cfg(feature = "server")]
pub use server::{AppTool, Apps, ShowsApps, View};
pub use tools::{AppTools, Refusal};
