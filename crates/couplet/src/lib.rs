//! The front door of Couplet.
#![doc = include_str!("docs/lib.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "apps")]
pub use couplet_apps as apps;
#[cfg(any(feature = "auth", feature = "auth-server"))]
pub use couplet_auth as auth;
#[cfg(feature = "client")]
pub use couplet_client as client;
pub use couplet_core as core;
#[cfg(any(feature = "http", feature = "http-client"))]
pub use couplet_http as http;
#[cfg(feature = "proxy")]
pub use couplet_proxy as proxy;
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
pub use couplet_types as types;

#[cfg(feature = "client")]
pub use couplet_client::Client;
pub use couplet_core::{Error, ErrorKind};
#[cfg(feature = "macros")]
pub use couplet_macros::{prompt, resource, test, tool};
#[cfg(feature = "server")]
pub use couplet_server::{Server, prompt, resource, tool};
pub use couplet_types::ProtocolVersion;
/// What derived code refers to; not a part of the API.
#[cfg(feature = "server")]
#[doc(hidden)]
pub use {schemars, serde};

/// The programs of the README are compiled with the tests.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The result of what can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub mod prelude {
    //! What nearly every program needs: `use couplet::prelude::*;`

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
    #[cfg(feature = "client")]
    pub use couplet_stdio::Command;
    #[cfg(feature = "stdio")]
    pub use couplet_stdio::stdio;
}
