//! The lock file beside a configuration, and servers compared with it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use couplet_core::{BoxFuture, JsonText, clock::unix_seconds};
use couplet_host::{
    catalog::{Catalog, List},
    names::Kind,
    pins::{Approval, Launch, Lock, PinError, PinStore, Seen, Select},
};
use couplet_hosts::Env;

use crate::{Config, Error, config::Server, files, upstreams::Upstreams};

/// A lock file. It is written as a whole, or not at all.
#[derive(Clone, Debug)]
pub struct PinFile {
    path: PathBuf,
}

impl PinFile {
    /// Creates the store for a path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the lock; one that does not exist is empty.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a lock file.
    pub fn read(&self) -> Result<Lock, Error> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Lock::parse(&text).map_err(|error| Error::config(&self.path, None, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lock::default()),
            Err(error) => Err(Error::io(&self.path, "read", &error)),
        }
    }

    /// Writes the lock.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, lock: &Lock) -> Result<(), Error> {
        files::replace(&self.path, &lock.to_string()).map_err(|error| Error::io(&self.path, "written", &error))
    }
}

impl PinStore for PinFile {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, PinError>> {
        let path = self.path.clone();
        Box::pin(blocking(move || match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PinError::new(Error::io(&path, "read", &error))),
        }))
    }

    fn save<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), PinError>> {
        let (path, text) = (self.path.clone(), text.to_owned());
        Box::pin(blocking(move || {
            files::replace(&path, &text).map_err(|error| PinError::new(Error::io(&path, "written", &error)))
        }))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PinError> + Send + 'static,
) -> Result<T, PinError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(PinError::new("the runtime has ended")))
}

/// A server and what it offers now.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inspected {
    /// The server.
    pub server: Server,
    /// The state of its launch in the lock.
    pub launch: Launch,
    /// Its definitions, or why they are not known.
    pub seen: Result<Vec<Seen>, String>,
}

impl Inspected {
    /// Approves the launch and all definitions, or one definition, with the same time, person and end. Returns the number of
    /// definitions.
    ///
    /// The launch of a server that is not in the lock is approved with its first definition: another launch would not be
    /// noticed later.
    ///
    /// # Errors
    /// If the definitions are not known.
    pub fn approve(&self, lock: &mut Lock, select: Select<'_>, approval: &Approval) -> Result<usize, String> {
        let seen = self.seen.as_ref().map_err(Clone::clone)?;
        let (id, launch) = (&self.server.id, self.server.launch_digest());
        if !lock.servers().any(|known| known == id) {
            lock.approve_launch(id, launch, approval.clone());
        }
        Ok(lock.approve(id, &launch, seen, select, approval))
    }

    /// Finds a definition by its name, or by its kind and name: `read`, `prompt:review`, `template:file:///{+path}`,
    /// `instructions`.
    ///
    /// # Errors
    /// If the definitions are not known, none has the name (with the nearest one), or definitions of several kinds do.
    pub fn find(&self, written: &str) -> Result<&Seen, String> {
        let seen = self.seen.as_ref().map_err(Clone::clone)?;
        let (key, kinds) = (&self.server.key, [KINDS, &[Kind::Instructions]].concat());
        let of_kind = |kind: &Kind| Some((*kind, written.strip_prefix(kind.as_str())?.strip_prefix(':')?));
        let found: Vec<_> = match kinds.iter().find_map(of_kind) {
            // First, so that a tool that is called `prompt:a` cannot pass for the prompt `a`.
            Some((kind, raw)) => seen.iter().filter(|seen| seen.kind == kind && *seen.raw == *raw).collect(),
            None => seen.iter().filter(|seen| name(seen) == written).collect(),
        };
        match found.as_slice() {
            [first, others @ ..] if others.iter().all(|other| other.kind == first.kind) => Ok(first),
            [] => {
                let names = seen.iter().flat_map(|seen| [name(seen).to_owned(), format!("{}:{}", seen.kind, seen.raw)]);
                let close = couplet_hosts::suggest::sentence(written, names);
                Err(format!("the server `{key}` has no tool, prompt or template `{written}`{close}"))
            }
            several => {
                let names: Vec<_> = several.iter().map(|seen| format!("`{key}/{}:{}`", seen.kind, seen.raw)).collect();
                Err(format!("`{written}` is the name of several definitions: expected {}", names.join(" or ")))
            }
        }
    }
}

/// Returns an approval of now.
pub(crate) fn approval() -> Approval {
    Approval { at: unix_seconds(), ..Approval::default() }
}

/// Whether servers are started whose launch is not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unapproved {
    /// They are: the user has seen the launch and approves it.
    Start,
    /// They are not, if there is another launch in the lock.
    Leave,
}

/// Starts servers of a configuration, all at the same time, and fetches their definitions. Those that are not `wanted` are
/// left out.
///
/// A server that fails does not delay the others. Each one is stopped afterwards.
pub async fn inspect(
    config: &Config,
    env: &Env,
    lock: &Lock,
    wanted: impl Fn(&Server) -> Option<Unapproved>,
) -> Vec<Inspected> {
    let upstreams = Upstreams::new(env);
    let mut running = tokio::task::JoinSet::new();
    let servers = config.servers.iter().filter_map(|server| Some((server.clone(), wanted(server)?)));
    for (at, (server, unapproved)) in servers.enumerate() {
        let launch = lock.launch(&server.id, &server.launch_digest(), unix_seconds());
        let upstreams = upstreams.clone();
        running.spawn(async move {
            let seen = match (launch, unapproved) {
                (Launch::Changed, Unapproved::Leave) if server.is_pinned() => {
                    Err("it is not started: its launch is not the approved one".to_owned())
                }
                _ => fetch(&upstreams, &server).await,
            };
            (at, Inspected { server, launch, seen })
        });
    }
    let mut all = running.join_all().await;
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, inspected)| inspected).collect()
}

async fn fetch(upstreams: &Upstreams, server: &Server) -> Result<Vec<Seen>, String> {
    /// Lists of all kinds have four times the time of one.
    const LISTS: u32 = 4;
    /// The time for the server to end.
    const ENDING: Duration = Duration::from_secs(5);
    let upstream = upstreams.upstream(server);
    let options = upstream.options();
    let wait = options.connect_timeout + options.list_timeout * LISTS + Duration::from_secs(1);
    let catalog = upstream.first_catalog(wait).await;
    let outcome = match (catalog.is_fetched(), catalog.error()) {
        (true, None) => Ok(seen(&catalog)),
        (_, Some(error)) => Err(error.to_string()),
        (false, None) => Err(upstream.status().error.unwrap_or_else(|| "it did not answer in time".to_owned())),
    };
    upstream.shutdown("it was inspected", ENDING).await;
    outcome
}

/// The kinds of definitions that have names, in the order of the lists.
const KINDS: &[Kind] = &[Kind::Tool, Kind::Prompt, Kind::Resource, Kind::Template];

/// The name of a definition on a command line.
fn name(seen: &Seen) -> &str {
    if seen.kind == Kind::Instructions { "instructions" } else { &seen.raw }
}

/// Returns the definitions of a catalog, as the lock compares them. One that has no canonical form cannot be approved.
#[must_use]
pub fn seen(catalog: &Catalog) -> Vec<Seen> {
    let lists = [List::Tools, List::Prompts, List::Resources, List::Templates];
    let mut all: Vec<_> = lists
        .into_iter()
        .zip(KINDS.iter().copied())
        .flat_map(|(list, kind)| catalog.list(list).iter().map(move |definition| (kind, definition)))
        .filter_map(|(kind, definition)| Seen::new(kind, definition.raw().clone(), definition.text()).ok())
        .collect();
    let instructions = catalog.instructions().and_then(|text| serde_json::to_string(&**text).ok());
    let instructions = instructions.and_then(|text| JsonText::new(text).ok());
    all.extend(instructions.and_then(|text| Seen::new(Kind::Instructions, "", &text).ok()));
    all
}
