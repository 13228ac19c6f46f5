//! Connections to the servers of a configuration. References are resolved at each connection, and not before.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use couplet_auth::client::{FileStore, OAuth};
use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits, sync::lock};
use couplet_hosts::{Entry, Remote, Stdio, Text};
use couplet_http::client::HyperClient;
use couplet_stdio::Command;

use crate::{
    config::{Auth, Server},
    secrets::Secrets,
};

/// Variables that a server gets without being asked for: where programs and the user's files are, the language, the time
/// zone. Everything else has to be in `env`.
#[cfg(not(windows))]
const PASSED: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];
#[cfg(windows)]
const PASSED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TZ",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// A server to connect to.
pub(crate) struct Target {
    key: String,
    entry: Entry,
    env_file: Option<Text>,
    removed: Vec<String>,
    auth: Option<Auth>,
    /// The HTTP client of all connections, if they are in HTTP/2 without TLS.
    http2: Option<OnceLock<Result<Arc<HyperClient>, Error>>>,
    /// The project's file that it comes from.
    project: Option<PathBuf>,
    secrets: Secrets,
    /// The file of stored logins, which the first login creates.
    logins: PathBuf,
    stderr: Tail,
}

/// The end of the standard error of the last process that was started.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<Option<Read>>>);

type Read = Arc<dyn Fn() -> String + Send + Sync>;

impl Tail {
    pub(crate) fn text(&self) -> String {
        let current = lock(&self.0).clone();
        current.map(|read| read()).unwrap_or_default()
    }

    fn follow(&self, command: &Command) {
        *lock(&self.0) = Some(Arc::new(command.stderr_tail()));
    }
}

impl Target {
    pub(crate) fn new(server: &Server, secrets: Secrets, logins: PathBuf) -> Self {
        Self {
            key: server.key.clone(),
            entry: server.entry.clone(),
            env_file: server.env_file.clone(),
            removed: server.removed.clone(),
            auth: server.settings.auth,
            http2: server.settings.http2.then(OnceLock::new),
            project: server.project.clone(),
            secrets,
            logins,
            stderr: Tail::default(),
        }
    }

    pub(crate) fn stderr(&self) -> Tail {
        self.stderr.clone()
    }

    /// Resolves the references, on a thread that may block.
    async fn resolved(&self) -> Result<Entry, Error> {
        let (secrets, entry, env_file) = (self.secrets.clone(), self.entry.clone(), self.env_file.clone());
        let project = self.project.clone();
        let resolve = move || -> Result<Entry, String> {
            let secrets = match project {
                Some(path) => secrets.of_project(&path)?,
                None => secrets,
            };
            let mut entry = secrets.resolve_entry(&entry)?;
            if let (Entry::Stdio(stdio), Some(path)) = (&mut entry, &env_file) {
                let more = secrets.env_file(path)?.into_iter().map(|(name, value)| (name, Text::from(value)));
                // The later one counts.
                stdio.env = more.chain(std::mem::take(&mut stdio.env)).collect();
            }
            Ok(entry)
        };
        let resolving = tokio::task::spawn_blocking(resolve).await;
        let resolved = resolving.map_err(|_| Error::new(ErrorKind::Config, "the runtime has ended"))?;
        resolved
            .map_err(|why| Error::new(ErrorKind::Config, format!("the server `{}` is not configured: {why}", self.key)))
    }

    fn command(&self, stdio: &Stdio) -> Command {
        let mut command = Command::new(self.program(stdio))
            .args(stdio.args.iter().map(ToString::to_string))
            .name(&self.key)
            .env_clear()
            .contain();
        self.stderr.follow(&command);
        for name in PASSED.iter().filter(|name| !self.removed.iter().any(|removed| removed == *name)) {
            // A value that begins like this is a function of a shell, which is code.
            if let Some(value) = std::env::var_os(name).filter(|value| !value.to_string_lossy().starts_with("()")) {
                command = command.env(name, value);
            }
        }
        for (name, value) in &stdio.env {
            command = command.env(name, value.to_string());
        }
        match &stdio.cwd {
            Some(cwd) => command.current_dir(self.secrets.path(cwd.to_string().as_ref())),
            None => command,
        }
    }

    /// The program; one in the user's home folder may begin with `~`.
    fn program(&self, stdio: &Stdio) -> PathBuf {
        let program = stdio.command.to_string();
        if program.starts_with("~/") { self.secrets.path(program.as_ref()) } else { program.into() }
    }

    fn remote(&self, remote: &Remote) -> Result<couplet_http::client::HttpTarget, Error> {
        let target = couplet_http::connect(remote.url.to_string());
        let target =
            remote.headers.iter().fold(target, |target, (name, value)| target.header(name, &value.to_string()));
        let target = match &self.http2 {
            Some(client) => target.client(client.get_or_init(http2).clone()?),
            None => target,
        };
        let has_header = remote.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let url = remote.url.to_string();
        let needed = format!("authentication required: run `couplet login {}`", shown(&url));
        let needed = move || Error::new(ErrorKind::Auth, needed.as_str());
        match self.auth {
            Some(Auth::None) => Ok(target),
            None if has_header => Ok(target),
            // At each connection, since a login may be made while the gateway runs.
            None if !self.logins.exists() => Ok(target),
            Some(Auth::Oauth(_)) if !self.logins.exists() => Err(needed()),
            None | Some(Auth::Oauth(_)) => {
                let login = OAuth::new("Couplet").browser(move |_| std::future::ready(Err(needed())));
                Ok(target.authorize(login.store(FileStore::open(&self.logins)?)))
            }
        }
    }
}

fn http2() -> Result<Arc<HyperClient>, Error> {
    HyperClient::builder().http2_prior_knowledge().build().map(Arc::new)
}

/// A URL without its query, which may be a secret.
fn shown(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

impl Connect for Target {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            match self.resolved().await? {
                Entry::Stdio(stdio) => self.command(&stdio).connect(inbound, limits).await,
                Entry::Remote(remote) => self.remote(&remote)?.connect(inbound, limits).await,
            }
        })
    }
}
