//! The table of hosts: their names, the paths of their files, and the layout of their entries.

mod data;
mod path;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::{Entry, Env, Error, Format, Text, node::Node, shape, suggest, text::Style};
pub(crate) use path::state;

use data::{Finder, HostData, Paths, TableData};

/// The table of known hosts.
///
/// ```
/// use couplet_hosts::Hosts;
///
/// let hosts = Hosts::builtin();
/// assert_eq!(hosts.get("cursor").unwrap().name(), "Cursor");
/// let error = hosts.get("curser").unwrap_err();
/// assert!(error.to_string().contains("did you mean `cursor`?"));
/// ```
#[derive(Clone, Debug)]
pub struct Hosts {
    hosts: Vec<Host>,
}

/// A program that has MCP servers in its configuration.
#[derive(Clone, Debug)]
pub struct Host {
    data: HostData,
    style: Style,
}

/// The users and folders that a server is configured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Scope {
    /// This user, in all folders.
    User,
    /// All users of this folder: the file is part of the project.
    Project,
    /// This user, in this folder.
    Local,
}

/// A configuration file of a host, and the key of the servers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) path: PathBuf,
    pub(crate) key: Vec<String>,
    pub(crate) scope: Scope,
}

impl Hosts {
    /// Returns the built-in table.
    ///
    /// # Panics
    /// Never: the built-in table is tested.
    #[must_use]
    pub fn builtin() -> Self {
        Self::parse(include_str!("hosts.toml")).expect("the table in this crate is right")
    }

    /// Returns the built-in table, extended by the user's own: the file that `COUPLET_HOSTS` names, or
    /// `couplet/hosts.toml` in the system's folder for configuration. A host with the id of a built-in one replaces it.
    ///
    /// # Errors
    /// If the user's file cannot be read or is invalid.
    pub fn load(env: &Env) -> Result<Self, Error> {
        let mut hosts = Self::builtin();
        let named = env.var("COUPLET_HOSTS").map(PathBuf::from);
        let path = named.clone().unwrap_or_else(|| path::expand("{support}/couplet/hosts.toml", env));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if named.is_none() && e.kind() == std::io::ErrorKind::NotFound => return Ok(hosts),
            Err(e) => return Err(Error::io(&path, "cannot be read", &e)),
        };
        let own = Self::parse(&text).map_err(|what| Error::broken(&path, None, what))?;
        for host in own.hosts {
            match hosts.hosts.iter_mut().find(|h| h.id() == host.id()) {
                Some(known) => *known = host,
                None => hosts.hosts.push(host),
            }
        }
        Ok(hosts)
    }

    /// Returns the host with this id, name or alias.
    ///
    /// # Errors
    /// If there is none; the error has a suggestion and the list of hosts.
    pub fn get(&self, name: &str) -> Result<&Host, Error> {
        let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "-");
        let wanted = plain(name);
        let matches = |host: &&Host| host.names().any(|n| plain(n) == wanted);
        self.hosts.iter().find(matches).ok_or_else(|| {
            let names = self.hosts.iter().flat_map(Host::names).map(plain);
            let ids: Vec<_> = self.hosts.iter().map(Host::id).collect();
            Error::unknown(format!("there is no host `{name}`{}", suggest::sentence(&wanted, names)))
                .with_hint(format!("the hosts are {}", ids.join(", ")))
        })
    }

    /// Returns an iterator over all hosts.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// Returns the hosts that seem to be installed.
    pub fn detected(&self, env: &Env) -> Vec<&Host> {
        self.iter().filter(|host| host.is_detected(env)).collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: TableData = toml_edit::de::from_str(text).map_err(|e| e.to_string())?;
        let host = |data: HostData| {
            let style = Style::new(&data.references).map_err(|e| format!("host `{}`: {e}", data.id))?;
            data.check()?;
            Ok(Host { data, style })
        };
        Ok(Self { hosts: table.host.into_iter().map(host).collect::<Result<_, String>>()? })
    }
}

impl Host {
    /// Returns the id, which commands take as an argument.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.data.id
    }

    /// Returns the display name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.data.name
    }

    /// Returns the format of its files.
    #[must_use]
    pub fn format(&self) -> Format {
        self.data.format
    }

    /// Returns what the user has to do before an added server can be used, if anything.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        self.data.next.as_deref()
    }

    /// Returns an iterator over the scopes that it supports.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        let has = |scope: &Scope| match scope {
            Scope::User => self.data.user.is_some(),
            Scope::Project => self.data.project.is_some(),
            Scope::Local => self.data.local.is_some(),
        };
        [Scope::User, Scope::Project, Scope::Local].into_iter().filter(has)
    }

    /// Returns the file of a scope: the first existing one, or the one to create.
    ///
    /// # Errors
    /// If it does not support the scope.
    pub fn place(&self, env: &Env, scope: Scope) -> Result<Place, Error> {
        let paths = match scope {
            Scope::User | Scope::Local => self.data.user.as_ref(),
            Scope::Project => self.data.project.as_ref(),
        };
        let key = match scope {
            Scope::Local => self.data.local.as_ref(),
            _ => Some(&self.data.key),
        };
        let (Some(paths), Some(key)) = (paths, key) else {
            let scopes: Vec<_> = self.scopes().map(|scope| format!("`{scope}`")).collect();
            return Err(Error::usage(format!("{} has no scope `{scope}`", self.name()))
                .with_hint(format!("it has {}", scopes.join(", "))));
        };
        let cwd = env.cwd().display().to_string();
        let key = key.iter().map(|part| part.replace("{project}", &cwd)).collect();
        Ok(Place { path: first_there(paths, env), key, scope })
    }

    /// Returns the files of all scopes. In the home folder, a project's file may be the user's own; it is returned
    /// once.
    pub fn places(&self, env: &Env) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for place in self.scopes().filter_map(|scope| self.place(env, scope).ok()) {
            if !places.iter().any(|other| (&other.path, &other.key) == (&place.path, &place.key)) {
                places.push(place);
            }
        }
        places
    }

    /// Returns `true` if it seems to be installed.
    #[must_use]
    pub fn is_detected(&self, env: &Env) -> bool {
        let places = match (&self.data.detect, &self.data.user) {
            (Some(detect), _) => detect.for_os(env.os()).iter().map(|p| path::expand(p, env)).collect(),
            (None, Some(user)) => {
                let folder = |p: &String| path::find(p, env).and_then(|p| p.parent().map(Path::to_owned));
                user.for_os(env.os()).iter().filter_map(folder).collect()
            }
            (None, None) => Vec::new(),
        };
        places.iter().any(|place| place.exists())
    }

    /// Returns the keys that lead to the servers in its files.
    #[must_use]
    pub fn key(&self) -> &[String] {
        &self.data.key
    }

    /// Returns the keys that lead to the servers in its files, if they use its alternate layout.
    #[must_use]
    pub fn alternate_key(&self) -> Option<&[String]> {
        self.data.alternate.as_deref()
    }

    /// Adds syntaxes for references to variables, each with `NAME` in it, such as `${env:NAME}`.
    ///
    /// # Errors
    /// If a syntax does not contain `NAME`.
    pub fn with_references(mut self, ways: &[&str]) -> Result<Self, Error> {
        let new = ways.iter().map(|&way| way.to_owned()).filter(|way| !self.data.references.contains(way));
        let new: Vec<_> = new.collect();
        self.data.references.extend(new);
        self.style = Style::new(&self.data.references).map_err(Error::usage)?;
        Ok(self)
    }

    /// Parses a string of its files, with references to variables in its syntax.
    #[must_use]
    pub fn read_text(&self, text: &str) -> Text {
        self.style.read(text)
    }

    /// Reads an entry of its files.
    ///
    /// # Errors
    /// A sentence about what it is instead.
    pub fn read_entry(&self, node: &Node) -> Result<Entry, String> {
        shape::read(self, node)
    }

    /// Returns whether an entry of its files is not a server but its own: a built-in server, or the settings of an
    /// extension.
    #[must_use]
    pub fn is_own_entry(&self, node: &Node) -> bool {
        shape::is_hosts_own(self, node)
    }

    /// Whether it looks for programs only in the system's folders, and not in the user's `PATH`.
    pub(crate) fn is_desktop(&self) -> bool {
        self.data.path == Finder::Desktop
    }

    pub(crate) fn style(&self) -> &Style {
        &self.style
    }

    pub(crate) fn data(&self) -> &HostData {
        &self.data
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        [self.id(), self.name()].into_iter().chain(self.data.aliases.iter().map(String::as_str))
    }
}

impl Place {
    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the scope of the file.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        })
    }
}

impl std::str::FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::User, Self::Project, Self::Local];
        let found = all.into_iter().find(|scope| scope.to_string() == text);
        found.ok_or_else(|| format!("there is no scope `{text}`: it is `user`, `project` or `local`"))
    }
}

/// The key of the servers in a parsed file, which may use the alternate layout of this host.
pub(crate) fn key_in(host: &Host, place: &Place, root: &Node) -> Vec<String> {
    let is_layout = |alternate: &&Vec<String>| {
        // A server may be called `servers`, too: it has a command or a URL.
        let looks_like_server = |n: &Node| n.get("type").is_some() || n.get("command").is_some();
        root.at(*alternate).is_some_and(|n| n.members().is_some() && !looks_like_server(n))
    };
    let alternate = host.data.alternate.as_ref().filter(|_| place.scope != Scope::Local).filter(is_layout);
    alternate.unwrap_or(&place.key).clone()
}

fn first_there(paths: &Paths, env: &Env) -> PathBuf {
    let templates = paths.for_os(env.os());
    let there = templates.iter().filter_map(|p| path::find(p, env)).find(|p| p.exists());
    there.unwrap_or_else(|| templates.first().map(|p| path::expand(p, env)).unwrap_or_default())
}
