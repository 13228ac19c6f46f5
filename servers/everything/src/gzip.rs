//! A tool of the contract that turns a file into a resource.

use std::{
    collections::VecDeque,
    io::Write,
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet::{
    core::sync::lock,
    prelude::*,
    server::{ServerHandle, reply::Blob},
    types::{ContentBlock, Resource, ResourceContents},
};
use flate2::{Compression, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::{App, fetch::Limits};

/// The maximum size of all stored files in bytes; the oldest are evicted first.
const MAX_STORED: usize = 32 << 20;
const MIME_TYPE: &str = "application/gzip";

/// The stored files, with their sizes.
#[derive(Clone, Default)]
pub(crate) struct Files(Arc<Mutex<VecDeque<(String, usize)>>>);

impl Files {
    /// Adds a file as a resource, replacing one with the same URI.
    fn add(&self, server: &ServerHandle, link: &Resource, bytes: Vec<u8>, listed: bool) -> Result<(), ToolError> {
        let mut files = lock(&self.0);
        let size = bytes.len();
        files.retain(|(uri, _)| *uri != link.uri);
        server.remove_resource(&link.uri);
        while files.iter().map(|(_, size)| size).sum::<usize>() + size > MAX_STORED
            && let Some((oldest, _)) = files.pop_front()
        {
            server.remove_resource(&oldest);
        }
        let bytes: Arc<[u8]> = bytes.into();
        let file = resource(link.uri.as_str(), move || Blob(bytes.to_vec())).name(link.name.as_str());
        let file = file.mime_type(MIME_TYPE).size(size as u64);
        server.add_resource(if listed { file } else { file.unlisted() })?;
        files.push_back((link.uri.clone(), size));
        Ok(())
    }
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum OutputType {
    ResourceLink,
    Resource,
}

const DESCRIPTION: &str = "Compresses a single file using gzip compression. Depending upon the selected output type, \
    returns either the compressed data as a gzipped resource or a resource link, allowing it to be downloaded in a \
    subsequent request during the current session.";

/// Compresses a file.
#[tool(
    name = "gzip-file-as-resource",
    title = "GZip File as Resource Tool",
    description = DESCRIPTION,
    destructive = false,
    idempotent,
    open_world
)]
pub(crate) async fn gzip_file_as_resource(
    /// Name of the output file
    #[default("README.md.gz")]
    name: String,
    /// URL or data URI of the file content to compress
    #[schemars(extend("format" = "uri"))]
    #[default("https://raw.githubusercontent.com/modelcontextprotocol/servers/refs/heads/main/README.md")]
    data: String,
    /// How the resulting gzipped file should be returned. 'resourceLink' returns a link to a resource that can be read later, 'resource' returns a full resource object.
    #[serde(rename = "outputType")]
    #[default(OutputType::ResourceLink)]
    output_type: OutputType,
    State(app): State<App>,
    ctx: Ctx,
) -> Result<ContentBlock, ToolError> {
    let content = Limits::from_env().fetch(&data).await?;
    // Compression would block the runtime.
    let zipped = tokio::task::spawn_blocking(move || zip(&content)).await??;
    let link = Resource::new(format!("demo://resource/session/{}", escaped(&name)), name).mime_type(MIME_TYPE);
    let blob = STANDARD.encode(&zipped);
    // In stateless revisions, a call must not change the lists.
    app.files.add(ctx.server(), &link, zipped, ctx.call().revision.has_sessions())?;
    Ok(match output_type {
        OutputType::ResourceLink => ContentBlock::link(link),
        OutputType::Resource => ContentBlock::resource(ResourceContents::blob(link.uri, blob).mime_type(MIME_TYPE)),
    })
}

fn zip(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    encoder.finish()
}

/// Percent-encodes a name. Braces would make the URI a template.
fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
