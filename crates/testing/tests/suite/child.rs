//! The fixture as a child process.

use std::{path::PathBuf, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// How long anything may take that is over in no time unless something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Where the fixture is: cargo builds the examples together with the tests, next to them.
///
/// # Panics
/// When it was not built.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let target = test.ancestors().nth(2).expect("a test is in `deps`");
    let program = target.join("examples").join(format!("fixture{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "`{}` is not built: run `cargo test -p couplet-testing` or `cargo build -p couplet-testing --example fixture`",
        program.display()
    );
    program
}

/// A child that is spoken to in plain bytes.
pub(crate) struct Raw {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the fixture starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, input, output }
    }

    /// Writes bytes as they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        timeout(PATIENCE, input.write_all(bytes)).await.expect("the child reads").expect("the child is there");
    }

    /// The input, to be written to while the output is read.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.input.take().expect("the input is open")
    }

    /// The next message; `None` when the output has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.output.next_line()).await.expect("the child says something");
        line.expect("the output is text").map(|line| serde_json::from_str(&line).expect("a line is JSON"))
    }

    /// Closes the input and waits for the end: nothing more is said, and the child exits well.
    pub(crate) async fn finish(mut self) {
        self.input = None;
        assert_eq!(self.next().await, None, "nothing is left to say");
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the child ends").expect("it was started");
        assert!(status.success(), "{status}");
    }
}
