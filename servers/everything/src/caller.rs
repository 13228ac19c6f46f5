//! Who calls, as the server sees it.

use couplet::{
    prelude::*,
    types::{Implementation, Meta},
};
use serde::Serialize;
use serde_json::{Value, json};

/// What the server knows of a client.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Caller {
    /// The revision of the protocol in which this call came
    revision: String,
    /// Whether there is a session; if not, every request says all of this itself
    session: bool,
    /// What the client says it is
    client: Option<String>,
    /// What the client can do
    capabilities: Value,
    /// Who was authenticated, if anybody was
    principal: Option<String>,
    /// What else the request carried in `_meta`
    meta: Value,
}

/// Tells what the server knows about the client that calls: its revision, its capabilities, what its request carried.
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
