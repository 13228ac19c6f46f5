//! Servers configured in hosts on this machine, by name.

use couplet_hosts::{Discovery, Entry, Env, ErrorKind, Hosts, Server, discover};

use super::{LoginWay, Place, Target, TlsArgs, place::address};
use crate::{
    arguments::nearest,
    exit::{Exit, Failure},
};

/// The servers configured on this machine.
pub(crate) struct Known {
    env: Env,
    found: Discovery,
}

impl Known {
    /// Reads the configuration of all hosts.
    ///
    /// # Errors
    /// If there is no home directory, or the user's table of hosts is invalid. A host whose configuration cannot be
    /// read is left out, and reported if a name is not found.
    pub(crate) fn here() -> Result<Self, Failure> {
        Self::around(environment()?)
    }

    pub(crate) fn around(env: Env) -> Result<Self, Failure> {
        let found = discover(&env, &Hosts::load(&env)?);
        Ok(Self { env, found })
    }

    /// Finds a server by `name` or `host:name`. `None` if no host has a server of that name.
    ///
    /// # Errors
    /// If several hosts have different servers of that name, or the entry refers to a missing variable.
    pub(crate) fn find(&self, word: &str) -> Result<Option<Target>, Failure> {
        match self.found.find(word) {
            Ok(server) => Target::configured(server, &self.env).map(Some),
            Err(error) if error.kind() == ErrorKind::Unknown => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns all servers, with their commands or URLs as they are written.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &Server> {
        self.found.servers.iter()
    }

    /// Creates the error for an unknown name.
    pub(crate) fn unknown(&self, word: &str) -> Failure {
        let failure = Failure::usage(format!("`{word}` is neither a configured server nor a program in PATH"));
        let failure = match address(word) {
            Some(url) => failure.hint(format!("write a URL with its scheme: {url}")),
            None => failure,
        };
        let failure = match nearest(word, self.found.servers.iter().map(|s| s.name.as_str())) {
            Some(name) => failure.hint(format!("did you mean `{name}`?")),
            None => failure.hint("a URL starts with http:// or https://; quote a command with arguments"),
        };
        self.found.broken.iter().fold(failure, |failure, broken| failure.detail(format!("skipped: {broken}")))
    }
}

impl Target {
    /// Resolves a configured server, with its variables expanded as the host does.
    ///
    /// # Errors
    /// If a variable is missing.
    pub(crate) fn configured(server: &Server, env: &Env) -> Result<Self, Failure> {
        Ok(Self { place: Place::of(server.resolve(env)?), host: Some(server.host.clone()) })
    }
}

impl Place {
    /// Converts a resolved entry.
    pub(super) fn of(entry: Entry) -> Self {
        let pairs = |pairs: Vec<(String, couplet_hosts::Text)>| {
            pairs.into_iter().map(|(name, value)| (name, value.to_string())).collect()
        };
        match entry {
            Entry::Remote(remote) => Self::Url {
                url: remote.url.to_string(),
                headers: pairs(remote.headers),
                tls: TlsArgs::default(),
                login: LoginWay::Browser,
            },
            Entry::Stdio(stdio) => Self::Program {
                words: std::iter::once(&stdio.command).chain(&stdio.args).map(ToString::to_string).collect(),
                env: pairs(stdio.env),
                cwd: stdio.cwd.map(|folder| folder.to_string().into()),
            },
        }
    }
}

/// Returns the environment that hosts are searched in.
///
/// # Errors
/// If there is no home directory.
pub(crate) fn environment() -> Result<Env, Failure> {
    Env::system().map_err(|e| Failure::new(Exit::File, e.to_string()))
}
