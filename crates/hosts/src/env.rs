//! The environment of the process as a value: operating system, folders and variables.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// An operating system, for the paths of configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Os {
    /// Linux, and other systems that follow the XDG base directory specification.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// Returns the system that this program runs on.
    #[must_use]
    pub fn current() -> Self {
        match () {
            () if cfg!(windows) => Self::Windows,
            () if cfg!(target_os = "macos") => Self::MacOs,
            () => Self::Linux,
        }
    }
}

/// The environment that determines the paths of configuration files. Programs use [`Env::system`]; tests build their
/// own.
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
    /// Creates an environment without variables.
    pub fn new(os: Os, home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self { os, home: home.into(), cwd: cwd.into(), exe: "couplet".into(), vars: BTreeMap::new() }
    }

    /// Returns the environment of this process. Variables that are not UTF-8 are ignored.
    ///
    /// # Errors
    /// If there is no home folder, or the current folder cannot be determined.
    pub fn system() -> io::Result<Self> {
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.ok_or_else(|| io::Error::other("there is no home folder: set `HOME`"))?;
        let mut env = Self::new(Os::current(), home, std::env::current_dir()?);
        if let Ok(exe) = std::env::current_exe() {
            env.exe = exe;
        }
        // A variable that is not UTF-8 cannot be part of a configuration that is.
        for (name, value) in std::env::vars_os() {
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                env = env.with(&name, &value);
            }
        }
        Ok(env)
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(self.key(name), value.to_owned());
        self
    }

    /// Sets the path of the running program, which bridges are started with.
    #[must_use]
    pub fn with_exe(mut self, exe: impl Into<PathBuf>) -> Self {
        self.exe = exe.into();
        self
    }

    /// Returns the operating system.
    #[must_use]
    pub fn os(&self) -> Os {
        self.os
    }

    /// Returns the user's home folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the current folder, which is taken for the project's.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the path of the running program.
    #[must_use]
    pub fn exe(&self) -> &Path {
        &self.exe
    }

    /// Returns the value of a variable that is set and not empty.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(&self.key(name)).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Formats a path with `~` for the home folder.
    #[must_use]
    pub fn display_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if !rest.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// Names of variables are case-insensitive on Windows.
    fn key(&self, name: &str) -> String {
        if self.os == Os::Windows { name.to_uppercase() } else { name.to_owned() }
    }
}
