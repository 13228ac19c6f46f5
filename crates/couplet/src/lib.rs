//! An SDK for the Model Context Protocol (MCP): servers and clients for every protocol revision.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("docs/lib.md")]

#[cfg(feature = "apps")]
pub use couplet_apps as apps;
#[cfg(any(feature = "auth-client", feature = "auth-server"))]
pub use couplet_auth as auth;
#[cfg(feature = "client")]
pub use couplet_client as client;
pub use couplet_core as core;
#[cfg(feature = "host")]
pub use couplet_host as host;
#[cfg(any(feature = "cards", feature = "http-server", feature = "http-client", feature = "openapi"))]
pub use couplet_http as http;
#[cfg(feature = "middleware")]
pub use couplet_middleware as middleware;
#[cfg(feature = "openapi")]
pub use couplet_openapi as openapi;
#[cfg(feature = "otel")]
pub use couplet_otel as otel;
#[cfg(feature = "proxy")]
pub use couplet_proxy as proxy;
#[cfg(feature = "redis")]
pub use couplet_redis as redis;
#[cfg(feature = "validate")]
pub use couplet_schema as schema;
#[cfg(feature = "server")]
pub use couplet_server as server;
#[cfg(feature = "skills")]
pub use couplet_skills as skills;
#[cfg(feature = "stdio")]
pub use couplet_stdio as stdio;
#[cfg(feature = "tasks")]
pub use couplet_tasks as tasks;
#[cfg(feature = "transform")]
pub use couplet_transform as transform;
pub use couplet_types as types;

// For rustdoc and its tests only, and where every feature is enabled: its programs and links need them.
#[cfg(all(
    any(doc, doctest),
    feature = "full",
    feature = "auth-keychain",
    feature = "cards",
    feature = "inspector",
    feature = "redis",
    feature = "reqwest",
    feature = "system-roots",
    feature = "tasks-sqlite",
))]
#[cfg_attr(docsrs, doc(auto_cfg = false))]
pub mod guide;
#[cfg(all(feature = "http-server", feature = "server", feature = "stdio"))]
mod run;
#[cfg(feature = "http-server")]
pub mod signal;

#[cfg(feature = "client")]
pub use couplet_client::Client;
pub use couplet_core::{Error, ErrorKind};
#[cfg(feature = "macros")]
pub use couplet_macros::{prompt, resource, test, tool};
#[cfg(feature = "server")]
pub use couplet_server::{Server, prompt, resource, tool};
pub use couplet_types::ProtocolVersion;
#[cfg(all(feature = "http-server", feature = "server", feature = "stdio"))]
pub use run::{run, run_with_args};
/// Crates that the code of the attributes refers to. Not part of the API.
#[cfg(feature = "server")]
#[doc(hidden)]
pub use {schemars, serde};

/// The programs of the README are compiled with the tests.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// A `Result` whose error type defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub mod prelude {
    //! The names that nearly every program needs: `use couplet::prelude::*;`
    //!
    //! `Path`, `State` and `Json` are also names of axum, and `Command` and `Path` of the standard library. An explicit
    //! import wins over this glob, silently: a handler that then takes axum's `State` fails to compile with "cannot be a
    //! parameter of a handler". Import one of the two under another name, as in `use axum::extract::State as AxumState`.
    //!
    //! The extension traits of the features `tasks`, `skills` and `apps` are in scope without their names, so that methods
    //! such as `tool(..).task(..)` and `client.call(..).task()` work.

    #[cfg(all(feature = "apps", feature = "client"))]
    pub use couplet_apps::HostApps as _;
    #[cfg(all(feature = "apps", feature = "server"))]
    pub use couplet_apps::{AppTool as _, ShowsApps as _};
    #[cfg(feature = "client")]
    pub use couplet_client::Client;
    #[cfg(feature = "macros")]
    pub use couplet_macros::{prompt, resource, tool};
    #[cfg(feature = "server")]
    pub use couplet_server::{
        Ctx, Json, Server, ToolError,
        extract::{Args, Auth, Path, State},
        prompt, resource,
        schemars::{self, JsonSchema},
        tool,
    };
    #[cfg(all(feature = "skills", feature = "client"))]
    pub use couplet_skills::LoadSkills as _;
    #[cfg(feature = "client")]
    pub use couplet_stdio::Command;
    #[cfg(feature = "stdio")]
    pub use couplet_stdio::stdio;
    #[cfg(all(feature = "tasks", feature = "client"))]
    pub use couplet_tasks::CallTask as _;
    #[cfg(all(feature = "tasks", feature = "server"))]
    pub use couplet_tasks::TaskTool as _;
}
