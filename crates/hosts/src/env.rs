//! What is around the program: the operating system, folders and variables, as a value.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// An operating system, as far as hosts keep their files differently on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Linux, and whatever else follows the XDG base directories.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// The one that this program runs on.
    #[must_use]
    pub fn current() -> Self {
        match () {
            () if cfg!(windows) => Self::Windows,
            () if cfg!(target_os = "macos") => Self::MacOs,
            () => Self::Linux,
        }
    }
}

/// Everything that decides where a host keeps its files. Tests make one; a program takes [`Env::system`].
///
/// ```
/// use couplet_hosts::{Env, Hosts, Os, Scope};
///
/// let env = Env::new(Os::MacOs, "/Users/ann", "/Users/ann/project");
/// let hosts = Hosts::builtin();
/// let place = hosts.get("claude-desktop").unwrap().place(&env, Scope::User).unwrap();
/// assert!(place.path().ends_with("Library/Application Support/Claude/claude_desktop_config.json"));
/// ```
#[derive(Clone, Debug)]
pub struct Env {
    os: Os,
    home: PathBuf,
    cwd: PathBuf,
    exe: PathBuf,
    vars: BTreeMap<String, String>,
}

impl Env {
    /// An environment without variables.
    pub fn new(os: Os, home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self { os, home: home.into(), cwd: cwd.into(), exe: "couplet".into(), vars: BTreeMap::new() }
    }

    /// The environment of this process.
    ///
    /// # Errors
    /// When there is no home folder, or no current one.
    pub fn system() -> io::Result<Self> {
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.ok_or_else(|| io::Error::other("there is no home folder: set `HOME`"))?;
        let mut env = Self::new(Os::current(), home, std::env::current_dir()?);
        if let Ok(exe) = std::env::current_exe() {
            env.exe = exe;
        }
        // A variable that is not text cannot be part of a configuration that is.
        for (name, value) in std::env::vars_os() {
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                env = env.with(&name, &value);
            }
        }
        Ok(env)
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(self.key(name), value.to_owned());
        self
    }

    /// The same with this as the path of the running program, which bridges are made of.
    #[must_use]
    pub fn with_exe(mut self, exe: impl Into<PathBuf>) -> Self {
        self.exe = exe.into();
        self
    }

    /// The operating system.
    #[must_use]
    pub fn os(&self) -> Os {
        self.os
    }

    /// The user's home folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The current folder, which projects are looked for in.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The running program.
    #[must_use]
    pub fn exe(&self) -> &Path {
        &self.exe
    }

    /// A variable that is set and not empty.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(&self.key(name)).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A path as people write it, with `~` for the home folder.
    #[must_use]
    pub fn short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if !rest.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// On Windows, case does not matter in names of variables.
    fn key(&self, name: &str) -> String {
        if self.os == Os::Windows { name.to_uppercase() } else { name.to_owned() }
    }
}
