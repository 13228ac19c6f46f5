//! Directories of skills that are watched for changes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use couplet_server::{ServerHandle, WeakServerHandle};

use super::{
    SkillsHandle,
    directory::{self, DEEPEST},
    skill::Skill,
};
use crate::entry::SkillEntry;

/// The files of a directory, each with its size and the time of its last change.
type Stamp = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// The number of files that are looked at.
const MOST_FILES: usize = 100_000;

impl SkillsHandle {
    /// Watches a directory of skills, such as that of [`Skills::from_directory`](super::Skills::from_directory), until the
    /// last handle of the server is dropped: skills that are added, changed and removed there are so on the server.
    ///
    /// The directory is looked at once per interval. A change is applied when there was none for an interval, so that files
    /// are complete. While a skill is invalid, the last valid state of the directory is served, and a warning is logged.
    /// Skills from elsewhere stay as they are.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), couplet_core::Error> {
    /// use std::time::Duration;
    /// use couplet_server::Server;
    /// use couplet_skills::Skills;
    ///
    /// let skills = Skills::from_directory("skills").await?;
    /// let handle = skills.handle();
    /// let server = Server::new("shop", "1.0.0").extension(skills).build();
    /// tokio::spawn(handle.watch(server.downgrade(), "skills", Duration::from_secs(2)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn watch(self, server: WeakServerHandle, directory: impl Into<PathBuf>, interval: Duration) {
        let directory = directory.into();
        let mut state = Watched { loaded: None, last: None, skills: BTreeMap::new() };
        while let Some(server) = server.upgrade() {
            let path = directory.clone();
            let stamp = tokio::task::spawn_blocking(move || stamp(&path)).await.unwrap_or_default();
            let is_stable = state.loaded.is_none() || state.last.as_ref() == Some(&stamp);
            if is_stable && state.loaded.as_ref() != Some(&stamp) {
                let path = directory.clone();
                match tokio::task::spawn_blocking(move || directory::read(&path)).await {
                    Ok(Ok(skills)) => self.follow(&server, skills, &mut state.skills),
                    Ok(Err(what)) => tracing::warn!("the skills are unchanged: {what}"),
                    Err(error) => tracing::warn!("the skills were not read: {error}"),
                }
                state.loaded = Some(stamp.clone());
            }
            state.last = Some(stamp);
            // The server must be able to end meanwhile.
            drop(server);
            tokio::time::sleep(interval).await;
        }
    }

    /// Applies the skills of a directory. One that is refused stays as it was.
    fn follow(&self, server: &ServerHandle, skills: Vec<Skill>, known: &mut BTreeMap<String, SkillEntry>) {
        let mut found = BTreeMap::new();
        for skill in skills {
            let uri = skill.uri();
            let entry = match skill.clone().finish() {
                Ok(finished) => finished.entry,
                Err(what) => {
                    tracing::warn!("the skill is unchanged: {what}");
                    found.extend(known.get(&uri).map(|entry| (uri, entry.clone())));
                    continue;
                }
            };
            // The digests of all files are part of the entry.
            if self.get().entry(&uri) != Some(&entry)
                && let Err(error) = self.replace(server, skill)
            {
                tracing::warn!("the skill is unchanged: {error}");
                found.extend(known.get(&uri).map(|entry| (uri, entry.clone())));
                continue;
            }
            found.insert(uri, entry);
        }
        for uri in known.keys().filter(|uri| !found.contains_key(*uri)) {
            self.remove(server, uri);
        }
        *known = found;
    }
}

/// What is known about a directory.
struct Watched {
    /// The state that was loaded, also if it was refused.
    loaded: Option<Stamp>,
    /// The state at the last look.
    last: Option<Stamp>,
    /// The skills that come from the directory.
    skills: BTreeMap<String, SkillEntry>,
}

/// Looks at all files below a directory, without reading them. What cannot be looked at is not there.
fn stamp(directory: &Path) -> Stamp {
    let mut stamp = Stamp::new();
    let mut open = vec![(directory.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < 2 * DEEPEST {
                open.push((entry.path(), depth + 1));
            } else if let Ok(about) = fs::metadata(entry.path())
                && stamp.len() < MOST_FILES
            {
                stamp.insert(entry.path(), (about.len(), about.modified().ok()));
            }
        }
    }
    stamp
}
