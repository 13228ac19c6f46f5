//! The table of hosts: which there are, where their files are, and what an entry looks like in them.

mod data;
mod path;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::{Env, Error, Format, node::Node, suggest, text::Style};
pub(crate) use path::state;

use data::{Finder, HostData, Paths, TableData};

/// All hosts that are known.
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

/// A program that has servers configured.
#[derive(Clone, Debug)]
pub struct Host {
    data: HostData,
    style: Style,
}

/// For whom a server is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For this user, everywhere.
    User,
    /// For everybody who works in this folder: the file belongs to the project.
    Project,
    /// For this user in this folder.
    Local,
}

/// A file of a host, and where in it the servers stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) path: PathBuf,
    pub(crate) key: Vec<String>,
    pub(crate) scope: Scope,
}

impl Hosts {
    /// The hosts that this version knows.
    ///
    /// # Panics
    /// Never: the table is tested.
    #[must_use]
    pub fn builtin() -> Self {
        Self::parse(include_str!("hosts.toml")).expect("the table in this crate is right")
    }

    /// The hosts that this version knows, and those that the user has written down: in the file that `COUPLET_HOSTS`
    /// names, or in `couplet/hosts.toml` where the system keeps such files. A host with an id that is known replaces it.
    ///
    /// # Errors
    /// When there is such a file and it is wrong.
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

    /// The host with an id or another name of it.
    ///
    /// # Errors
    /// When there is none; the error has a suggestion and the list.
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

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// Those that seem to be installed.
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
    /// The name that commands take.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.data.id
    }

    /// The name that people know it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.data.name
    }

    /// The format of its files.
    #[must_use]
    pub fn format(&self) -> Format {
        self.data.format
    }

    /// What has to be done before a server can be used that was put into its file.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        self.data.next.as_deref()
    }

    /// The scopes that it has.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        let has = |scope: &Scope| match scope {
            Scope::User => self.data.user.is_some(),
            Scope::Project => self.data.project.is_some(),
            Scope::Local => self.data.local.is_some(),
        };
        [Scope::User, Scope::Project, Scope::Local].into_iter().filter(has)
    }

    /// The file of a scope: the first of those that it reads that is there, or the one that it would make.
    ///
    /// # Errors
    /// When it has no such scope.
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

    /// The files of all scopes. In the home folder a project's file may be the user's own, which counts once.
    pub fn places(&self, env: &Env) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for place in self.scopes().filter_map(|scope| self.place(env, scope).ok()) {
            if !places.iter().any(|other| (&other.path, &other.key) == (&place.path, &place.key)) {
                places.push(place);
            }
        }
        places
    }

    /// Whether it seems to be installed.
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

    /// Whether it finds programs only where the desktop looks for them.
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
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For whom it is.
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

/// The members that servers stand under in a file that has been read, which may be the other layout of this host.
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
