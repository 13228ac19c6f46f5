//! Servers that hosts on this machine have configured, by name.

use couplet_hosts::{Discovery, Entry, Env, ErrorKind, Hosts, Server, discover};

use super::{LoginWay, Place, Target, TlsArgs, place::address};
use crate::{
    arguments::nearest,
    exit::{Exit, Failure},
};

/// What the hosts on this machine know.
pub(crate) struct Known {
    env: Env,
    found: Discovery,
}

impl Known {
    /// Reads the configuration of every host.
    ///
    /// # Errors
    /// When there is no home folder, or the user's own table of hosts is broken. A host whose configuration cannot be
    /// read is left out; it is told when a name is not found.
    pub(crate) fn here() -> Result<Self, Failure> {
        Self::around(environment()?)
    }

    pub(crate) fn around(env: Env) -> Result<Self, Failure> {
        let found = discover(&env, &Hosts::load(&env)?);
        Ok(Self { env, found })
    }

    /// The server that a word names: `name`, or `host:name`. `None` if no host has one of that name.
    ///
    /// # Errors
    /// When several hosts have different ones, or it refers to something that is not there.
    pub(crate) fn find(&self, word: &str) -> Result<Option<Target>, Failure> {
        match self.found.find(word) {
            Ok(server) => Target::configured(server, &self.env).map(Some),
            Err(error) if error.kind() == ErrorKind::Unknown => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing has that name.
    pub(crate) fn unknown(&self, word: &str) -> Failure {
        let failure = Failure::usage(format!("`{word}` is neither a configured server nor a program in PATH"));
        let failure = match address(word) {
            Some(url) => failure.hint(format!("is it an address? A URL begins with http:// or https://: {url}")),
            None => failure,
        };
        let failure = match nearest(word, self.found.servers.iter().map(|s| s.name.as_str())) {
            Some(name) => failure.hint(format!("did you mean `{name}`?")),
            None => failure
                .hint("a URL begins with http:// or https://; a command with arguments is one argument, in quotes"),
        };
        self.found.broken.iter().fold(failure, |failure, broken| failure.detail(format!("not read: {broken}")))
    }
}

impl Target {
    /// A server of a host, with everything filled in as the host would do it.
    ///
    /// # Errors
    /// When something that it refers to is not there.
    pub(crate) fn configured(server: &Server, env: &Env) -> Result<Self, Failure> {
        Ok(Self { place: Place::of(server.resolve(env)?), host: Some(server.host.clone()) })
    }
}

impl Place {
    /// Where the server of an entry is that has nothing left to fill in.
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

/// What is around this program.
///
/// # Errors
/// When there is no home folder.
pub(crate) fn environment() -> Result<Env, Failure> {
    Env::system().map_err(|e| Failure::new(Exit::File, e.to_string()))
}
