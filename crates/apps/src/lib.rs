//! MCP Apps (`io.modelcontextprotocol/ui`): tools with a view of their own, which a host shows beside the result.
//!
//! A server offers views as resources and assigns them to tools ([`Apps`], [`View`], [`AppTool`]). A host declares that
//! it shows views ([`ClientApps`]), fetches them ([`HostApps`]), enforces what they may load and call ([`Csp::policy`],
//! [`AppTools`]) and exchanges messages with them ([`Bridge`]). Rendering is the host's: this crate is data and
//! decisions, without I/O.
//!
//! This crate uses only the public extension registries of `couplet-server` and `couplet-client`, as a third-party
//! extension would. It must not know transports and revisions.

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

/// Seals the extension traits: methods can be added to them without a breaking change.
///
/// ```compile_fail
/// struct Mine;
///
/// impl couplet_apps::ShowsApps for Mine {
///     fn shows_apps(&self) -> bool {
///         true
///     }
/// }
/// ```
#[cfg(any(feature = "server", feature = "client"))]
mod sealed {
    pub trait Sealed {}
}

pub use bridge::{
    Bridge, DisplayMode, Host, HostContext, InvalidState, ModelContext, ServerList, Size, ViewEvent, ViewMessage,
    ViewRequest,
};
#[cfg(feature = "client")]
pub use client::{AppView, ClientApps, HostApps};
pub use csp::Csp;
pub use meta::{MIME_TYPE, Permission, Permissions, ToolUi, ViewMeta, Visibility};
#[cfg(feature = "server")]
pub use server::{AppTool, Apps, ShowsApps, View};
pub use tools::{AppTools, Refusal};
