//! Skills of a server that runs: added, replaced and removed.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use couplet_core::{Error, ErrorKind};
use couplet_server::{IntoResource, NotFound, ServerHandle, resource};
use couplet_types::ResourceContents;

use super::{
    Skill,
    catalog::{Catalog, Served},
    read,
};

/// A handle of the skills of a server, to change them while it runs; created by
/// [`Skills::handle`](super::Skills::handle).
///
/// A change takes effect at once and as a whole: lists and files always agree. Clients are notified that the list of
/// resources changed.
///
/// ```
/// use couplet_server::Server;
/// use couplet_skills::{Skill, Skills};
///
/// let skills = Skills::new();
/// let handle = skills.handle();
/// let server = Server::new("shop", "1.0.0").extension(skills).build();
///
/// handle.replace(&server, Skill::new("refunds", "How to refund an order.", "Look up the order first."))?;
/// assert!(handle.remove(&server, "skill://refunds/SKILL.md"));
/// # Ok::<(), couplet_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SkillsHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    catalog: RwLock<Arc<Catalog>>,
    /// Held during a change, so that the catalog and the resources of the server change together.
    change: Mutex<()>,
}

impl SkillsHandle {
    /// Replaces the skill with the same URI, or adds it. Returns whether there was one.
    ///
    /// # Errors
    /// If the skill is invalid or too large, is nested with another one, or if one of its files has the URI of another
    /// resource of the server. The skills are unchanged then.
    pub fn replace(&self, server: &ServerHandle, skill: Skill) -> Result<bool, Error> {
        let refused = |what: String| Error::new(ErrorKind::Config, what);
        let skill = skill.finish().map_err(refused)?;
        let _change = self.0.change.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.get();
        let mut after = Catalog::clone(&before);
        let replaced = after.remove(&skill.entry.uri);
        after.add(skill).map_err(refused)?;
        self.apply(server, &before, after)?;
        Ok(replaced)
    }

    /// Removes a skill by the URI of its `SKILL.md`. Returns whether there was one.
    pub fn remove(&self, server: &ServerHandle, uri: &str) -> bool {
        let _change = self.0.change.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.get();
        let mut after = Catalog::clone(&before);
        // Without new files, nothing can be refused.
        after.remove(uri) && self.apply(server, &before, after).is_ok()
    }

    /// Makes another state the current one: new files first, so that each file of a list can be read.
    fn apply(&self, server: &ServerHandle, before: &Catalog, after: Catalog) -> Result<(), Error> {
        let mut added: Vec<&String> = Vec::new();
        for (uri, file) in after.files.iter().filter(|(uri, _)| !before.files.contains_key(*uri)) {
            if let Err(error) = server.add_resource(self.resource(uri, file)) {
                for uri in added {
                    server.remove_resource(uri);
                }
                return Err(error);
            }
            added.push(uri);
        }
        let after = Arc::new(after);
        self.set_shared(after.clone());
        for (uri, old) in &before.files {
            match after.files.get(uri) {
                None => {
                    server.remove_resource(uri);
                }
                Some(new) if new != old => {
                    server.replace_resource(self.resource(uri, new))?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The resource of a file. Its content is that of the current state when it is read.
    pub(super) fn resource(&self, uri: &str, file: &Served) -> impl IntoResource<()> + use<> {
        let (handle, key) = (self.clone(), uri.to_owned());
        let contents = move || handle.contents(&key);
        let size = file.content.len() as u64;
        let listed = resource(uri, contents).name(&file.name).mime_type(file.mime_type).size(size);
        match &file.description {
            Some(description) => listed.description(description),
            None => listed.unlisted(),
        }
    }

    fn contents(&self, uri: &str) -> Result<ResourceContents, NotFound> {
        let catalog = self.get();
        let file = catalog.files.get(uri).ok_or(NotFound)?;
        Ok(read(uri, file.mime_type, &file.content))
    }

    /// The current state.
    pub(super) fn get(&self) -> Arc<Catalog> {
        self.0.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, catalog: Catalog) {
        self.set_shared(Arc::new(catalog));
    }

    fn set_shared(&self, catalog: Arc<Catalog>) {
        *self.0.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog;
    }
}
