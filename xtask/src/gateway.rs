//! The gateway as its users start it: a configuration file, and `couplet gateway`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Map, Value, json};

use crate::{Failure, workspace::command};

/// A server behind the gateway.
#[derive(Clone, Debug)]
pub(crate) enum Upstream {
    /// A program that the gateway starts, and its arguments.
    Command(Vec<String>),
    /// The address of a server that listens.
    Url(String),
    /// The same, with the only revision that the gateway uses with it.
    UrlIn(String, &'static str),
    /// The address in HTTP/2, in which all requests share a connection, and the only revision if there is one.
    UrlInHttp2(String, Option<&'static str>),
}

impl Upstream {
    fn entry(&self) -> Value {
        match self {
            Self::Command(words) => {
                let (program, arguments) = words.split_first().map_or(("", [].as_slice()), |(p, a)| (p.as_str(), a));
                json!({ "command": program, "args": arguments })
            }
            Self::Url(url) => json!({ "url": url }),
            Self::UrlIn(url, revision) => json!({ "url": url, "revision": revision }),
            Self::UrlInHttp2(url, None) => json!({ "url": url, "http2": true }),
            Self::UrlInHttp2(url, Some(revision)) => json!({ "url": url, "http2": true, "revision": revision }),
        }
    }
}

/// How the gateway names what its servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// As the servers do.
    Bare,
    /// With the name of the server in front.
    Prefixed,
}

/// Whether definitions that appear or change while the gateway runs are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pins {
    On,
    Off,
    /// On, with a policy that allows all calls of the benchmark, and with an audit log.
    Audited,
}

/// Writes the configuration of a gateway into a folder of its own, without what an earlier gateway left there.
pub(crate) fn configure(
    folder: &Path,
    servers: &[(&str, Upstream)],
    names: Names,
    pins: Pins,
) -> Result<PathBuf, Failure> {
    let _ = fs::remove_dir_all(folder);
    let path = folder.join("gateway.json");
    let text = format!("{:#}\n", config(servers, names, pins));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
    written.map(|()| path.clone()).map_err(|e| format!("{}: {e}", path.display()))
}

fn config(servers: &[(&str, Upstream)], names: Names, pins: Pins) -> Value {
    let entry = |server: &Upstream| {
        let mut entry = server.entry();
        if pins == Pins::Off {
            entry["pin"] = json!(false);
        }
        entry
    };
    let entries: Map<String, Value> = servers.iter().map(|(id, server)| ((*id).to_owned(), entry(server))).collect();
    let mut config = json!({ "mcpServers": entries, "listen": { "auth": "none" } });
    if names == Names::Bare {
        config["names"] = json!("bare");
    }
    if pins == Pins::Audited {
        config["policy"] =
            json!([{ "deny": { "tool": "*/delete_*" } }, { "deny": { "flow": "trifecta" } }, { "allow": {} }]);
        config["audit"] = json!({ "file": "audit.jsonl" });
    }
    config
}

/// The words after `couplet` for a gateway on a port of this machine.
pub(crate) fn listening(config: &Path, port: &str) -> Vec<String> {
    ["gateway", &config.to_string_lossy(), "--http", &format!("127.0.0.1:{port}")].map(str::to_owned).to_vec()
}

/// A gateway on a port of this machine. Its state is beside its configuration.
pub(crate) fn serve(couplet: &Path, config: &Path, port: &str) -> Command {
    let mut gateway = command(&couplet.to_string_lossy());
    gateway.args(listening(config, port));
    with_state(&mut gateway, config);
    gateway
}

/// Stores the state of a program beside a configuration.
pub(crate) fn with_state(program: &mut Command, config: &Path) {
    let state = config.with_file_name("state");
    program.env("XDG_STATE_HOME", &state).env("XDG_RUNTIME_DIR", &state).env("NO_COLOR", "1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_that_of_a_host_and_little_more() {
        let words = ["server", "--stdio"].map(str::to_owned).to_vec();
        let servers =
            [("files", Upstream::Command(words)), ("far", Upstream::Url("http://127.0.0.1:1/mcp".to_owned()))];
        let expected = json!({
            "mcpServers": {
                "files": { "command": "server", "args": ["--stdio"] },
                "far": { "url": "http://127.0.0.1:1/mcp" },
            },
            "names": "bare",
            "listen": { "auth": "none" },
        });
        assert_eq!(config(&servers, Names::Bare, Pins::On), expected);
        assert_eq!(config(&servers, Names::Prefixed, Pins::On)["names"], Value::Null);
        assert_eq!(config(&servers, Names::Bare, Pins::Off)["mcpServers"]["far"]["pin"], json!(false));
        assert_eq!(config(&servers, Names::Bare, Pins::Audited)["audit"], json!({ "file": "audit.jsonl" }));
    }
}
