//! A server that is started as a child process.

use std::{
    ffi::OsStr,
    fmt, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, ClientConnection, Connect, Connected, Error, ErrorKind, Inbound, Limits, pump::Pump};

use crate::{
    child::Process,
    drive::Running,
    leash::Leash,
    stderr::{Capture, Listener, Stderr, Tail},
    streams::{LineStream, Tap},
};

/// The direction of a message, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Sent,
    /// From the server.
    Received,
}

/// A program that is started as a server when a client connects. Each connection starts it again.
///
/// The program is started directly, never through a shell, and inherits the environment of this process; use
/// [`Command::env_clear`] when it must not see what is in there. On Unix it leads a process group of its own, so a
/// Ctrl-C at the terminal does not reach it: it ends because the client does.
///
/// The connection ends when the client closes it or lets go of the channel, or when the program exits. The program's
/// input is closed first; if it is still there after a [grace period](Command::grace) it gets `SIGTERM`, and two
/// seconds later `SIGKILL`, together with every process it has started and that is in its
/// process group. If the driver of the connection is dropped, all of them are killed at once.
///
/// None of this happens when this process ends without returning from `main`: by a signal that is not handled, by
/// [`std::process::exit`], or by `SIGKILL`. A program then closes its connections itself, calls [`children::stop`](crate::children::stop) or
/// [`children::kill`](crate::children::kill), or has called [`children::guard`](crate::children::guard) at its start. (A server that reads its input ends by itself.)
///
/// Connecting needs a tokio runtime with its I/O and its time enabled.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use couplet_core::{Connect, Connected, Error, Inbound, Limits};
/// use couplet_stdio::Command;
///
/// async fn connect(inbound: Arc<dyn Inbound>) -> Result<Connected, Error> {
///     let mut files = Command::new("mcp-server-files")
///         .arg("--read-only")
///         .env("FILES_ROOT", "/srv/files")
///         .on_stderr(|line| tracing::warn!("files: {line}"))
///         .grace(Duration::from_secs(5));
///     files.connect(inbound, Limits::default()).await
/// }
/// ```
pub struct Command {
    inner: tokio::process::Command,
    directory: Option<PathBuf>,
    name: String,
    stderr: Stderr,
    listener: Option<Listener>,
    messages: Option<Tap>,
    tail: Tail,
    grace: Duration,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "processes cannot be found by their environment"))]
    contained: bool,
}

impl Command {
    /// Creates a command for a program: a path, or a name that is looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let mut inner = tokio::process::Command::new(program);
        inner.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        inner.process_group(0);
        Self {
            inner,
            directory: None,
            name: Path::new(program).file_stem().unwrap_or(program).to_string_lossy().into_owned(),
            stderr: Stderr::default(),
            listener: None,
            messages: None,
            tail: Tail::default(),
            grace: Duration::from_secs(2),
            contained: false,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.inner.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.inner.args(args);
        self
    }

    /// Sets a variable in the program's environment.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.inner.env(key, value);
        self
    }

    /// Starts from an empty environment instead of the one of this process, and removes variables that were set before.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inner.env_clear();
        self
    }

    /// Sets the directory to start the program in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.inner.current_dir(&directory);
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets the name of the server in logs and errors; the default is the file name of the program.
    #[must_use]
    pub fn name(mut self, tag: impl Into<String>) -> Self {
        self.name = tag.into();
        self
    }

    /// Sets the destination of the program's standard error; the default is [`Stderr::Capture`].
    ///
    /// Captured lines go to `tracing` at the debug level, with the server's name in the field `server`.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Sets a callback for the lines that the program writes to its standard error, while that is captured. It must
    /// not block.
    ///
    /// It is called for at most 1,000 lines a second, with at most 8 KiB of each, and then with the number of lines that
    /// were left out. A line on standard error is not a sign of failure: servers log there.
    #[must_use]
    pub fn on_stderr(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(callback));
        self
    }

    /// Sets a callback for each message as it is on the wire: a line, without its end. It must not block.
    ///
    /// A message that is sent is passed before it is written. A line of the server is passed whether or not it is a valid
    /// message, unless it is longer than [`Limits::message`].
    #[must_use]
    pub fn on_message(mut self, callback: impl Fn(Direction, &Bytes) + Send + Sync + 'static) -> Self {
        self.messages = Some(Arc::new(callback));
        self
    }

    /// Sets the time that the program has to end after its input was closed; the default is two seconds.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Ends also the processes that have left the program's process group, such as daemons, when the program ends. Without
    /// it they stay, because some are meant to.
    ///
    /// They are found by the variable `COUPLET_CHILD`, which is added to the environment of the program; a process that
    /// removes it is not found. Linux only: elsewhere nothing is done.
    #[must_use]
    pub fn contain(mut self) -> Self {
        self.contained = true;
        self
    }

    /// Returns the end of the captured standard error: at most 64 KiB, since the last start.
    pub fn stderr_text(&self) -> String {
        self.tail.text()
    }

    /// Returns a function that returns the [end of the captured standard error](Command::stderr_text), for when a client
    /// owns the command.
    pub fn stderr_tail(&self) -> impl Fn() -> String + Send + Sync + 'static + use<> {
        let tail = self.tail.clone();
        move || tail.text()
    }

    fn spawn(&mut self) -> Result<tokio::process::Child, Error> {
        self.tail.clear();
        self.inner.stderr(match self.stderr {
            Stderr::Capture => Stdio::piped(),
            Stderr::Inherit => Stdio::inherit(),
            Stderr::Discard => Stdio::null(),
        });
        self.inner.spawn().map_err(|error| self.not_started(error))
    }

    /// Marks the next start, if what it leaves behind has to be found.
    fn mark(&mut self) -> Option<String> {
        #[cfg(target_os = "linux")]
        if self.contained {
            let mark = crate::strays::mark();
            self.inner.env(crate::strays::VARIABLE, &mark);
            return Some(mark);
        }
        None
    }

    fn not_started(&self, error: io::Error) -> Error {
        let name = &self.name;
        let program = self.inner.as_std().get_program().to_string_lossy();
        // The system reports a missing directory as if the program were missing.
        let reason = match (&self.directory, error.kind()) {
            (Some(directory), _) if !directory.is_dir() => {
                format!("there is no directory `{}` to start it in", directory.display())
            }
            (_, io::ErrorKind::NotFound) => {
                format!(
                    "the program `{program}` was not found; is it installed, and in `PATH` or given by its full path?"
                )
            }
            (_, io::ErrorKind::PermissionDenied) => {
                format!("the program `{program}` may not be run; is it an executable file?")
            }
            _ => format!("the program `{program}` could not be run: {error}"),
        };
        Error::new(ErrorKind::Transport, format!("cannot start the server `{name}`: {reason}")).with_source(error)
    }
}

/// Lets a server write a large message in fewer turns. The system may refuse it: then there are more.
#[cfg(target_os = "linux")]
fn widen(output: &tokio::process::ChildStdout) {
    /// Four times the usual. The system counts the pipes of a user: many servers must not use all that there is.
    const ROOM: usize = 256 << 10;
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(output, ROOM) {
        tracing::debug!(%error, "the pipe of a server stays as it is");
    }
}

#[cfg(not(target_os = "linux"))]
fn widen(_: &tokio::process::ChildStdout) {}

impl Connect for Command {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let mark = self.mark();
            let mut child = self.spawn()?;
            let stdin = child.stdin.take().expect("it was asked to be a pipe");
            let stdout = child.stdout.take().expect("it was asked to be a pipe");
            widen(&stdout);
            let stderr = Capture::new(child.stderr.take(), self.name.clone(), self.listener.clone(), self.tail.clone());
            let stream =
                LineStream::new(Box::new(stdout), Box::new(stdin), limits.message).tapped(self.messages.clone());
            let (connection, handle) = ClientConnection::new(inbound, limits);
            let (channel, closing) = Leash::new(handle.with_transport(Some("pipe")));
            let server = Running {
                process: Process::new(child, self.grace, mark, &channel),
                pump: Pump::new(connection, stream),
                closing,
                grace: self.grace,
            };
            Ok(Connected { channel, driver: Box::pin(server.drive(stderr)) })
        })
    }
}

impl fmt::Debug for Command {
    /// Arguments and variables are left out: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("name", &self.name)
            .field("program", &self.inner.as_std().get_program())
            .finish_non_exhaustive()
    }
}
