//! A process of this program that plays a role: one line in, one line out.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// The variable that names the role.
pub(crate) const ROLE: &str = "COUPLET_STORY_ROLE";
/// The variable with what it has to know, one on each line.
pub(crate) const SETTINGS: &str = "COUPLET_STORY_SETTINGS";
/// What every line for the test begins with; the test harness has others.
pub(crate) const MARK: &str = "@story ";

/// A child. It ends when this is dropped.
pub(crate) struct Process {
    _child: Child,
    say: ChildStdin,
    hear: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(role: &str, settings: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(SETTINGS, settings.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (say, hear) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { _child: child, say, hear: BufReader::new(hear).lines() }
    }

    /// The next thing that it says.
    pub(crate) async fn heard(&mut self) -> String {
        let hearing = async {
            while let Some(line) = self.hear.next_line().await.unwrap() {
                if let Some(said) = line.strip_prefix(MARK) {
                    return said.to_owned();
                }
            }
            panic!("the process has ended");
        };
        tokio::time::timeout(Duration::from_secs(60), hearing).await.expect("an answer in time")
    }

    /// Tells it to do something, and hears how it went.
    pub(crate) async fn ask(&mut self, what: &str) -> String {
        self.say.write_all(format!("{what}\n").as_bytes()).await.unwrap();
        self.heard().await
    }
}
