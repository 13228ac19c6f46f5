//! The resources.

use couplet::{prelude::*, types::ResourceContents};

use crate::contents::PIXEL;

pub(crate) fn register(server: Server) -> Server {
    server.resource(static_text).resource(static_binary).resource(watched).resource(template)
}

/// A text.
#[resource("test://static-text", mime_type = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// An image.
#[resource("test://static-binary", mime_type = "image/png")]
fn static_binary() -> ResourceContents {
    ResourceContents::blob("test://static-binary", PIXEL)
}

/// A resource that can be subscribed to.
#[resource("test://watched-resource", mime_type = "text/plain", subscribable)]
fn watched() -> &'static str {
    "This resource can be watched."
}

/// Data by id.
#[resource("test://template/{id}/data", mime_type = "application/json")]
fn template(id: String) -> String {
    serde_json::json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string()
}
