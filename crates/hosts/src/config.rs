//! A host's configuration file, and the changes that can be made to it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Change, Entry, Env, Error, ErrorKind, Host, Place, Scope, backup,
    format::{Broken, Refused},
    node::{Member, Node},
    shape::{self, Cannot},
    table,
};

/// The size limit of files in bytes. Claude Code stores whole histories in its file.
const LONGEST: u64 = 64 << 20;

/// A host's configuration file, parsed.
///
/// ```
/// use couplet_hosts::{Config, Env, Hosts, Os, Overwrite, Scope, Stdio};
///
/// let env = Env::new(Os::Linux, "/nowhere", "/nowhere");
/// let hosts = Hosts::builtin();
/// let host = hosts.get("codex")?;
/// let config = Config::read(host, host.place(&env, Scope::User)?)?;
/// let change = config.add("time", &Stdio::new("/bin/time-server").into(), Overwrite::No)?;
/// assert_eq!(change.after(), "[mcp_servers.time]\ncommand = \"/bin/time-server\"\nargs = []\n");
/// # Ok::<(), couplet_hosts::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config<'a> {
    host: &'a Host,
    place: Place,
    /// The content of the file; `None` if it does not exist.
    original: Option<String>,
    /// The content with pending changes.
    text: Option<String>,
    root: Node,
    key: Vec<String>,
}

/// A server in a host's configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    /// The name of the server in the host.
    pub name: String,
    /// The id of the host.
    pub host: String,
    /// The scope of the file.
    pub scope: Scope,
    /// The path of the file.
    pub path: PathBuf,
    /// How the server is reached, or a sentence that explains why the entry cannot be read.
    pub entry: Result<Entry, String>,
    /// Whether the host uses the server.
    pub enabled: bool,
    pub(crate) node: Node,
}

/// Whether an existing entry that differs is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Fails with [`ErrorKind::Conflict`].
    No,
    /// Replaces it. Settings that are not about how the server is reached are preserved.
    Yes,
}

impl<'a> Config<'a> {
    /// Reads a host's file. A file that does not exist counts as empty.
    ///
    /// # Errors
    /// If the file cannot be read or parsed; with line and column.
    pub fn read(host: &'a Host, place: Place) -> Result<Self, Error> {
        let text = read_file(&place.path)?;
        let root =
            host.format().parse(text.as_deref().unwrap_or_default()).map_err(|b| broken(host, &place.path, b))?;
        let key = table::key_in(host, &place, &root);
        Ok(Self { host, place, original: text.clone(), text, root, key })
    }

    /// Applies a change in memory. Later changes are still relative to the file on disk, so several can be combined
    /// into one.
    ///
    /// # Errors
    /// Never, if the change was made by this configuration.
    pub fn with(mut self, change: &Change) -> Result<Self, Error> {
        let parsed = self.host.format().parse(change.after());
        self.root = parsed.map_err(|b| broken(self.host, &self.place.path, b))?;
        self.key = table::key_in(self.host, &self.place, &self.root);
        self.text = Some(change.after().to_owned());
        Ok(self)
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// Returns the file with its scope.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns all servers in the file.
    #[must_use]
    pub fn servers(&self) -> Vec<Server> {
        let servers = self.root.at(&self.key).and_then(Node::members).unwrap_or_default();
        let is_server = |m: &&Member| !self.is_layout(&m.value) && !shape::is_hosts_own(self.host, &m.value);
        let server = |m: &Member| Server {
            name: m.key.clone(),
            host: self.host.id().to_owned(),
            scope: self.place.scope,
            path: self.place.path.clone(),
            entry: shape::read(self.host, &m.value),
            enabled: shape::is_enabled(&m.value),
            node: m.value.clone(),
        };
        servers.iter().filter(is_server).map(server).collect()
    }

    /// Returns the server with this name.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<Server> {
        self.servers().into_iter().rev().find(|server| server.name == name)
    }

    /// Returns the change that adds a server. It does not write anything; see [`Change::apply`].
    ///
    /// # Errors
    /// If another server has that name, the host does not support such a server, or the file cannot be edited without
    /// touching other entries.
    pub fn add(&self, name: &str, entry: &Entry, overwrite: Overwrite) -> Result<Change, Error> {
        let is_alternate = self.host.data().alternate.as_ref() == Some(&self.key);
        let written = shape::write(self.host, self.place.scope, is_alternate, name, entry)
            .map_err(|cannot| self.cannot(&cannot, entry))?;
        let old = self.root.at(self.key.iter().chain([&name.to_owned()]));
        let node = match old {
            None => written.node,
            Some(old) if shape::read(self.host, old).as_ref() == Ok(entry) => return Ok(self.change(None, Vec::new())),
            Some(old) if overwrite == Overwrite::Yes => shape::merge(old, written.node),
            Some(old) => return Err(self.conflict(name, old)),
        };
        let path = self.path_of(name);
        let text =
            self.host.format().set(self.before(), &path, &node).map_err(|why| self.refused(why, &path, &node))?;
        Ok(self.change(Some(text), written.notes))
    }

    /// Returns the change that removes a server. If the file is unmodified since [`Config::add`], the change restores
    /// the previous content byte by byte.
    ///
    /// # Errors
    /// If there is no such server, or the file cannot be edited without touching other entries.
    pub fn remove(&self, env: &Env, name: &str) -> Result<Change, Error> {
        let path = self.path_of(name);
        let Some(node) = self.root.at(&path) else {
            let names = self.servers().into_iter().map(|s| s.name);
            let close = crate::suggest::sentence(name, names);
            let file = self.place.path.display();
            return Err(Error::unknown(format!("{} has no server `{name}` in `{file}`{close}", self.host.name())));
        };
        let format = self.host.format();
        let undone = backup::all(env, &self.place.path).into_iter().find(|earlier| {
            let had_it = format.parse(earlier).map_or(true, |root| root.at(&path).is_some());
            !had_it && format.set(earlier, &path, node).as_deref() == Ok(self.before())
        });
        let text = match undone {
            Some(text) => Some(text),
            None => format.unset(self.before(), &path).map_err(|why| self.refused(why, &path, node))?,
        };
        Ok(self.change(text, Vec::new()))
    }

    /// The change that changes nothing.
    #[cfg(feature = "cli")]
    pub(crate) fn unchanged(&self) -> Change {
        self.change(None, Vec::new())
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    pub(crate) fn key(&self) -> &[String] {
        &self.key
    }

    fn before(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    fn path_of(&self, name: &str) -> Vec<String> {
        self.key.iter().cloned().chain([name.to_owned()]).collect()
    }

    fn change(&self, after: Option<String>, notes: Vec<String>) -> Change {
        let after = after.unwrap_or_else(|| self.before().to_owned());
        Change::new(self.place.clone(), self.original.clone(), after, notes)
    }

    /// Whether a member is a setting or the alternate layout and not a server, for hosts that mix them.
    fn is_layout(&self, node: &Node) -> bool {
        self.host.data().alternate.is_some() && shape::read(self.host, node).is_err()
    }

    fn conflict(&self, name: &str, old: &Node) -> Error {
        let is = shape::read(self.host, old).map_or_else(|why| why, |entry| format!("`{entry}`"));
        let file = self.place.path.display();
        Error::new(ErrorKind::Conflict, format!("{} has another `{name}` in `{file}`: {is}", self.host.name()))
            .with_hint("use `--force` to replace it, or `--name` for another name")
    }

    fn cannot(&self, cannot: &Cannot, entry: &Entry) -> Error {
        let host = self.host.name();
        match cannot {
            Cannot::Transport => {
                Error::usage(format!("{host} cannot have `{entry}`: it does not support this transport"))
                    .with_hint("give it a program that bridges to it, such as `couplet run URL`")
            }
            Cannot::Refer(name) => Error::usage(format!("{host} cannot refer to the variable `{name}` there"))
                .with_hint(format!("give its value, which is stored in the file: `-e {name}=…`")),
        }
    }

    fn refused(&self, why: Refused, path: &[String], node: &Node) -> Error {
        let file = &self.place.path;
        match why {
            Refused::Broken(what) => broken(self.host, file, what),
            Refused::Shape(what) => Error::broken(file, None, what).with_hint("correct the file; it was not modified"),
            Refused::Unsafe => Error::broken(file, None, "it is written in a way that cannot be edited safely")
                .with_hint(format!(
                    "it was not modified; the entry would be\n{}",
                    self.host.format().snippet(path, node)
                )),
        }
    }
}

fn broken(host: &Host, path: &Path, broken: Broken) -> Error {
    Error::broken(path, broken.at, format!("it is not {}: {}", host.format(), broken.what))
        .with_hint("correct the file; it was not modified")
}

/// Reads the text of a configuration file; `None` if it does not exist.
///
/// # Errors
/// If it cannot be read, is not a regular file, is too large, or is not UTF-8.
pub fn read_file(path: &Path) -> Result<Option<String>, Error> {
    let is_absent = |e: &io::Error| matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if is_absent(&e) => return Ok(None),
        Err(e) => return Err(Error::io(path, "cannot be read", &e)),
    };
    let odd = |what: &str| Err(Error::broken(path, None, what).with_hint("it was not modified"));
    match () {
        () if meta.is_dir() => return odd("it is a folder, where a file should be"),
        () if !meta.is_file() => return odd("it is not a regular file"),
        () if meta.len() > LONGEST => return odd(&format!("it has more than {} MiB", LONGEST >> 20)),
        () => {}
    }
    let bytes = fs::read(path).map_err(|e| Error::io(path, "cannot be read", &e))?;
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) if is_utf16 => odd("it is UTF-16: save it as UTF-8"),
        Err(e) => odd(&format!("it is not UTF-8, from byte {} on", e.utf8_error().valid_up_to())),
    }
}
