//! A `couplet inspect` for a test.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::http::{self, Response};
use crate::{Failure, workspace};

/// How long a server may take until it is connected, on a machine that does much else.
const CONNECT: Duration = Duration::from_secs(180);

/// A running inspector. It ends when it is dropped.
pub(super) struct Inspector {
    child: Mutex<Child>,
    /// The URL of the page, with the token.
    pub(super) url: String,
    pub(super) port: u16,
    pub(super) token: String,
}

impl Inspector {
    pub(super) fn start(arguments: &[&str]) -> Result<Self, Failure> {
        Self::start_with(arguments, &[])
    }

    /// Starts it with environment variables.
    pub(super) fn start_with(arguments: &[&str], env: &[(&str, &str)]) -> Result<Self, Failure> {
        let couplet = program("couplet")?;
        let mut command = workspace::command(&couplet);
        command.envs(env.iter().copied());
        command.args(["inspect", "--no-open"]).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // For work on the page, without a build.
        if let Some(folder) = std::env::var_os("COUPLET_PAGE") {
            command.arg("--page").arg(folder);
        }
        let mut child = command.spawn().map_err(|e| format!("`{couplet}` cannot be started: {e}"))?;
        let mut url = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut url).map_err(|e| format!("`{couplet}` says nothing: {e}"))?;
        }
        let url = url.trim().to_owned();
        let parts = url.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split_once("/#token="));
        match parts.and_then(|(port, token)| Some((port.parse().ok()?, token.to_owned()))) {
            Some((port, token)) => Ok(Self { child: Mutex::new(child), url, port, token }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("`couplet inspect` printed `{url}` instead of a URL"))
            }
        }
    }

    /// Waits until the first target is connected, and tries again if it is not: some servers are slow to start.
    pub(super) fn connected(&self) -> Result<(), Failure> {
        let (host, token) = (format!("127.0.0.1:{}", self.port), format!("Bearer {}", self.token));
        let began = Instant::now();
        loop {
            let target = self.target()?;
            match target["state"].as_str() {
                Some("connected") => return Ok(()),
                _ if began.elapsed() > CONNECT => return Err(format!("the target is not connected: {target}")),
                Some("failed") => {
                    let again = format!("POST /api/targets/{}/connect", target["id"].as_str().unwrap_or_default());
                    http::send(self.port, &again, &[("Host", &host), ("Authorization", &token)], "{}")?;
                }
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The origin of the page.
    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks as the page would.
    pub(super) fn get(&self, path: &str) -> Result<Response, Failure> {
        let (host, token) = (format!("127.0.0.1:{}", self.port), format!("Bearer {}", self.token));
        http::send(self.port, &format!("GET {path}"), &[("Host", &host), ("Authorization", &token)], "")
    }

    /// The origin of the frames for views.
    pub(super) fn frames(&self) -> Result<String, Failure> {
        let config = json_of(&self.get("/config.json")?)?;
        Ok(config["frames"].as_str().unwrap_or_default().trim_end_matches('/').to_owned())
    }

    /// The first target, as the page gets it.
    pub(super) fn target(&self) -> Result<Value, Failure> {
        Ok(json_of(&self.get("/api/targets")?)?["targets"][0].take())
    }

    /// The recording so far, as a file has it.
    pub(super) fn recording(&self) -> Result<String, Failure> {
        let response = self.get("/api/export?format=jsonl")?;
        match response.status {
            200 => Ok(response.body),
            other => Err(format!("the export has the status {other}: {}", response.body)),
        }
    }

    /// All messages so far, with the direction `client-to-server` or `server-to-client`.
    pub(super) fn messages(&self) -> Result<Vec<(String, Value)>, Failure> {
        let text = self.recording()?;
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).map_err(|e| format!("{line}: {e}")));
        lines
            .map(|line| {
                line.map(|mut line| (line["direction"].as_str().unwrap_or_default().to_owned(), line["message"].take()))
            })
            .collect()
    }

    /// Kills it, as a crash would.
    pub(super) fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(|e| e.into_inner());
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(|e| e.into_inner());
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        // A signal lets it end its servers.
        let id = child.id().to_string();
        let _ = workspace::command("kill").args(["-TERM", &id]).status();
        let began = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn json_of(response: &Response) -> Result<Value, Failure> {
    serde_json::from_str(&response.body).map_err(|e| format!("status {}: {e}: {}", response.status, response.body))
}

/// Returns the path of a program of this workspace, which was built before.
pub(super) fn program(name: &str) -> Result<String, Failure> {
    let path = workspace::target()?.join("debug").join(name);
    match Path::new(&path).is_file() {
        true => Ok(path.display().to_string()),
        false => Err(format!("`{}` is not built", path.display())),
    }
}
