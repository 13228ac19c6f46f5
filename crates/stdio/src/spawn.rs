//! A server that is started as a child process.

use std::{
    ffi::OsStr,
    fmt,
    future::{Future, poll_fn},
    io,
    path::{Path, PathBuf},
    pin::pin,
    process::{ExitStatus, Stdio},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::BytesMut;
use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits, Link};
use tokio::time::timeout;

use crate::{
    child::{Exit, Process},
    leash::{Closing, Leash},
    pipe::lost,
    pump::{End, Pump},
    stderr::{Capture, Listener, Stderr, Tail},
};

/// A program to start as a server, and to connect a client to. Each connection starts it again.
///
/// The program is started directly, never through a shell, and inherits the environment of this process; use
/// [`Command::env_clear`] when it must not see what is in there. On Unix it leads a process group of its own, so a
/// Ctrl-C at the terminal does not reach it: it ends because the client does.
///
/// The connection ends when the client closes it or lets go of the channel, or when the program exits. The program's
/// input is closed first; if it is still there after a [grace period](Command::grace) it is told to end (`SIGTERM`),
/// and two seconds later it is killed (`SIGKILL`), together with every process it has started and that is in its
/// process group. If the driver of the connection is dropped, all of them are killed at once.
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
    tail: Tail,
    grace: Duration,
}

impl Command {
    /// A program: a path, or a name that is looked up in `PATH`.
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
            tail: Tail::default(),
            grace: Duration::from_secs(2),
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

    /// Starts from an empty environment instead of the one of this process, and forgets what was set until now.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inner.env_clear();
        self
    }

    /// The directory to start the program in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.inner.current_dir(&directory);
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// What the server is called in logs and errors; the file name of the program unless told otherwise.
    #[must_use]
    pub fn name(mut self, tag: impl Into<String>) -> Self {
        self.name = tag.into();
        self
    }

    /// What happens to the program's standard error; it is captured unless told otherwise.
    ///
    /// Captured lines go to `tracing` at the debug level, with the server's name in the field `server`.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Hears of each line that the program writes to its standard error, while that is captured. It must not block.
    ///
    /// A line on standard error is not a sign of failure: servers log there.
    #[must_use]
    pub fn on_stderr(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(callback));
        self
    }

    /// How long the program may take to end after its input was closed: two seconds unless told otherwise.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// What the program last wrote to its captured standard error: at most 64 KiB, from this start only.
    pub fn stderr_text(&self) -> String {
        self.tail.text()
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

impl Connect for Command {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let mut child = self.spawn()?;
            let stdin = child.stdin.take().expect("it was asked to be a pipe");
            let stdout = child.stdout.take().expect("it was asked to be a pipe");
            let stderr = Capture {
                pipe: child.stderr.take(),
                server: self.name.clone(),
                listener: self.listener.clone(),
                tail: self.tail.clone(),
                buffer: BytesMut::new(),
            };
            let longest = limits.message;
            let (link, handle) = Link::new(inbound, limits);
            let (channel, closing) = Leash::new(handle);
            let server = Running {
                process: Process::new(child, self.grace),
                pump: Pump::new(link, Box::new(stdout), Box::new(stdin), longest),
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

/// A server that runs, with a client connected to it.
struct Running {
    process: Process,
    pump: Pump<Link>,
    closing: Closing,
    grace: Duration,
}

/// What ended the connection.
enum Cause {
    Client,
    Server,
    Failure(Error),
}

impl Running {
    /// After the end of the program its last words are in the pipe already, unless somebody else holds it open.
    const LAST_WORDS: Duration = Duration::from_millis(200);

    async fn drive(mut self, mut stderr: Capture) -> Result<(), Error> {
        let (cause, exit) = match race(self.live(), stderr.keep_listening()).await {
            First(end) => end,
            Second(never) => match never {},
        };
        let _ = timeout(Self::LAST_WORDS, stderr.listen()).await;
        let result = verdict(cause, &exit, &stderr);
        let why = result.as_ref().err().map_or_else(|| "the connection was closed".to_owned(), ToString::to_string);
        tracing::debug!(server = %stderr.server, ?exit, "{why}");
        self.pump.machine.end_input(&why);
        result
    }

    /// From the first message to the end of the process.
    async fn live(&mut self) -> (Cause, Exit) {
        let cause = self.talk().await;
        if !matches!(cause, Cause::Client) {
            // What the server said before it was gone still counts.
            let _ = timeout(self.grace, self.pump.read_rest()).await;
        }
        self.pump.close_output();
        // A server that cannot get rid of its output might not end.
        match race(self.process.stop(), self.pump.discard()).await {
            First(exit) => (cause, exit),
            Second(never) => match never {},
        }
    }

    async fn talk(&mut self) -> Cause {
        let end = match race(self.pump.run(), race(self.process.ended(), self.closing.closed())).await {
            First(end) => end,
            Second(First(())) => return Cause::Server,
            // What was sent is still delivered, if the server takes it.
            Second(Second(())) => timeout(self.grace, self.pump.run()).await.unwrap_or(End::Done),
        };
        match end {
            End::Done => Cause::Client,
            // Whoever hangs up does not mind that the other side did too.
            _ if self.closing.is_closed() => Cause::Client,
            End::Eof => Cause::Server,
            End::Read(error) => Cause::Failure(lost("cannot read from the server", error)),
            End::Write(error) => Cause::Failure(lost("cannot write to the server", error)),
        }
    }
}

/// What the client is told: how the server ended if it did so by itself, and what went wrong otherwise.
fn verdict(cause: Cause, exit: &Exit, stderr: &Capture) -> Result<(), Error> {
    let name = &stderr.server;
    let what = match (&cause, exit) {
        (Cause::Client, _) => return Ok(()),
        (_, Exit::Itself(status)) => format!("the server `{name}` {}", describe(*status)),
        (Cause::Server, Exit::Forced) => format!("the server `{name}` closed its standard output"),
        (Cause::Failure(error), Exit::Forced) => format!("lost the server `{name}`: {error}"),
    };
    let what = match stderr.tail.last_words() {
        Some(words) => format!("{what}; its last words: {words}"),
        None => what,
    };
    Err(match cause {
        Cause::Failure(error) => Error::new(error.kind(), what).with_source(error),
        Cause::Client | Cause::Server => Error::new(ErrorKind::Closed, what),
    })
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was killed by signal {signal}");
    }
    status.code().map_or_else(|| format!("ended: {status}"), |code| format!("exited with status {code}"))
}

use Either::{First, Second};

enum Either<A, B> {
    First(A),
    Second(B),
}

/// Whichever ends first. The other one is dropped, so it must not mind.
async fn race<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|cx| {
        if let Poll::Ready(output) = a.as_mut().poll(cx) {
            return Poll::Ready(First(output));
        }
        b.as_mut().poll(cx).map(Second)
    })
    .await
}
