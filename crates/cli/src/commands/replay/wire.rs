//! A connection to a server that sends and receives raw lines.

use std::{io, process::Stdio, sync::Arc, time::Duration};

use couplet::{
    core::{Limits, Transport},
    proxy::Proxy,
    stdio::pipe,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines},
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    exit::{Exit, Failure},
    output::Output,
    target::{ConnectionArgs, Diagnostics, Place, Target, builder},
};

/// A line-based connection to a server.
pub(crate) struct Wire {
    lines: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    diagnostics: Arc<Diagnostics>,
    timeout: Option<Duration>,
    /// The child process, if any, and the task that reads its standard error. It is killed on drop.
    child: Option<(Child, JoinHandle<()>)>,
}

impl Wire {
    pub(crate) async fn open(target: &Target, more: &ConnectionArgs, output: &Arc<Output>) -> Result<Self, Failure> {
        let diagnostics = Arc::new(Diagnostics::new(output));
        match &target.place {
            Place::Program { words, env, cwd } => start(words, env, cwd.as_deref(), diagnostics, more),
            Place::Url { .. } => remote(target, diagnostics, more, output).await,
        }
    }

    pub(crate) async fn send(&mut self, line: &str) -> Result<(), Failure> {
        let sent = async {
            self.writer.write_all(line.as_bytes()).await?;
            self.writer.write_all(b"\n").await?;
            self.writer.flush().await
        };
        match sent.await {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(self
                .diagnostics
                .explain(Failure::new(Exit::Unreachable, format!("cannot write to the server: {error}")))),
            // A server that closed its input may still respond; if not, the next read fails.
            _ => Ok(()),
        }
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// If none arrives within the timeout, or the connection is closed.
    pub(crate) async fn next(&mut self) -> Result<String, Failure> {
        let line = match self.timeout {
            Some(limit) => timeout(limit, self.lines.next_line()).await.map_err(|_| {
                self.diagnostics
                    .explain(Failure::new(Exit::Timeout, format!("no message from the server within {limit:?}")))
            })?,
            None => self.lines.next_line().await,
        };
        match line {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(self.lost("the server closed the connection").await),
            Err(error) => Err(self.lost(&format!("cannot read from the server: {error}")).await),
        }
    }

    pub(crate) fn stray(&self, line: &str) {
        self.diagnostics.stray(line.as_bytes(), "not JSON-RPC");
    }

    async fn lost(&mut self, what: &str) -> Failure {
        /// How long to wait for the standard error of a server that is gone: its children may hold it open.
        const STDERR_TIMEOUT: Duration = Duration::from_secs(2);
        if let Some((_, errors)) = &mut self.child {
            let _ = timeout(STDERR_TIMEOUT, errors).await;
        }
        self.diagnostics.explain(Failure::new(Exit::Unreachable, what))
    }
}

fn start(
    words: &[String],
    env: &[(String, String)],
    cwd: Option<&std::path::Path>,
    diagnostics: Arc<Diagnostics>,
    more: &ConnectionArgs,
) -> Result<Wire, Failure> {
    let Some((program, args)) = words.split_first() else { return Err(Failure::usage("expected a command")) };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.envs(env.iter().map(|(key, value)| (key, value)));
    if let Some(folder) = cwd {
        command.current_dir(folder);
    }
    let mut child =
        command.spawn().map_err(|e| Failure::new(Exit::Unreachable, format!("cannot start `{program}`: {e}")))?;
    let (Some(writer), Some(reader), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Failure::new(Exit::Unreachable, format!("`{program}` has no standard streams")));
    };
    let listener = diagnostics.clone();
    let errors = tokio::spawn(async move {
        let mut lines = BufReader::new(errors).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            listener.error_line(&line);
        }
    });
    let lines = BufReader::new(Box::new(reader) as Box<dyn AsyncRead + Send + Unpin>).lines();
    Ok(Wire { lines, writer: Box::new(writer), diagnostics, timeout: more.timeout.0, child: Some((child, errors)) })
}

/// Connects to a URL through a proxy in this process.
async fn remote(
    target: &Target,
    diagnostics: Arc<Diagnostics>,
    more: &ConnectionArgs,
    output: &Arc<Output>,
) -> Result<Wire, Failure> {
    let server = target.connector(diagnostics.clone(), output)?;
    let proxy = Proxy::connect(builder(more)?, server).await;
    let proxy = proxy.map_err(|error| diagnostics.explain(error.into()))?;
    let (near, far) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(far);
    tokio::spawn(pipe(reader, writer).serve(proxy.service(), Limits::default()));
    let (reader, writer) = tokio::io::split(near);
    let lines = BufReader::new(Box::new(reader) as Box<dyn AsyncRead + Send + Unpin>).lines();
    Ok(Wire { lines, writer: Box::new(writer), diagnostics, timeout: more.timeout.0, child: None })
}
