//! A `couplet inspect` for a test.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use crate::{Failure, workspace};

/// A running inspector. It ends when it is dropped.
pub(super) struct Inspector {
    child: Child,
    /// The URL of the page, with the token.
    pub(super) url: String,
}

impl Inspector {
    pub(super) fn start(targets: &[&str]) -> Result<Self, Failure> {
        let couplet = program("couplet")?;
        let mut command = workspace::command(&couplet);
        command.args(["inspect", "--no-open"]).args(targets).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("`{couplet}` cannot be started: {e}"))?;
        let mut url = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut url).map_err(|e| format!("`{couplet}` says nothing: {e}"))?;
        }
        let url = url.trim().to_owned();
        match url.starts_with("http://127.0.0.1:") {
            true => Ok(Self { child, url }),
            false => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("`couplet inspect` printed `{url}` instead of a URL"))
            }
        }
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        // A signal lets it end its servers.
        let id = self.child.id().to_string();
        let _ = workspace::command("kill").args(["-TERM", &id]).status();
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of a program of this workspace, which was built before.
pub(super) fn program(name: &str) -> Result<String, Failure> {
    let path = workspace::target()?.join("debug").join(name);
    match Path::new(&path).is_file() {
        true => Ok(path.display().to_string()),
        false => Err(format!("`{}` is not built", path.display())),
    }
}
