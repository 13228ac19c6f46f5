//! What the server knows about the caller.

use couplet::{
    prelude::*,
    types::{Implementation, Meta},
};
use serde::Serialize;
use serde_json::{Value, json};

/// What the server knows about a client.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Caller {
    /// The protocol revision of this call
    revision: String,
    /// Whether there is a session; if not, every request carries this data
    session: bool,
    /// Name and version of the client
    client: Option<String>,
    /// Capabilities of the client
    capabilities: Value,
    /// The authenticated principal, if any
    principal: Option<String>,
    /// Other members of `_meta`
    meta: Value,
}

/// Returns what the server knows about the client: its revision, capabilities and request metadata.
#[tool(name = "get-caller", title = "Get Caller", read_only, open_world = false)]
pub(crate) async fn get_caller(meta: Meta, ctx: Ctx) -> Json<Caller> {
    let (call, peer) = (ctx.call(), ctx.peer());
    let name = |info: &Implementation| format!("{} {}", info.name, info.version);
    Json(Caller {
        revision: peer.version.to_string(),
        session: call.revision.has_sessions(),
        client: peer.info.as_ref().map(name),
        capabilities: json!(peer.capabilities),
        principal: call.principal().map(str::to_owned),
        meta: json!(meta),
    })
}
