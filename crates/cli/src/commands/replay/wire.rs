//! Lines to and from a server, with nothing in between that would change them.

use std::{process::Stdio, sync::Arc, time::Duration};

use couplet::{
    core::{Limits, Transport},
    proxy::Proxy,
    stdio::pipe,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    exit::{Exit, Failure},
    output::Output,
    target::{ConnectionArgs, Heard, Place, Target, builder},
};

/// A server, line by line.
pub(crate) struct Wire {
    lines: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    heard: Arc<Heard>,
    patience: Option<Duration>,
    /// The program, if it is one. It ends with this.
    _child: Option<Child>,
}

impl Wire {
    pub(crate) async fn open(target: &Target, more: &ConnectionArgs, output: &Arc<Output>) -> Result<Self, Failure> {
        let heard = Arc::new(Heard::new(output));
        match &target.place {
            Place::Program { words, env, cwd } => start(words, env, cwd.as_deref(), heard, more),
            Place::Url { .. } => remote(target, heard, more, output).await,
        }
    }

    pub(crate) async fn send(&mut self, line: &str) -> Result<(), Failure> {
        let sent = async {
            self.writer.write_all(line.as_bytes()).await?;
            self.writer.write_all(b"\n").await?;
            self.writer.flush().await
        };
        sent.await.map_err(|error| self.lost(&format!("the server does not listen any more: {error}")))
    }

    /// The next line.
    ///
    /// # Errors
    /// When none comes in time, or ever.
    pub(crate) async fn next(&mut self) -> Result<String, Failure> {
        let line = match self.patience {
            Some(patience) => timeout(patience, self.lines.next_line()).await.map_err(|_| {
                self.heard.explain(Failure::new(Exit::Timeout, format!("the server said nothing for {patience:?}")))
            })?,
            None => self.lines.next_line().await,
        };
        match line {
            Ok(Some(line)) => Ok(line),
            Ok(None) => {
                // Its last words may still be on their way.
                tokio::time::sleep(Duration::from_millis(100)).await;
                Err(self.lost("the server is gone"))
            }
            Err(error) => Err(self.lost(&format!("the server cannot be understood: {error}"))),
        }
    }

    pub(crate) fn stray(&self, line: &str) {
        self.heard.stray(line.as_bytes(), "it is not JSON-RPC");
    }

    fn lost(&self, what: &str) -> Failure {
        self.heard.explain(Failure::new(Exit::Unreachable, what))
    }
}

fn start(
    words: &[String],
    env: &[(String, String)],
    cwd: Option<&std::path::Path>,
    heard: Arc<Heard>,
    more: &ConnectionArgs,
) -> Result<Wire, Failure> {
    let Some((program, args)) = words.split_first() else { return Err(Failure::usage("there is no command")) };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.envs(env.iter().map(|(key, value)| (key, value)));
    if let Some(folder) = cwd {
        command.current_dir(folder);
    }
    let mut child =
        command.spawn().map_err(|e| Failure::new(Exit::Unreachable, format!("`{program}` cannot be started: {e}")))?;
    let (Some(writer), Some(reader), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Failure::new(Exit::Unreachable, format!("`{program}` has no standard streams")));
    };
    let listener = heard.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(errors).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            listener.error_line(&line);
        }
    });
    let lines = BufReader::new(Box::new(reader) as Box<dyn AsyncRead + Send + Unpin>).lines();
    Ok(Wire { lines, writer: Box::new(writer), heard, patience: more.timeout.0, _child: Some(child) })
}

/// A server at an address is spoken to through a proxy in this process.
async fn remote(
    target: &Target,
    heard: Arc<Heard>,
    more: &ConnectionArgs,
    output: &Arc<Output>,
) -> Result<Wire, Failure> {
    let server = target.connector(heard.clone(), output)?;
    let proxy = Proxy::connect(builder(more)?, server).await;
    let proxy = proxy.map_err(|error| heard.explain(error.into()))?;
    let (near, far) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(far);
    tokio::spawn(pipe(reader, writer).serve(proxy.service(), Limits::default()));
    let (reader, writer) = tokio::io::split(near);
    let lines = BufReader::new(Box::new(reader) as Box<dyn AsyncRead + Send + Unpin>).lines();
    Ok(Wire { lines, writer: Box::new(writer), heard, patience: more.timeout.0, _child: None })
}
