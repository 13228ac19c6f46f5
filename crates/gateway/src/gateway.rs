//! A running gateway: a host that follows its configuration file.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use couplet_core::{Limits, Sealer, Service, sync::lock};
use couplet_host::{Host, names::ServerId, pins::Pins, upstream::State};
use couplet_hosts::{Entry, Env};
use tokio::sync::{OnceCell, watch};

use crate::{
    Access, Approvals, Config, Error, ErrorKind, PinFile,
    access::{self, TokensInUse},
    assemble::Assembly,
    audit::AuditFile,
    config::ListenAuth,
    consent::Queue,
    discovery::Discoveries,
    files,
    watch::{INTERVAL, Watch},
};

/// The profile that shows all servers, unless the configuration has one of that name.
const DEFAULT: &str = "default";

/// A host that is built from a configuration file, and follows it. Clones are the same gateway.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use couplet_core::Transport;
/// use couplet_gateway::{Config, Gateway};
/// use couplet_hosts::Env;
///
/// let env = Env::system()?;
/// let config = Config::load("gateway.json".as_ref(), &env)?;
/// let gateway = Gateway::start(config, env, []).await?;
/// let serving = couplet_stdio::stdio().serve(gateway.service(None)?, gateway.limits());
/// tokio::select! {
///     served = serving => served?,
///     () = gateway.follow_file() => {}
/// }
/// gateway.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    host: Host,
    env: Env,
    path: PathBuf,
    /// Files of projects, which count if they are approved.
    projects: Vec<PathBuf>,
    pins: OnceCell<Pins>,
    /// Calls that wait for the consent of a person on this machine. A reload does not touch them.
    questions: Arc<Queue>,
    state: Mutex<Current>,
    discoveries: Discoveries,
    reloading: tokio::sync::Mutex<()>,
    /// Changes with each reload.
    generation: watch::Sender<u64>,
    started: Instant,
}

/// What a reload replaces.
pub(crate) struct Current {
    pub(crate) config: Arc<Config>,
    audit: Option<AuditFile>,
    /// The tokens of callers, once the gateway is served over HTTP.
    tokens: Option<TokensInUse>,
    reloaded: Option<Instant>,
    /// Why the file is not the one in use.
    error: Option<String>,
}

impl Gateway {
    /// Starts a gateway. Servers are started with their first use, unless their settings say otherwise.
    ///
    /// Cursors, task ids and request state are sealed with a random key, so that they end with the process.
    ///
    /// # Errors
    /// If the lock file or the audit file cannot be used, or a project's file is invalid.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(config: Config, env: Env, projects: impl IntoIterator<Item = PathBuf>) -> Result<Self, Error> {
        Self::start_with_key(config, env, projects, Sealer::random()).await
    }

    /// Starts a gateway like [`start`](Self::start), with a key that seals cursors, task ids and request state: they stay valid
    /// after a restart, and at other replicas that have the key.
    ///
    /// # Errors
    /// As those of [`start`](Self::start).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start_with_key(
        mut config: Config,
        env: Env,
        projects: impl IntoIterator<Item = PathBuf>,
        key: impl Into<Sealer>,
    ) -> Result<Self, Error> {
        let projects: Vec<_> = projects.into_iter().collect();
        add_projects(&mut config, &projects, &env)?;
        let pins = OnceCell::new();
        let audit = AuditFile::open(&config, &env, None)?;
        let opened = open_pins(&pins, &config).await?;
        let questions = Arc::default();
        let assembly =
            Assembly { config: &config, env: &env, pins: opened, audit: audit.as_ref(), questions: &questions };
        let host = assembly.builder().key(key).build();
        let path = config.path.clone();
        let state = Current { config: Arc::new(config), audit, tokens: None, reloaded: None, error: None };
        Ok(Self(Arc::new(Inner {
            host,
            path,
            env,
            projects,
            pins,
            questions,
            state: Mutex::new(state),
            discoveries: Discoveries::default(),
            reloading: tokio::sync::Mutex::default(),
            generation: watch::Sender::new(0),
            started: Instant::now(),
        })))
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    /// Returns the configuration in use.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.state(|state| state.config.clone())
    }

    /// Returns the service of a profile; without a name, that of the profile `default`, which shows all servers unless the
    /// configuration has one of that name. It stays valid when the file changes.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn service(&self, profile: Option<&str>) -> Result<Arc<dyn Service>, Error> {
        let name = profile.unwrap_or(DEFAULT);
        let view = self.0.host.view(name).ok_or_else(|| {
            let names = self.config().profiles.keys().cloned().collect::<Vec<_>>();
            let close = couplet_hosts::suggest::sentence(name, names);
            Error::new(ErrorKind::Unknown, format!("the configuration has no profile `{name}`{close}"))
        })?;
        Ok(self.0.discoveries.service(&self.config(), name, view.service()))
    }

    /// Returns the limits to serve with: a message may be as large as the largest one of a server.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let limits = Limits::default();
        let config = self.config();
        let raised = config.servers.iter().filter_map(|server| server.settings.limits.message);
        let largest = raised.map(|size| size.0).fold(limits.max_sent(), usize::max);
        // A result has other metadata here than there.
        limits.sent(Some(largest.saturating_add(64 << 10)))
    }

    /// Resolves who may connect over HTTP. From now on the tokens follow the configuration; whether there are any does not.
    ///
    /// # Errors
    /// If a token cannot be resolved or is too short.
    pub async fn access(&self) -> Result<Access, Error> {
        let (config, env) = (self.config(), self.0.env.clone());
        if config.listen.auth == ListenAuth::None {
            return Ok(Access::open());
        }
        let (access, tokens) = Access::new(blocking(move || access::named(&config, &env)).await?)?;
        self.state(|state| state.tokens = Some(tokens));
        Ok(access)
    }

    /// Waits until each server was listed or has failed, but not longer than `wait`.
    pub async fn ready(&self, wait: Duration) {
        self.0.host.ready(wait).await;
    }

    /// Reads the file and the lock file again, and replaces the configuration as a whole. Servers whose launch is the same
    /// go on running. If anything is wrong, everything stays as it is, and [`Gateway::status`] has the error.
    ///
    /// # Errors
    /// If the file is invalid, or cannot be read.
    pub async fn reload(&self) -> Result<(), Error> {
        let _turn = self.0.reloading.lock().await;
        let outcome = self.replace().await;
        let error = outcome.as_ref().err().map(ToString::to_string);
        self.state(|state| state.error = error);
        outcome
    }

    async fn replace(&self) -> Result<(), Error> {
        let inner = self.0.clone();
        let has_tokens = self.state(|state| state.tokens.is_some());
        let loading = blocking(move || {
            let mut config = Config::load(&inner.path, &inner.env)?;
            add_projects(&mut config, &inner.projects, &inner.env)?;
            let named = if has_tokens { access::named(&config, &inner.env)? } else { Vec::new() };
            Ok((config, named))
        });
        let (config, named) = loading.await?;
        let current = self.state(|state| state.audit.clone());
        let audit = AuditFile::open(&config, &self.0.env, current)?;
        let pins = open_pins(&self.0.pins, &config).await?;
        if let Some(pins) = &pins {
            pins.reload().await.map_err(|error| Error::new(ErrorKind::Config, error.to_string()))?;
        }
        let (env, questions) = (&self.0.env, &self.0.questions);
        let assembly = Assembly { config: &config, env, pins, audit: audit.as_ref(), questions };
        self.0.host.replace(assembly.builder()).await;
        self.0.discoveries.replace(&config);
        self.state(|state| {
            state.config = Arc::new(config);
            state.audit = audit;
            if let Some(tokens) = &mut state.tokens {
                tokens.replace(named);
            }
            state.reloaded = Some(Instant::now());
        });
        self.0.generation.send_modify(|generation| *generation += 1);
        Ok(())
    }

    /// Follows the file, the lock file, the files of projects and their approvals, until the future is dropped: each change
    /// is reloaded. After a login, servers that have failed are contacted again.
    pub async fn follow_file(&self) {
        let config = self.config();
        let approvals = self.0.projects.first().map(|_| Approvals::of(&self.0.env).path().to_owned());
        let written = [config.path.clone()].into_iter().chain(self.0.projects.iter().cloned()).chain(approvals);
        let logins = files::logins(&self.0.env);
        let mut watches = [Watch::new(written), Watch::new([config.lock_path()]), Watch::new([logins])];
        loop {
            tokio::time::sleep(INTERVAL).await;
            let looking = tokio::task::spawn_blocking(move || {
                let changed = watches.each_mut().map(Watch::has_changed);
                (watches, changed)
            });
            let Ok((same, [file, lock, logins])) = looking.await else { return };
            watches = same;
            if file || (lock && self.is_lock_foreign().await) {
                self.reload_logged().await;
            }
            if logins {
                self.retry_failed();
            }
        }
    }

    /// Connects again to servers over HTTP that have failed: there may be a login for them now.
    fn retry_failed(&self) {
        let config = self.config();
        let is_remote = |id: &ServerId| {
            let mut remote = config.servers.iter().filter(|server| matches!(server.entry, Entry::Remote(_)));
            remote.any(|server| server.id == *id)
        };
        for upstream in self.0.host.upstreams().iter().filter(|upstream| is_remote(upstream.id())) {
            if matches!(upstream.status().state, State::Backoff | State::Stopped) {
                upstream.start();
            }
        }
    }

    /// Whether the lock file is not as this gateway has written it.
    async fn is_lock_foreign(&self) -> bool {
        let Some(pins) = self.0.pins.get() else { return false };
        let path = self.config().lock_path();
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path).ok()).await;
        read.ok().flatten().is_none_or(|text| text != pins.snapshot().to_string())
    }

    /// Reloads, and logs the outcome.
    pub async fn reload_logged(&self) {
        match self.reload().await {
            Ok(()) => tracing::info!(config = %self.0.path.display(), "the configuration was loaded"),
            Err(error) => tracing::error!("the configuration is not loaded, and the one before stays in use: {error}"),
        }
    }

    /// Returns a number that changes with each reload.
    #[must_use]
    pub fn reloads(&self) -> watch::Receiver<u64> {
        self.0.generation.subscribe()
    }

    /// Stops all servers. Calls in flight run to their end.
    pub async fn close(&self) {
        self.0.host.close().await;
        let audit = self.state(|state| state.audit.clone());
        if let Some(audit) = audit {
            audit.flush().await;
        }
    }

    pub(crate) fn state<T>(&self, with: impl FnOnce(&mut Current) -> T) -> T {
        with(&mut lock(&self.0.state))
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.0.questions
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn up(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// The number of reloads, how long ago the last one was, and why the file is not the one in use.
    pub(crate) fn reload_state(&self) -> (u64, Option<Duration>, Option<String>) {
        let (age, error) = self.state(|state| (state.reloaded.map(|at| at.elapsed()), state.error.clone()));
        (*self.0.generation.borrow(), age, error)
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("path", &self.0.path).finish_non_exhaustive()
    }
}

/// Runs work that blocks.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    let ended = |_| Err(Error::new(ErrorKind::Io, "the runtime has ended"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(ended)
}

/// Adds the servers of projects. One that is invalid is an error; one that is not approved adds nothing.
fn add_projects(config: &mut Config, projects: &[PathBuf], env: &Env) -> Result<(), Error> {
    let approvals = Approvals::of(env);
    for path in projects {
        config.add_project(approvals.read(path, env)?);
    }
    Ok(())
}

/// Opens the lock file, if it is used. It is written at once, so that a folder that cannot be written to is noticed now.
async fn open_pins(cell: &OnceCell<Pins>, config: &Config) -> Result<Option<Pins>, Error> {
    if !config.pins || !config.servers.iter().any(crate::config::Server::is_pinned) {
        return Ok(None);
    }
    let pins = cell.get_or_try_init(|| async {
        let file = PinFile::new(config.lock_path());
        if !file.path().exists() {
            file.write(&couplet_host::pins::Lock::default()).map_err(|error| {
                error.hinted("make the folder writable, or set `\"pins\": false` in the configuration")
            })?;
        }
        Pins::open(file).await.map_err(|error| Error::new(ErrorKind::Config, error.to_string()))
    });
    pins.await.cloned().map(Some)
}
