//! Discovery of all configured servers on this machine.

use crate::{Config, Entry, Env, Error, Hosts, Server, suggest};

/// The result of [`discover`]: servers, and files that could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Discovery {
    /// The servers, ordered by host as in the table, then by scope.
    pub servers: Vec<Server>,
    /// An error for each file that exists and cannot be read or parsed.
    pub broken: Vec<Error>,
}

/// Reads the files of all hosts in all scopes. Errors are collected in [`Discovery::broken`].
///
/// ```
/// use couplet_hosts::{Env, Hosts, Os, discover};
///
/// let env = Env::new(Os::Linux, "/nowhere", "/nowhere");
/// let found = discover(&env, &Hosts::builtin());
/// assert!(found.servers.is_empty() && found.broken.is_empty());
/// ```
#[must_use]
pub fn discover(env: &Env, hosts: &Hosts) -> Discovery {
    let mut found = Discovery { servers: Vec::new(), broken: Vec::new() };
    for host in hosts.iter() {
        for place in host.places(env) {
            match Config::read(host, place) {
                Ok(config) => found.servers.extend(config.servers()),
                Err(error) if found.broken.contains(&error) => {}
                Err(error) => found.broken.push(error),
            }
        }
    }
    found
}

impl Discovery {
    /// Finds a server by `name`, or by `host:name` where several hosts have different servers of that name.
    ///
    /// # Errors
    /// If there is none, or several that differ.
    pub fn find(&self, name: &str) -> Result<&Server, Error> {
        let matches: Vec<_> = self.servers.iter().filter(|s| s.entry.is_ok() && s.is_called(name)).collect();
        let Some(first) = matches.first() else {
            let names = self.servers.iter().flat_map(|s| [s.name.clone(), format!("{}:{}", s.host, s.name)]);
            let close = suggest::sentence(name, names);
            return Err(Error::unknown(format!("no host has a server `{name}`{close}"))
                .with_hint("`couplet servers` lists those that there are"));
        };
        match matches.iter().find(|other| other.entry != first.entry) {
            None => Ok(first),
            Some(other) => Err(Error::usage(format!("several hosts have a server `{name}`, and they differ"))
                .with_hint(format!("select one: `{}:{}` or `{}:{}`", first.host, first.name, other.host, other.name))),
        }
    }
}

impl Server {
    /// Resolves all references to variables in the server's entry, as the host does when it starts the server.
    ///
    /// # Errors
    /// If the entry cannot be read, or refers to a variable that is not set.
    pub fn resolve(&self, env: &Env) -> Result<Entry, Error> {
        let entry = self.entry.clone().and_then(|entry| entry.resolve(env));
        entry.map_err(|what| Error::broken(&self.path, None, format!("server `{}`: {what}", self.name)))
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || name.split_once(':').is_some_and(|(host, rest)| host == self.host && rest == self.name)
    }
}
