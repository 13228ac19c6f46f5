//! The gateways that are compared: where they come from, and how they are started in front of the benchmark's server.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::super::{
    kits::{Folders, Kit, peers},
    rig::{Listening, Rig, free_address},
};
use crate::{
    Failure, gateway,
    gateway::{Names, Pins, Upstream},
    workspace::{capture, command, show},
};

/// The version of the crate `mcp-proxy`, which is installed by name.
const CRATE: &str = "0.6.0";

/// What stands between the load and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gateway {
    /// Nothing.
    Direct,
    /// `couplet gateway`, which starts the server.
    Stdio,
    /// `couplet gateway`, which connects to the server.
    Http,
    /// The second in HTTP/2: one connection to the server for all calls.
    Http2,
    /// The first with a policy and an audit log.
    StdioAudited,
    /// The second with a policy and an audit log.
    HttpAudited,
    /// The third with a policy and an audit log.
    Http2Audited,
    /// `couplet run`, which starts the server: a proxy without names, rules and supervision.
    Run,
    /// `mcp-proxy` of npm.
    Npm,
    /// `mcp-proxy` of PyPI.
    Pypi,
    /// The proxy of FastMCP.
    FastMcp,
    /// The crate `mcp-proxy`.
    Crate,
    /// haproxy, which passes requests on and knows nothing of messages: the least that a hop over HTTP costs.
    Haproxy,
}

use Gateway::{
    Crate, Direct, FastMcp, Haproxy, Http, Http2, Http2Audited, HttpAudited, Npm, Pypi, Run, Stdio, StdioAudited,
};

/// The servers behind a gateway: names, and how they are started.
pub(super) type Servers<'a> = [(&'a str, Upstream)];

impl Gateway {
    pub(super) const ALL: [Self; 13] =
        [Direct, Stdio, Http, Http2, StdioAudited, HttpAudited, Http2Audited, Haproxy, Run, Crate, Npm, FastMcp, Pypi];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Direct => "direct",
            Stdio => "couplet gateway, stdio",
            Http => "couplet gateway, HTTP",
            Http2 => "couplet gateway, HTTP/2",
            StdioAudited => "couplet gateway, stdio, audited",
            HttpAudited => "couplet gateway, HTTP, audited",
            Http2Audited => "couplet gateway, HTTP/2, audited",
            Run => "couplet run, stdio",
            Npm => "mcp-proxy 6.7.19 (npm)",
            Pypi => "mcp-proxy 0.13.0 (PyPI)",
            FastMcp => "FastMCP 4.1.4 proxy",
            Crate => "mcp-proxy 0.6.0 (crate)",
            Haproxy => "haproxy, HTTP alone",
        }
    }

    /// What it is called on a command line.
    pub(super) const fn short(self) -> &'static str {
        match self {
            Direct => "direct",
            Stdio => "stdio",
            Http => "http",
            Http2 => "http2",
            StdioAudited => "stdio-audited",
            HttpAudited => "http-audited",
            Http2Audited => "http2-audited",
            Run => "run",
            Npm => "npm",
            Pypi => "pypi",
            FastMcp => "fastmcp",
            Crate => "crate",
            Haproxy => "haproxy",
        }
    }

    pub(super) const fn is_ours(self) -> bool {
        matches!(self, Direct | Stdio | Http | Http2 | StdioAudited | HttpAudited | Http2Audited | Run)
    }

    /// Whether definitions are pinned, and calls audited.
    const fn pins(self) -> Pins {
        match self {
            StdioAudited | HttpAudited | Http2Audited => Pins::Audited,
            _ => Pins::On,
        }
    }

    /// What goes before the names of tools.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Crate => "bench/",
            _ => "",
        }
    }

    /// How many tools it lists of its own.
    pub(super) const fn own_tools(self) -> usize {
        match self {
            Crate => 5,
            _ => 0,
        }
    }

    /// Builds it, or brings it from a registry.
    pub(super) fn install(self, folders: &Folders) -> Result<(), Failure> {
        match self {
            Direct | Stdio | Http | Http2 | StdioAudited | HttpAudited | Http2Audited | Run => Ok(()),
            Npm => npm(folders),
            Pypi => folders.pip_at("mcp-proxy", &[here().join("requirements.txt")]),
            FastMcp => folders.build(Kit::FastMcp),
            Crate => from_crates(folders),
            Haproxy => capture(command("haproxy").arg("-v")).map(drop),
        }
    }

    /// Starts it in front of a server with so many tools besides three, and waits until it listens.
    pub(super) fn start(self, rig: &Rig, tools: &str) -> Result<Running, Failure> {
        let server =
            [vec!["env".to_owned(), format!("BENCH_TOOLS={tools}")], rig.folders.server(Kit::Couplet)].concat();
        let words = |mode: &str| server.iter().cloned().chain([mode.to_owned()]).collect::<Vec<_>>();
        match self {
            Direct => rig.listen(server, "http {port}").map(Running::alone),
            Stdio | StdioAudited => {
                let servers = [("bench", Upstream::Command(words("stdio")))];
                couplet_under(rig, &[], &servers, Names::Bare, self.pins())
            }
            Http | HttpAudited | Http2 | Http2Audited => {
                let behind = rig.listen(server, "http {port}")?;
                let url = behind.url.clone();
                let is_http2 = matches!(self, Http2 | Http2Audited);
                let servers = [("bench", if is_http2 { Upstream::UrlInHttp2(url, None) } else { Upstream::Url(url) })];
                let gateway = couplet_under(rig, &[], &servers, Names::Bare, self.pins())?;
                Ok(Running { behind: Some(behind), ..gateway })
            }
            Haproxy => {
                let behind = rig.listen(server, "http {port}")?;
                let gateway = haproxy(rig, &behind.url)?;
                Ok(Running { gateway, behind: Some(behind) })
            }
            _ => self.other(rig, &words("stdio")).map(Running::alone),
        }
    }

    fn other(self, rig: &Rig, server: &[String]) -> Result<Listening, Failure> {
        let address = free_address()?;
        let port = address.port().to_string();
        let here = |path: &str| rig.folders.bench.join(path).to_string_lossy().into_owned();
        let (words, path): (Vec<String>, &str) = match self {
            Run => {
                let target = server.join(" ");
                (["run", &target, "--http", &port].iter().fold(vec![rig.folders.our("couplet")], push), "/mcp")
            }
            Npm => {
                let program = here("gateways/npm/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs");
                let options = [&program, "--host", "127.0.0.1", "--port", &port, "--server", "stream", "--"];
                (options.iter().fold(vec!["node".to_owned()], push), "/mcp")
            }
            Pypi => {
                let options = ["--host", "127.0.0.1", "--port", &port, "--log-level", "ERROR", "--"];
                (options.iter().fold(vec![here("mcp-proxy/bin/mcp-proxy")], push), "/mcp")
            }
            FastMcp => {
                let script = peers().join("gateways/fastmcp_proxy.py").to_string_lossy().into_owned();
                ([&script, port.as_str()].iter().fold(vec![here("fastmcp/bin/python")], push), "/mcp")
            }
            _ => {
                let config = rig.folders.bench.join("gateways/proxy.toml");
                fs::write(&config, proxy_toml(&port, server)).map_err(|e| format!("{}: {e}", config.display()))?;
                (vec![here("gateways/crate/bin/mcp-proxy"), "--config".to_owned(), text(&config)], "/")
            }
        };
        let behind = if matches!(self, Npm | Pypi | FastMcp) { server } else { &[] };
        let words = rig.on_server([&words, behind].concat());
        Listening::spawn(line(&words), address, path)
    }
}

/// One thread of haproxy before a server, with connections that are reused.
fn haproxy(rig: &Rig, server: &str) -> Result<Listening, Failure> {
    let address = free_address()?;
    let behind = server.trim_start_matches("http://").trim_end_matches("/mcp");
    let config = format!(
        "global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  \
         http-reuse always\nfrontend front\n  bind {address}\n  default_backend back\nbackend back\n  server one {behind}\n"
    );
    let file = rig.folders.bench.join("gateways/haproxy.cfg");
    fs::write(&file, config).map_err(|e| format!("{}: {e}", file.display()))?;
    Listening::spawn(line(&rig.on_server(vec!["haproxy".to_owned(), "-f".to_owned(), text(&file)])), address, "/mcp")
}

/// Adds a word.
fn push(mut words: Vec<String>, word: &&str) -> Vec<String> {
    words.push((*word).to_owned());
    words
}

/// A gateway that listens, and the server that listens behind it.
pub(super) struct Running {
    pub(super) gateway: Listening,
    #[expect(dead_code, reason = "it ends with this value")]
    behind: Option<Listening>,
}

impl Running {
    fn alone(gateway: Listening) -> Self {
        Self { gateway, behind: None }
    }
}

/// Starts our gateway before servers.
pub(super) fn couplet(rig: &Rig, servers: &Servers<'_>, names: Names) -> Result<Running, Failure> {
    couplet_under(rig, &[], servers, names, Pins::On)
}

/// The same, started by another program.
pub(super) fn couplet_under(
    rig: &Rig,
    before: &[String],
    servers: &Servers<'_>,
    names: Names,
    pins: Pins,
) -> Result<Running, Failure> {
    let config = gateway::configure(&rig.folders.bench.join("gateways/couplet"), servers, names, pins)?;
    let address = free_address()?;
    let words = [before, &[rig.folders.our("couplet")], &gateway::listening(&config, &address.port().to_string())];
    let mut gateway = line(&rig.on_server(words.concat()));
    gateway::with_state(&mut gateway, &config);
    Listening::spawn(gateway, address, "/mcp").map(Running::alone)
}

fn line(words: &[String]) -> Command {
    let (program, arguments) = words.split_first().map_or(("", [].as_slice()), |(p, a)| (p.as_str(), a));
    let mut line = command(program);
    // Others write no line for each request, unless they are told to.
    line.args(arguments).env("RUST_LOG", "warn");
    line
}

fn proxy_toml(port: &str, server: &[String]) -> String {
    let (program, arguments) = server.split_first().map_or(("", [].as_slice()), |(p, a)| (p.as_str(), a));
    format!(
        "[proxy]\nname = \"bench\"\nseparator = \"/\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\n\
         [[backends]]\nname = \"bench\"\ntransport = \"stdio\"\ncommand = {program:?}\nargs = {arguments:?}\n"
    )
}

fn npm(folders: &Folders) -> Result<(), Failure> {
    let folder = folders.bench.join("gateways/npm");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let manifest = "package.json";
    fs::copy(here().join(manifest), folder.join(manifest)).map_err(|e| format!("{manifest}: {e}"))?;
    if folder.join("node_modules/mcp-proxy").is_dir() {
        return Ok(());
    }
    let mut npm = command("npm");
    npm.current_dir(&folder).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    capture(&mut npm).map(drop)
}

fn from_crates(folders: &Folders) -> Result<(), Failure> {
    let (root, build) = (folders.bench.join("gateways/crate"), folders.bench.join("gateways/build"));
    if root.join("bin/mcp-proxy").is_file() {
        return Ok(());
    }
    let mut install = command("cargo");
    install.args(["install", "mcp-proxy", "--version", CRATE, "--locked", "--no-default-features"]);
    install.args(["--features", "protocol-2026-07-28", "--root"]).arg(root).arg("--target-dir").arg(build);
    show(&mut install)
}

fn here() -> PathBuf {
    peers().join("gateways")
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_in_the_tables_are_those_that_are_installed() {
        let read = |file: &str| fs::read_to_string(peers().join(file)).unwrap();
        for (gateway, file) in [
            (Npm, "gateways/package.json"),
            (Pypi, "gateways/requirements.txt"),
            (FastMcp, "python/requirements-fastmcp-itself.txt"),
        ] {
            let version = gateway.name().split(' ').nth(1).unwrap();
            assert!(read(file).contains(version), "{gateway:?}");
        }
        assert!(Crate.name().contains(CRATE));
    }
}
