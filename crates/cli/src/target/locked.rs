//! Servers compared with a lock file: what is not approved is hidden.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use couplet::core::{Service, clock::unix_seconds};
use couplet_gateway::{PinFile, seen};
use couplet_host::{
    Host, Profile, Server,
    names::ServerId,
    pins::{Digest, Launch, Lock, PinStore, Pins, Seen},
    upstream::{Upstream, UpstreamOptions},
};
use serde_json::json;

use super::{ConnectionArgs, Place, Target, observed::Observed, session::builder};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// The name of a lock file in the current folder.
pub(crate) const LOCK: &str = "couplet.lock";

/// The time that the lists of a server may take.
const LISTS: Duration = Duration::from_secs(60);

/// The time for a server to end.
const ENDING: Duration = Duration::from_secs(5);

/// The options for a lock file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LockArgs {
    /// Use only what `couplet lock` has approved, and a server started the same way
    #[arg(long, help_heading = "Connection")]
    locked: bool,
    /// Lock file (default: couplet.lock)
    #[arg(long, help_heading = "Connection", value_name = "FILE", requires = "locked")]
    lock_file: Option<PathBuf>,
}

impl LockArgs {
    /// Returns the lock file, if there must be one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.locked.then(|| self.lock_file.clone().unwrap_or_else(|| LOCK.into()))
    }
}

impl Target {
    /// Returns the id of the server in lock files.
    pub(crate) fn lock_id(&self) -> ServerId {
        ServerId::from_key(&self.to_string())
    }

    /// Returns the digest of the way in which the server is started or reached.
    pub(crate) fn launch(&self) -> Digest {
        let launch = match &self.place {
            Place::Url { url, headers, .. } => {
                let names: Vec<_> = headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
                json!({ "url": url, "headers": names })
            }
            Place::Program { words, env, cwd } => json!({ "command": words, "env": env, "cwd": cwd }),
        };
        Digest::of(launch.to_string())
    }
}

/// Starts a server by itself and returns its definitions.
pub(crate) async fn definitions(
    target: &Target,
    connection: &ConnectionArgs,
    connector: Observed,
) -> Result<Vec<Seen>, Failure> {
    let upstream =
        Upstream::builder(target.lock_id(), builder(connection)?, connector).options(options(connection)).build();
    let catalog = upstream.first_catalog(LISTS).await;
    let found = match (catalog.is_fetched(), catalog.error()) {
        (true, None) => Ok(seen(&catalog)),
        (_, Some(error)) => Err(error.clone().into()),
        (false, None) => {
            let why = upstream.status().error.unwrap_or_else(|| "no answer in time".to_owned());
            Err(Failure::new(Exit::Unreachable, why))
        }
    };
    upstream.shutdown("its definitions are known", ENDING).await;
    found
}

/// Wraps a server: what the lock does not approve is hidden, now and when the server changes later.
///
/// # Errors
/// If there is no lock, or the server would be started in another way than the approved one.
pub(crate) async fn guarded(
    target: &Target,
    connection: &ConnectionArgs,
    connector: Observed,
    file: &Path,
    output: &Output,
) -> Result<Arc<dyn Service>, Failure> {
    let (id, launch) = (target.lock_id(), target.launch());
    let lock = approved(file, target)?;
    match lock.launch(&id, &launch, unix_seconds()) {
        Launch::Approved => {}
        Launch::New => return Err(unlocked(file, target)),
        Launch::Changed => {
            let what = "the server would be started in another way than the approved one";
            return Err(Failure::new(Exit::Refused, what).hint(format!("approve it with `couplet lock '{target}'`")));
        }
    }
    let pins = Pins::open(Frozen(lock.to_string())).await.map_err(|e| Failure::new(Exit::File, e.to_string()))?;
    let server = Server::new(id, connector).client(builder(connection)?).options(options(connection)).launch(launch);
    let host = Host::builder().add(server).profile(Profile::default().bare()).pins(pins).build();
    host.ready(LISTS).await;
    for one in host.status() {
        let names: Vec<_> = one.blocked.iter().map(|(_, raw)| text::line(raw)).collect();
        if !names.is_empty() {
            output.warn(&format!("hidden, because they are not approved: {}", names.join(", ")));
        }
        if let (None, Some(error)) = (one.upstream.catalog.age, one.upstream.error) {
            return Err(Failure::new(Exit::Unreachable, error));
        }
    }
    Ok(host.service())
}

fn options(connection: &ConnectionArgs) -> UpstreamOptions {
    let mut options = UpstreamOptions::default();
    options.call_timeout = connection.timeout.0;
    options.connect_timeout = connection.timeout.0.unwrap_or(LISTS);
    options
}

/// Reads a lock that must have a server.
fn approved(file: &Path, target: &Target) -> Result<Lock, Failure> {
    let lock = PinFile::new(file).read()?;
    let has_it = lock.servers().any(|id| *id == target.lock_id());
    if has_it { Ok(lock) } else { Err(unlocked(file, target)) }
}

fn unlocked(file: &Path, target: &Target) -> Failure {
    Failure::new(Exit::Refused, format!("`{}` does not have this server", file.display()))
        .hint(format!("approve it with `couplet lock '{target}'`"))
}

/// A lock that is not changed while it is used.
struct Frozen(String);

impl PinStore for Frozen {
    fn load(&self) -> couplet::core::BoxFuture<'_, Result<Option<String>, couplet_host::pins::PinError>> {
        Box::pin(std::future::ready(Ok(Some(self.0.clone()))))
    }

    fn save<'a>(&'a self, _: &'a str) -> couplet::core::BoxFuture<'a, Result<(), couplet_host::pins::PinError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
