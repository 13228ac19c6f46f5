//! Programs that a test starts, measures and kills: this test binary once more, in a role.
//!
//! They end when the test does, because they read their standard input and it ends then.

#![allow(dead_code, reason = "each of the test binaries needs a part of it")]

pub(crate) mod child;
pub(crate) mod http;
pub(crate) mod memory;
mod roles;
#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;

use std::{fmt::Display, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// How long anything may take that is over in no time unless something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A child process.
pub(crate) struct Peer {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    /// Where it listens, if it is a server.
    pub(crate) address: String,
}

impl Peer {
    /// A server, within these limits.
    pub(crate) async fn server(settings: &[(&str, &dyn Display)]) -> Self {
        let mut peer = Self::start("server", settings);
        peer.address = peer.says("ready").await;
        peer
    }

    /// A program in another role.
    pub(crate) fn start(role: &str, settings: &[(&str, &dyn Display)]) -> Self {
        memory::raise_open_files();
        let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut child = Command::new(std::env::current_exe().expect("a test knows where it is"))
            .args(["--exact", "peer::a_peer_starts_and_ends", "--nocapture", "--test-threads=2"])
            .env(child::ROLE, role)
            .env(child::SETTINGS, settings.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the test can be started once more");
        let output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, output, address: String::new() }
    }

    /// Waits for a word that the program says, and returns what follows it.
    pub(crate) async fn says(&mut self, word: &str) -> String {
        loop {
            let line = timeout(PATIENCE, self.output.next_line()).await.expect("it says something in time");
            let line = line.expect("it can be heard").unwrap_or_else(|| panic!("it ended before it said `{word}`"));
            let Some(said) = line.strip_prefix(child::MARK) else { continue };
            match said.split_once(' ') {
                Some((said, rest)) if said == word => return rest.to_owned(),
                _ => panic!("it said `{said}` and not `{word}`"),
            }
        }
    }

    /// What it has in memory, in kB; nothing where that cannot be known.
    pub(crate) fn memory(&self) -> Option<u64> {
        memory::of(self.child.id()?, "VmRSS")
    }

    /// The most that it ever had in memory, in kB.
    pub(crate) fn peak(&self) -> Option<u64> {
        memory::of(self.child.id()?, "VmHWM")
    }

    /// Kills it, in the middle of whatever it does.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("it can be killed");
    }
}

#[test]
fn a_peer_starts_and_ends() {
    if let Some(role) = std::env::var_os(child::ROLE) {
        return child::run(&role.to_string_lossy());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut peer = Peer::server(&[]).await;
        assert_eq!(http::Http::connect(&peer.address).await.tool("hello").await, "Hello!");
        drop(peer.child.stdin.take());
        let status = timeout(PATIENCE, peer.child.wait()).await.expect("it ends with its input").unwrap();
        assert!(status.success());
    });
}
