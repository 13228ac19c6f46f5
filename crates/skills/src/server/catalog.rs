//! The skills of a server, with their files and directories.

use std::{collections::BTreeMap, sync::Arc};

use couplet_core::{Call, ResultBody};
use couplet_types::{Resource, RpcError};
use serde_json::{Value, json};

use super::{mime_type, skill::Finished};
use crate::entry::{SKILL_MD, SkillEntry};

/// The MIME type of a directory.
const FOLDER: &str = "inode/directory";

/// One state of the skills. It does not change: a change makes another one.
#[derive(Clone, Debug)]
pub(super) struct Catalog {
    skills: Vec<SkillEntry>,
    /// The files by URI.
    pub(super) files: BTreeMap<String, Served>,
    /// The direct entries of each directory, by its URI.
    folders: BTreeMap<String, BTreeMap<String, Resource>>,
    pub(super) page_size: usize,
}

/// A file that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) name: String,
    /// The description in the list of resources; `None` if the file is not listed there.
    pub(super) description: Option<String>,
    pub(super) mime_type: &'static str,
    pub(super) content: Arc<[u8]>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self { skills: Vec::new(), files: BTreeMap::new(), folders: BTreeMap::new(), page_size: 50 }
    }
}

impl Catalog {
    /// Adds a skill.
    ///
    /// # Errors
    /// Fails if there is a skill at the same URI, above it, or below it.
    pub(super) fn add(&mut self, skill: Finished) -> Result<(), String> {
        let Finished { entry, files } = skill;
        let inside =
            |a: &SkillEntry, b: &SkillEntry| format!("{}/", b.directory()).starts_with(&format!("{}/", a.directory()));
        if let Some(other) = self.skills.iter().find(|other| inside(other, &entry) || inside(&entry, other)) {
            return Err(format!("the skills `{}` and `{}` are nested; use separate directories", other.uri, entry.uri));
        }
        for (uri, path, content) in files {
            let mime_type = mime_type(&path, &content);
            let is_skill = path == SKILL_MD;
            let last = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name).to_owned();
            self.place(
                entry.directory(),
                &uri,
                Resource::new(&uri, &last).mime_type(mime_type).size(content.len() as u64),
            );
            let name = if is_skill { entry.frontmatter.name().to_owned() } else { last };
            let description = is_skill.then(|| entry.frontmatter.description().to_owned());
            self.files.insert(uri, Served { name, description, mime_type, content });
        }
        self.skills.push(entry);
        Ok(())
    }

    /// Removes a skill by the URI of its `SKILL.md`. Returns whether there was one.
    pub(super) fn remove(&mut self, uri: &str) -> bool {
        let Some(at) = self.skills.iter().position(|skill| skill.uri == uri) else { return false };
        let folder = self.skills.remove(at).directory().to_owned();
        // Skills are not nested, so that everything below the directory is of this one.
        let is_inside =
            |uri: &str| uri.strip_prefix(&folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.files.retain(|uri, _| !is_inside(uri));
        self.folders.retain(|uri, _| !is_inside(uri));
        true
    }

    /// The files with their URIs, in the order of their skills.
    pub(super) fn files_in_order(&self) -> impl Iterator<Item = (&String, &Served)> {
        self.skills.iter().flat_map(|skill| {
            let folder = format!("{}/", skill.directory());
            self.files.range(folder.clone()..).take_while(move |(uri, _)| uri.starts_with(&folder))
        })
    }

    /// The entry of a skill.
    pub(super) fn entry(&self, uri: &str) -> Option<&SkillEntry> {
        self.skills.iter().find(|skill| skill.uri == uri)
    }

    /// Adds a file to its directory, and each directory to its parent, up to the skill's own.
    fn place(&mut self, root: &str, uri: &str, entry: Resource) {
        let Some((folder, _)) = uri.rsplit_once('/') else { return };
        self.folders.entry(folder.to_owned()).or_default().insert(uri.to_owned(), entry);
        if folder != root {
            let name = folder.rsplit_once('/').map_or(folder, |(_, name)| name);
            self.place(root, folder, Resource::new(folder, name).mime_type(FOLDER));
        }
    }

    /// `skills/list`.
    pub(super) fn list(&self, call: &Call) -> Result<ResultBody, RpcError> {
        let (page, next) = self.page(call, self.skills.iter(), "skills")?;
        Ok(ResultBody::value(&with_cursor(json!({ "skills": page }), next)).cacheable())
    }

    /// `skills/get`.
    pub(super) fn get(&self, call: &Call) -> Result<ResultBody, RpcError> {
        let uri: String = call.params.read("uri")?;
        let skill = self.entry(&uri).ok_or_else(|| RpcError::invalid_params(format!("there is no skill `{uri}`")))?;
        Ok(ResultBody::value(&json!({ "skill": skill })).cacheable())
    }

    /// `resources/directory/read`.
    pub(super) fn folder(&self, call: &Call) -> Result<ResultBody, RpcError> {
        let uri: String = call.params.read("uri")?;
        let folder = self.folders.get(uri.strip_suffix('/').unwrap_or(&uri));
        let folder =
            folder.ok_or_else(|| RpcError::invalid_params(format!("`{uri}` is not a directory of a skill")))?;
        let (page, next) = self.page(call, folder.values(), "folder")?;
        Ok(ResultBody::value(&with_cursor(json!({ "resources": page }), next)))
    }

    /// The requested page, and the cursor of the next one.
    fn page<'a, T>(
        &self,
        call: &Call,
        all: impl ExactSizeIterator<Item = &'a T>,
        what: &str,
    ) -> Result<(Vec<&'a T>, Option<String>), RpcError> {
        let cursor: Option<String> = call.params.read_opt("cursor")?;
        let total = all.len();
        let from = match cursor {
            None => 0,
            Some(text) => {
                let at = text.strip_prefix(what).and_then(|at| at.strip_prefix(':')?.parse().ok());
                at.filter(|at| *at < total)
                    .ok_or_else(|| RpcError::invalid_params(format!("`cursor` is not valid for this list ({what})")))?
            }
        };
        let end = from + self.page_size;
        Ok((all.skip(from).take(self.page_size).collect(), (end < total).then(|| format!("{what}:{end}"))))
    }
}

fn with_cursor(mut page: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        page["nextCursor"] = next.into();
    }
    page
}
