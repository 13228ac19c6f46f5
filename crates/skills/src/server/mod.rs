//! Servers that offer skills.

mod catalog;
mod folder;
mod skill;

use std::{path::PathBuf, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_core::{Call, Error, ErrorKind, Reply, ResultBody};
use couplet_server::{Extension, resource};
use couplet_types::{ResourceContents, RpcError, SKILLS_EXTENSION};
use serde_json::json;

use crate::entry::SKILL_MD;
use catalog::Catalog;

pub use skill::Skill;

/// The extension of a server that offers skills.
///
/// Every `SKILL.md` is in the list of resources; the other files of a skill are read by those who know their address,
/// which is in the skill's entry. All of it is in memory, so what is listed is what is read: when files change, the
/// server is started again.
///
/// ```
/// use couplet_server::Server;
/// use couplet_skills::{Skill, Skills};
///
/// let refunds = Skill::new("refunds", "How to refund an order.", "Look up the order first.");
/// let server: Server = Server::new("shop", "1.0.0").extension(Skills::new().skill(refunds));
/// ```
#[derive(Debug, Default)]
#[must_use = "register it with `Server::extension`"]
pub struct Skills {
    catalog: Catalog,
}

impl Skills {
    /// No skill yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The skills in a folder: every folder in it, however deep, that has a `SKILL.md`, and what is below that. What
    /// begins with a dot is left out; links are followed as long as they stay in the skill.
    ///
    /// # Errors
    /// When something cannot be read, a skill is not one, is not in a folder of its name, or has more than 512 files
    /// or 16 MiB.
    pub async fn folder(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let read = tokio::task::spawn_blocking(move || {
            let skills = folder::read(&path)?;
            skills.into_iter().try_fold(Self::new(), Self::add)
        });
        let refused = |what: String| Error::new(ErrorKind::Config, what);
        read.await.map_err(|e| refused("the skills were not read".to_owned()).with_source(e))?.map_err(refused)
    }

    /// Offers a skill.
    ///
    /// # Panics
    /// When it is not fit: its name is not one, there is another one at its address, it is too large.
    #[track_caller]
    pub fn skill(self, skill: Skill) -> Self {
        match self.add(skill) {
            Ok(skills) => skills,
            Err(what) => panic!("{what}"),
        }
    }

    /// How many skills, or entries of a folder, a page has: 50 by default.
    pub fn page_size(mut self, entries: usize) -> Self {
        self.catalog.page_size = entries.max(1);
        self
    }

    fn add(mut self, skill: Skill) -> Result<Self, String> {
        self.catalog.add(skill.finish()?)?;
        Ok(self)
    }
}

impl From<Skills> for Extension {
    fn from(skills: Skills) -> Self {
        let mut catalog = skills.catalog;
        let mut extension = Self::new(SKILLS_EXTENSION)
            .settings(&json!({ "directoryRead": true }))
            // Files are read with a method of the protocol.
            .capabilities(|can| {
                can.resources.get_or_insert_default();
            });
        for file in std::mem::take(&mut catalog.files) {
            let (uri, mime_type, content) = (file.uri.clone(), file.mime_type, file.content);
            let size = content.len() as u64;
            let read = move || read(&uri, mime_type, &content);
            let listed = resource(file.uri, read).name(file.name).mime_type(mime_type).size(size);
            extension = match file.description {
                Some(description) => extension.resource(listed.description(description)),
                None => extension.resource(listed.unlisted()),
            };
        }
        let catalog = Arc::new(catalog);
        let [list, get, folder] = std::array::from_fn(|_| catalog.clone());
        // Whoever does not declare the extension may ask as well: there is nothing that it would not understand.
        extension
            .open_method("skills/list", move |call, _| answer(list.clone(), call, Catalog::list))
            .open_method("skills/get", move |call, _| answer(get.clone(), call, Catalog::get))
            .open_method("resources/directory/read", move |call, _| answer(folder.clone(), call, Catalog::folder))
    }
}

async fn answer(
    catalog: Arc<Catalog>,
    call: Call,
    method: fn(&Catalog, &Call) -> Result<ResultBody, RpcError>,
) -> Reply {
    method(&catalog, &call).map_or_else(Reply::Error, Reply::Complete)
}

/// Text where it is text, bytes where not.
fn read(uri: &str, mime_type: &str, content: &[u8]) -> ResourceContents {
    match std::str::from_utf8(content) {
        Ok(text) => ResourceContents::text(uri, text),
        Err(_) => ResourceContents::blob(uri, STANDARD.encode(content)),
    }
    .mime_type(mime_type)
}

/// The MIME type of a file by its name.
fn mime_type(path: &str, content: &[u8]) -> &'static str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    if name == SKILL_MD {
        return "text/markdown";
    }
    match name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "application/yaml",
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("csv") => "text/csv",
        Some("js" | "mjs") => "text/javascript",
        Some("py") => "text/x-python",
        Some("sh") => "application/x-sh",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("svg") => "image/svg+xml",
        Some("pdf") => "application/pdf",
        Some("zip") => "application/zip",
        _ if std::str::from_utf8(content).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}
