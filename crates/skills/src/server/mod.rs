//! The server side: offering skills.

mod catalog;
mod directory;
mod live;
mod skill;
mod watch;

use std::{path::PathBuf, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_core::{Call, Error, ErrorKind, Reply, ResultBody};
use couplet_server::Extension;
use couplet_types::{ResourceContents, RpcError, SKILLS_EXTENSION};
use serde_json::json;

use crate::entry::SKILL_MD;
use catalog::Catalog;

pub use live::SkillsHandle;
pub use skill::Skill;

/// The skills extension of a server.
///
/// Every `SKILL.md` appears in `resources/list`; the other files of a skill are readable by the URIs in its entry. All
/// content is held in memory, so that lists and files always agree. [`Skills::handle`] changes the skills of a server that
/// runs, and watches directories.
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
    handle: SkillsHandle,
}

impl Skills {
    /// Creates the extension without skills.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads the skills below a directory: every subdirectory with a `SKILL.md`, at any depth up to 16, with all files
    /// below it. Hidden files are skipped. Symbolic links to files are followed if their target is inside the skill.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if a skill is invalid, is not in a directory of its name, or has more than
    /// 512 files or 16 MiB.
    pub async fn from_directory(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let read = tokio::task::spawn_blocking(move || {
            let skills = directory::read(&path)?;
            skills.into_iter().try_fold(Self::new(), Self::add)
        });
        let refused = |what: String| Error::new(ErrorKind::Config, what);
        read.await.map_err(|e| refused("the skills were not read".to_owned()).with_source(e))?.map_err(refused)
    }

    /// Adds a skill.
    ///
    /// # Panics
    /// Panics if the skill is invalid or too large, or if it has the same URI as another skill or is nested with one.
    #[track_caller]
    pub fn skill(self, skill: Skill) -> Self {
        match self.add(skill) {
            Ok(skills) => skills,
            Err(what) => panic!("{what}"),
        }
    }

    /// Returns a handle that changes the skills of the running server.
    pub fn handle(&self) -> SkillsHandle {
        self.handle.clone()
    }

    /// Sets the page size of lists of skills and of directories (default: 50).
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
        let Skills { catalog, handle } = skills;
        let mut extension = Self::new(SKILLS_EXTENSION)
            .settings(&json!({ "directoryRead": true }))
            // Files are read with `resources/read`.
            .capabilities(|can| {
                can.resources.get_or_insert_default().list_changed = Some(true);
            });
        for (uri, file) in catalog.files_in_order() {
            extension = extension.resource(handle.resource(uri, file));
        }
        handle.set(catalog);
        let [list, get, folder] = std::array::from_fn(|_| handle.clone());
        // Clients that do not declare the extension may call these methods, too: they return plain data.
        extension
            .open_method("skills/list", move |call, _| answer(list.get(), call, Catalog::list))
            .open_method("skills/get", move |call, _| answer(get.get(), call, Catalog::get))
            .open_method("resources/directory/read", move |call, _| answer(folder.get(), call, Catalog::folder))
    }
}

async fn answer(
    catalog: Arc<Catalog>,
    call: Call,
    method: fn(&Catalog, &Call) -> Result<ResultBody, RpcError>,
) -> Reply {
    method(&catalog, &call).map_or_else(Reply::Error, Reply::Complete)
}

/// Text content for UTF-8, a blob otherwise.
fn read(uri: &str, mime_type: &str, content: &[u8]) -> ResourceContents {
    match std::str::from_utf8(content) {
        Ok(text) => ResourceContents::text(uri, text),
        Err(_) => ResourceContents::blob(uri, STANDARD.encode(content)),
    }
    .mime_type(mime_type)
}

/// The MIME type of a file by its extension.
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
