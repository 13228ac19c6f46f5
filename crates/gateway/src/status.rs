//! The status of running gateways, over a private Unix domain socket. It is read-only.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use couplet_host::ServerStatus;
use couplet_hosts::Env;
use serde_json::{Value, json};

use crate::{Gateway, files};

/// Returns the folder of the sockets of running gateways, which only the user can use.
#[must_use]
pub fn runtime_folder(env: &Env) -> PathBuf {
    match env.var("XDG_RUNTIME_DIR") {
        Some(folder) => Path::new(folder).join("couplet"),
        None => files::state_folder(env).join("run"),
    }
}

/// Returns the folders in which gateways of this user may have their sockets: a host may start one without the variables of
/// the user's session.
#[must_use]
pub fn runtime_folders(env: &Env) -> Vec<PathBuf> {
    let mut folders = vec![runtime_folder(env), files::state_folder(env).join("run")];
    folders.dedup();
    folders
}

#[cfg(unix)]
pub use unix::{StatusSocket, statuses};

#[cfg(unix)]
mod unix {
    use std::{
        io::{self, Read},
        path::Path,
    };

    use serde_json::Value;
    use tokio::{io::AsyncWriteExt, time::timeout};

    use crate::socket::{OwnSocket, TIMEOUT, connect, sockets};

    /// The purpose of the sockets, which their names begin with.
    const PURPOSE: &str = "gateway";
    /// The size limit of a status.
    const LONGEST: u64 = 16 << 20;

    /// The socket of this process. Dropping it removes the file.
    #[derive(Debug)]
    pub struct StatusSocket(OwnSocket);

    impl StatusSocket {
        /// Binds the socket of this process in a folder, which is created.
        ///
        /// # Errors
        /// If the folder is not private to the user, or the socket cannot be bound.
        ///
        /// # Panics
        /// Outside of a tokio runtime.
        pub fn bind(folder: &Path) -> io::Result<Self> {
            OwnSocket::bind(folder, PURPOSE).map(Self)
        }

        /// Writes the status to each process that connects, until the future is dropped. Nothing is read from it.
        pub async fn serve(&self, status: impl Fn() -> Value) {
            loop {
                let mut stream = self.0.accept().await;
                let text = status().to_string();
                // A reader that does not read must not hold up the others.
                let _ = timeout(TIMEOUT, async {
                    stream.write_all(text.as_bytes()).await?;
                    stream.shutdown().await
                })
                .await;
            }
        }
    }

    /// Returns the status of each gateway of this user that runs. This blocks for up to two seconds each. Sockets of
    /// processes that are gone are removed.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn statuses(folder: &Path) -> io::Result<Vec<Value>> {
        Ok(sockets(folder, PURPOSE)?.iter().filter_map(|(_, path)| read(path)).collect())
    }

    fn read(path: &Path) -> Option<Value> {
        let mut text = String::new();
        connect(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

impl Gateway {
    /// Returns the status of the gateway and its servers, for `couplet gateway status`. It has no secrets.
    #[must_use]
    pub fn status(&self) -> Value {
        let config = self.config();
        let (reloads, age, error) = self.reload_state();
        let path = self.path().canonicalize().unwrap_or_else(|_| self.path().to_owned());
        let key = |id: &str| config.servers.iter().find(|server| server.id.as_str() == id).map(|server| &server.key);
        let servers: Vec<_> = self
            .host()
            .status()
            .iter()
            .map(|one| {
                let mut status = server(one);
                status["key"] = json!(key(one.upstream.server.as_str()));
                status
            })
            .collect();
        json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "config": path,
            "up": self.up().as_secs(),
            "reload": { "count": reloads, "age": age.map(|age| age.as_secs()), "error": error },
            "profiles": config.profiles.keys().collect::<Vec<_>>(),
            "servers": servers,
            "questions": self.queue().len(),
            "collisions": self.collisions(),
        })
    }

    /// The names that several servers claim in a profile with bare names, so that it shows none of them.
    fn collisions(&self) -> Vec<Value> {
        let config = self.config();
        let names: BTreeSet<_> = config.profiles.keys().map(String::as_str).chain(["default"]).collect();
        let bare = names.into_iter().filter(|name| config.naming(name).is_bare());
        bare.filter_map(|name| Some((name, self.host().view(name)?)))
            .flat_map(|(profile, view)| {
                view.collisions().into_iter().map(move |collision| {
                    let claimants =
                        collision.claimants.iter().map(|(server, raw)| json!({ "server": server, "name": raw }));
                    json!({ "profile": profile, "name": collision.name, "claimants": claimants.collect::<Vec<_>>() })
                })
            })
            .collect()
    }
}

fn server(status: &ServerStatus) -> Value {
    let upstream = &status.upstream;
    let millis = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs());
    json!({
        "id": upstream.server.as_str(),
        "state": upstream.state.name(),
        "since": upstream.since.as_secs(),
        "error": upstream.error,
        "retryIn": seconds(upstream.retry_in),
        "restarts": upstream.restarts,
        "calls": upstream.calls,
        "failures": upstream.failures,
        "running": upstream.running,
        "queued": upstream.queued,
        "latency": upstream.latency.map(|latency| json!({ "p50Ms": millis(latency.p50), "p99Ms": millis(latency.p99) })),
        "catalog": {
            "age": seconds(upstream.catalog.age),
            "tools": upstream.catalog.tools,
            "prompts": upstream.catalog.prompts,
            "resources": upstream.catalog.resources,
            "templates": upstream.catalog.templates,
            "error": upstream.catalog.error,
            "reports": upstream.catalog.reports,
        },
        "hidden": status.blocked.iter().map(|(kind, raw)| json!({ "kind": kind.as_str(), "name": raw })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use couplet_hosts::Os;

    use super::*;

    /// A host starts a gateway without the variables of the session in which a command looks for it.
    #[test]
    fn gateways_are_found_that_were_started_without_variables() {
        let bare = Env::new(Os::current(), "/u/ann", "/");
        let full = bare.clone().with("XDG_RUNTIME_DIR", "/run/user/1");
        assert_eq!(runtime_folders(&bare), [runtime_folder(&bare)]);
        assert_eq!(runtime_folders(&full), [PathBuf::from("/run/user/1/couplet"), runtime_folder(&bare)]);
    }
}
