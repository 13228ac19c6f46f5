//! Resources: the documents about this server, two templates, and a cacheable one.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet::{
    prelude::*,
    server::extract::Completing,
    types::{Annotations, CacheScope, ReadResourceResult, ResourceContents, Role},
};
use serde::Deserialize;

use crate::{App, clock};

/// The URI prefix of the documents.
const DOCUMENTS: &str = "demo://resource/static/document/";

/// The instructions for models.
pub(crate) const INSTRUCTIONS: &str = include_str!("../docs/instructions.md");

pub(crate) fn register(server: Server<App>) -> Server<App> {
    let server = documents().into_iter().fold(server, |server, (name, text)| {
        let uri = format!("{DOCUMENTS}{name}");
        let document = resource(uri, move || text)
            .name(name)
            .description(format!("Static document file exposed from /docs: {name}"))
            .mime_type("text/markdown")
            .size(text.len() as u64)
            .annotations(Annotations::new().audience(vec![Role::User, Role::Assistant]).priority(0.5));
        server.resource(document.subscribable())
    });
    server.resource(dynamic_text).resource(dynamic_blob).resource(cached)
}

fn documents() -> [(&'static str, &'static str); 7] {
    [
        ("architecture.md", include_str!("../docs/architecture.md")),
        ("extension.md", include_str!("../docs/extension.md")),
        ("features.md", include_str!("../docs/features.md")),
        ("how-it-works.md", include_str!("../docs/how-it-works.md")),
        ("instructions.md", INSTRUCTIONS),
        ("startup.md", include_str!("../docs/startup.md")),
        ("structure.md", include_str!("../docs/structure.md")),
    ]
}

/// Plaintext dynamic resource fabricated from the {resourceId} variable, which must be an integer.
#[resource(
    "demo://resource/dynamic/text/{resourceId}",
    name = "Dynamic Text Resource",
    mime_type = "text/plain",
    subscribable,
    complete(resourceId = ids)
)]
fn dynamic_text(
    #[serde(rename = "resourceId")] number: String,
) -> Result<ReadResourceResult, couplet::server::NotFound> {
    Ok(fresh(text(id(&number).map_err(|_| couplet::server::NotFound)?)))
}

/// Binary (base64) dynamic resource fabricated from the {resourceId} variable, which must be an integer.
#[resource(
    "demo://resource/dynamic/blob/{resourceId}",
    name = "Dynamic Blob Resource",
    mime_type = "application/octet-stream",
    subscribable,
    complete(resourceId = ids)
)]
fn dynamic_blob(
    #[serde(rename = "resourceId")] number: String,
) -> Result<ReadResourceResult, couplet::server::NotFound> {
    Ok(fresh(blob(id(&number).map_err(|_| couplet::server::NotFound)?)))
}

/// The time at which it was read. Clients may cache it for ten seconds, privately.
#[resource("demo://resource/kept/now", name = "Kept Time", mime_type = "text/plain")]
fn cached() -> ReadResourceResult {
    let contents = ResourceContents::text("demo://resource/kept/now", clock::now()).mime_type("text/plain");
    ReadResourceResult::new(vec![contents]).ttl_ms(10_000).cache_scope(CacheScope::Private)
}

/// Creates a result that must not be cached, since it contains the time.
fn fresh(contents: ResourceContents) -> ReadResourceResult {
    ReadResourceResult::new(vec![contents]).ttl_ms(0).cache_scope(CacheScope::Private)
}

// The two kinds of dynamic resources. A doc comment would become part of the schemas.
#[derive(Clone, Copy, Deserialize, serde::Serialize, JsonSchema)]
pub(crate) enum Kind {
    Text,
    Blob,
}

impl Kind {
    pub(crate) fn make(self, id: u64) -> ResourceContents {
        match self {
            Self::Text => text(id),
            Self::Blob => blob(id),
        }
    }
}

pub(crate) fn text(id: u64) -> ResourceContents {
    let said = format!("Resource {id}: This is a plaintext resource created at {}", clock::now());
    ResourceContents::text(format!("demo://resource/dynamic/text/{id}"), said).mime_type("text/plain")
}

pub(crate) fn blob(id: u64) -> ResourceContents {
    let said = format!("Resource {id}: This is a base64 blob created at {}", clock::now());
    ResourceContents::blob(format!("demo://resource/dynamic/blob/{id}"), STANDARD.encode(said)).mime_type("text/plain")
}

/// Parses the id of a dynamic resource.
pub(crate) fn id(text: &str) -> Result<u64, ToolError> {
    let wrong = || ToolError::new(format!("Invalid resourceId: {text}. Must be a finite positive integer."));
    text.parse().ok().filter(|id| *id > 0).ok_or_else(wrong)
}

/// Completes a number with itself.
pub(crate) fn ids(typed: Completing) -> Vec<String> {
    id(&typed.value).map(|_| typed.value).into_iter().collect()
}
