//! The SDKs, and how they come onto this machine: below `target/interop`, in versions that are pinned in `interop/`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{
    report::{Outcome, Role, Row, Transport},
    text, with,
};
use crate::{
    Failure,
    group::Group,
    workspace::{capture, command, node_major, root},
};

/// An SDK to be talked to.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its folder in `interop/`.
    pub(super) name: &'static str,
    pub(super) sdk: &'static str,
    /// What its client can be told to offer.
    pub(super) client: &'static [&'static str],
    /// What our client offers to its server.
    pub(super) server: &'static [&'static str],
    /// Whether it is an authorization server instead of an SDK: its client is then a browser.
    pub(super) issuer: bool,
    /// The latest revision that it speaks.
    pub(super) latest: &'static str,
    pub(super) install: fn(&Path) -> Result<Programs, Missing>,
}

/// The last of each era, and a free choice.
const BOTH: &[&str] = &["2025-11-25", "2026-07-28", "auto"];
/// The same, and the first revision in which servers ask.
const MORE: &[&str] = &["2025-06-18", "2025-11-25", "2026-07-28", "auto"];

pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "python",
        sdk: "mcp 2.3.0",
        client: BOTH,
        server: MORE,
        issuer: false,
        latest: "2026-07-28",
        install: python,
    },
    Peer {
        name: "python-v1",
        sdk: "mcp 1.30.0",
        client: &["2025-11-25"],
        server: &["2025-06-18", "2025-11-25", "auto"],
        issuer: false,
        latest: "2025-11-25",
        install: python,
    },
    Peer {
        name: "ts-v1",
        sdk: "sdk 1.32.2",
        client: &["2025-11-25"],
        server: &["2025-06-18", "2025-11-25", "auto"],
        issuer: false,
        latest: "2025-11-25",
        install: node,
    },
    Peer {
        name: "ts-v2",
        sdk: "client, server 2.4.0",
        client: BOTH,
        server: MORE,
        issuer: false,
        latest: "2026-07-28",
        install: node,
    },
    Peer {
        name: "rmcp",
        sdk: "rmcp 3.8.0",
        client: BOTH,
        server: MORE,
        issuer: false,
        latest: "2026-07-28",
        install: rmcp,
    },
    Peer {
        name: "fastmcp",
        sdk: "fastmcp 4.1.2",
        client: &[],
        server: &["2025-11-25", "2026-07-28"],
        issuer: false,
        latest: "2026-07-28",
        install: python,
    },
    Peer {
        name: "oidc",
        sdk: "oidc-provider 9.13.3",
        client: &[],
        server: &[],
        issuer: true,
        latest: "2026-07-28",
        install: node,
    },
];

/// How long a registry, or a compiler, may take.
const INSTALL: Duration = Duration::from_secs(600);

/// The SDKs for node need this one.
const OLDEST_NODE: u32 = 20;

/// A client and a server, each a command without its arguments.
#[derive(Debug)]
pub(super) struct Programs {
    client: Vec<String>,
    server: Vec<String>,
}

impl Programs {
    pub(super) fn new<const N: usize>(client: [PathBuf; N], server: [PathBuf; N]) -> Self {
        Self { client: client.map(|p| text(&p)).into(), server: server.map(|p| text(&p)).into() }
    }

    pub(super) fn client(&self, arguments: &[&str]) -> Command {
        with(&self.client, arguments)
    }

    pub(super) fn server(&self, arguments: &[&str]) -> Command {
        with(&self.server, arguments)
    }

    /// The command line of the client.
    pub(super) fn client_line(&self) -> &[String] {
        &self.client
    }

    /// The command line of the server for a client that starts it.
    pub(super) fn server_line(&self) -> Vec<String> {
        self.server.iter().cloned().chain(["stdio".to_owned()]).collect()
    }
}

/// Why a peer is not there.
#[derive(Clone, Debug)]
pub(crate) enum Missing {
    /// This machine has not what it needs, or a registry does not answer.
    Skipped(String),
    /// It should be there.
    Broken(Failure),
}

impl Missing {
    pub(super) fn row(self, peer: &'static Peer) -> Row {
        let runs = 2 * (peer.client.len() + peer.server.len()) + usize::from(peer.issuer);
        let row = Row::new(peer, Role::Client, Transport::Http, "");
        row.ended(match self {
            Self::Skipped(why) => Outcome::Skipped { runs, why },
            Self::Broken(why) => Outcome::failed(&why),
        })
    }
}

fn python(folder: &Path) -> Result<Programs, Missing> {
    let here = root().join("interop").join(folder.file_name().expect("the folder has the name of the peer"));
    let python = venv(folder, &here.join("requirements.txt"))?;
    Ok(Programs::new([python.clone(), here.join("client.py")], [python, here.join("server.py")]))
}

/// An environment for Python with what is required, and its interpreter.
pub(crate) fn venv(folder: &Path, requirements: &Path) -> Result<PathBuf, Missing> {
    let python = folder.join("venv/bin/python");
    let version = capture(command("python3").arg("--version"));
    let version = version.map_err(|_| Missing::Skipped("there is no `python3`".to_owned()))?;
    once(folder, &(version + &read(requirements)?), || {
        let mut venv = command("python3");
        venv.args(["-m", "venv", "--clear"]).arg(folder.join("venv"));
        quietly(&mut venv, folder)?;
        let mut pip = command(&text(&python));
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--retries", "1", "--requirement"]);
        quietly(pip.arg(requirements), folder)
    })?;
    Ok(python)
}

/// The packages of node that a `package.json` names.
pub(crate) fn npm(folder: &Path, package: &Path) -> Result<(), Missing> {
    if node_major(Path::new("node")).is_none_or(|major| major < OLDEST_NODE) {
        return Err(Missing::Skipped(format!("there is no `node` {OLDEST_NODE} or newer")));
    }
    once(folder, &read(package)?, || {
        copy(package.parent().unwrap_or(package), folder, "package.json").map_err(Missing::Broken)?;
        let mut npm = command("npm");
        npm.current_dir(folder).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
        quietly(npm.args(["--loglevel=error", "--fetch-retries=1"]), folder)
    })
}

/// Programs for node find their packages in a folder above them, so they are copied to where those are.
pub(super) fn node(folder: &Path) -> Result<Programs, Missing> {
    let here = root().join("interop").join(folder.file_name().expect("the folder has the name of the peer"));
    npm(folder, &here.join("package.json"))?;
    // Somebody in front of a browser is the client of an authorization server.
    let client = if here.join("browser.mjs").exists() { "browser.mjs" } else { "client.mjs" };
    for program in [client, "server.mjs"] {
        copy(&here, folder, program).map_err(Missing::Broken)?;
    }
    for shared in ["rolling.mjs", "script.mjs", "steps.mjs"] {
        copy(&root().join("interop/shared"), folder, shared).map_err(Missing::Broken)?;
    }
    let node = PathBuf::from("node");
    Ok(Programs::new([node.clone(), folder.join(client)], [node, folder.join("server.mjs")]))
}

/// The package has a lock file of its own. What cannot be brought is skipped, what does not compile is a failure.
fn rmcp(folder: &Path) -> Result<Programs, Missing> {
    let cargo = |arguments: &[&str]| {
        let mut cargo = command("cargo");
        cargo.args(arguments).arg("--manifest-path").arg(root().join("interop/rmcp/Cargo.toml"));
        cargo.env("CARGO_NET_RETRY", "1").env("CARGO_TARGET_DIR", folder);
        cargo
    };
    fs::create_dir_all(folder).map_err(|e| Missing::Broken(format!("{}: {e}", folder.display())))?;
    println!("interop: building rmcp in {}", folder.display());
    quietly(&mut cargo(&["fetch", "--locked"]), folder).map_err(|missing| match missing {
        Missing::Skipped(why) if why.contains("--locked was passed") => Missing::Broken(why),
        missing => missing,
    })?;
    quietly(&mut cargo(&["build", "--locked", "--offline"]), folder).map_err(|missing| match missing {
        Missing::Skipped(why) | Missing::Broken(why) => Missing::Broken(why),
    })?;
    let programs = folder.join("debug");
    Ok(Programs::new([programs.join("rmcp-client")], [programs.join("rmcp-server")]))
}

/// Does something unless it was done for the same reason before: half an installation does not count.
fn once(folder: &Path, reason: &str, install: impl FnOnce() -> Result<(), Missing>) -> Result<(), Missing> {
    let done = folder.join("installed");
    if fs::read_to_string(&done).ok().as_deref() == Some(reason) {
        return Ok(());
    }
    println!("interop: installing in {}", folder.display());
    let broken = |e: std::io::Error| Missing::Broken(format!("{}: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(broken)?;
    let _ = fs::remove_file(&done);
    install()?;
    fs::write(&done, reason).map_err(broken)
}

/// Runs an installer. What it says goes to a log, and its first complaint to the reader.
fn quietly(command: &mut Command, folder: &Path) -> Result<(), Missing> {
    let log = folder.join("install.log");
    let _ = fs::remove_file(&log);
    let ended = Group::start(command, &log).and_then(|group| group.wait(INSTALL));
    let why = match ended {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => {
            let said = fs::read(&log).unwrap_or_default();
            complaint(&String::from_utf8_lossy(&said)).unwrap_or_else(|| status.to_string())
        }
        Err(why) => why,
    };
    Err(Missing::Skipped(format!("it cannot be had: {why}; see {}", log.display())))
}

fn complaint(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.to_lowercase().contains("error"))?;
    Some(line.trim().chars().take(160).collect())
}

fn read(path: &Path) -> Result<String, Missing> {
    fs::read_to_string(path).map_err(|e| Missing::Broken(format!("{}: {e}", path.display())))
}

fn copy(from: &Path, to: &Path, name: &str) -> Result<(), Failure> {
    fs::copy(from.join(name), to.join(name)).map(drop).map_err(|e| format!("{name}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_complaint_is_told() {
        let said = "fetching\nnpm error code ECONNREFUSED\nnpm error a log is elsewhere\n";
        assert_eq!(complaint(said).as_deref(), Some("npm error code ECONNREFUSED"));
        assert_eq!(complaint("fetching\n"), None);
    }

    #[test]
    fn the_versions_in_the_table_are_those_that_are_installed() {
        let here = root().join("interop");
        for (peer, file) in [
            ("python", "requirements.txt"),
            ("python-v1", "requirements.txt"),
            ("fastmcp", "requirements.txt"),
            ("ts-v1", "package.json"),
            ("ts-v2", "package.json"),
            ("oidc", "package.json"),
        ] {
            let pinned = read(&here.join(peer).join(file)).unwrap();
            let sdk = PEERS.iter().find(|p| p.name == peer).unwrap().sdk;
            let version = sdk.rsplit(' ').next().unwrap();
            assert!(pinned.contains(version), "{peer}: {pinned}");
        }
        let lock = read(&here.join("rmcp/Cargo.lock")).unwrap();
        assert!(lock.contains("name = \"rmcp\"\nversion = \"3.8.0\""));
    }
}
