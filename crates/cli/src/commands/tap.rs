//! `couplet tap`: records the messages between a host and a server on stdio. Bytes are forwarded unchanged.
//!
//! Two threads copy, one per direction, and a third waits for signals. If the recording cannot be written, bytes are
//! still forwarded.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{self, RecvTimeoutError, SyncSender},
    },
    thread,
    time::Duration,
};

use couplet::{
    core::{clock::unix_time, sync::lock},
    stdio::children,
};
use couplet_inspector::recording::entry;
use couplet_serve::Signals;

use crate::{
    commands::replay::recording::{Direction, Lines},
    exit::{Exit, Failure},
    output::Output,
};

/// The arguments of `couplet tap`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// File to append the recording to; it is created readable by its owner only
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// Command of the server, with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// How long to wait for the server to exit after a signal.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How long to wait for the server to exit after it closed its standard output.
const BY_ITSELF: Duration = Duration::from_secs(10);

/// An event of the copying threads.
enum Event {
    /// The server wrote something.
    Said,
    /// The host closed standard input.
    InputEnded,
    /// The server closed its standard output, or ours is closed.
    OutputEnded,
    /// A signal was received.
    Signal(Exit),
}

/// A function that receives each line before it is passed on.
pub(crate) type Lookout = Arc<dyn Fn(Direction, &[u8]) + Send + Sync>;
/// A function that receives each line of standard error.
type ErrorLookout = Box<dyn Fn(&[u8]) + Send + Sync>;

/// The standard error of the server.
pub(crate) enum Errors {
    /// It is that of this process.
    Inherited,
    /// It is passed on, and the function receives each line.
    Reported(ErrorLookout),
}

pub(crate) fn run(args: &Args, output: &Arc<Output>) -> Result<(), Failure> {
    let log = open(&args.log).map_err(|e| Failure::file(&args.log, "written", &e))?;
    let log = Log { file: Mutex::new(Some(log)), session: session(), output: output.clone() };
    match pass(&args.command, Arc::new(move |direction, line| log.write(direction, line)), Errors::Inherited)? {
        0 => Ok(()),
        code => std::process::exit(code),
    }
}

/// Starts a server, and passes bytes between this process and it until one of them ends. Returns the exit
/// code of the server.
pub(crate) fn pass(command: &[String], log: Lookout, errors: Errors) -> Result<i32, Failure> {
    let (sender, events) = mpsc::sync_channel(64);
    watch_signals(sender.clone())?;
    // Otherwise the server would outlive this process if that is killed.
    let _ = children::guard();
    let mut child = start(&words(command)?, &errors)?;
    let complaints = match (child.stderr.take(), errors) {
        (Some(from), Errors::Reported(log)) => Some(thread::spawn(move || copy_errors(from, log))),
        _ => None,
    };
    let _watched = children::watch(child.id());
    let to_server = Arc::new(Mutex::new(child.stdin.take()));
    let from_server = child.stdout.take();
    let (up, down, input) = (log.clone(), sender.clone(), to_server.clone());
    // Not joined: a read of standard input cannot be cancelled.
    thread::spawn(move || {
        copy(io::stdin().lock(), Server(&input), Direction::Out, &up, || {});
        lock(&input).take();
        let _ = sender.send(Event::InputEnded);
    });
    thread::spawn(move || {
        if let Some(server) = from_server {
            copy(server, io::stdout().lock(), Direction::In, &log, || drop(down.try_send(Event::Said)));
        }
        let _ = down.send(Event::OutputEnded);
    });
    let signal = follow(&events);
    // Closes the server's input, unless a write to it is blocked.
    if let Ok(mut server) = to_server.try_lock() {
        server.take();
    }
    let status = stop(&mut child, if signal.is_some() { AT_ONCE } else { BY_ITSELF })?;
    // Its last words; a process that it left behind may hold the pipe open.
    if let Some(complaints) = complaints {
        finish(&complaints);
    }
    match (signal, status.code()) {
        (Some(exit), _) => Err(Failure::silent(exit)),
        (None, Some(code)) => Ok(code),
        (None, None) => Err(Failure::new(Exit::Unreachable, format!("the server exited: {status}"))),
    }
}

/// Waits until copying is over: at a signal, at the end of the server's output, or when the server writes nothing for a
/// while after its input was closed.
fn follow(events: &mpsc::Receiver<Event>) -> Option<Exit> {
    /// The idle timeout of the server's output once its input is closed; running calls may still respond.
    const SILENCE: Duration = Duration::from_secs(60);
    let mut input_ended = false;
    loop {
        let next = match input_ended {
            true => events.recv_timeout(SILENCE),
            false => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(Event::Said) => {}
            Ok(Event::InputEnded) => input_ended = true,
            Ok(Event::OutputEnded) | Err(_) => return None,
            Ok(Event::Signal(exit)) => return Some(exit),
        }
    }
}

/// Opens the recording, readable by its owner only: it may contain secrets.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Splits a command that was given as one argument, as other subcommands take it.
fn words(command: &[String]) -> Result<Vec<String>, Failure> {
    match command {
        [one] if one.contains(char::is_whitespace) && !Path::new(one).exists() => shlex::split(one)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| Failure::usage(format!("cannot split the command `{one}` into words"))),
        words => Ok(words.to_vec()),
    }
}

fn start(command: &[String], errors: &Errors) -> Result<Child, Failure> {
    let Some((program, args)) = command.split_first() else { return Err(Failure::usage("expected a command")) };
    let mut command = Command::new(program);
    // A process group of its own, so that child processes can be stopped with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stderr(match errors {
        Errors::Inherited => Stdio::inherit(),
        Errors::Reported(_) => Stdio::piped(),
    });
    let started = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    started.map_err(|e| Failure::new(Exit::Unreachable, format!("cannot start `{program}`: {e}")))
}

/// Sends signals to the channel, from a thread with its own runtime.
fn watch_signals(sender: SyncSender<Event>) -> Result<(), Failure> {
    let cannot = |e: io::Error| Failure::new(Exit::File, format!("cannot listen for signals: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(cannot)?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new().map_err(cannot)?
    };
    thread::spawn(move || {
        runtime.block_on(async { while sender.send(Event::Signal(signals.next().await.into())).is_ok() {} });
    });
    Ok(())
}

/// Stops the server, whose input is closed, and its child processes: waits, sends SIGTERM, waits, sends SIGKILL.
fn stop(child: &mut Child, grace: Duration) -> Result<std::process::ExitStatus, Failure> {
    const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);
    let lost = |e: io::Error| Failure::new(Exit::Unreachable, format!("cannot wait for the server: {e}"));
    if let Some(status) = wait(child, grace).map_err(lost)? {
        return Ok(status);
    }
    group::terminate(child);
    if let Some(status) = wait(child, TERMINATE_TIMEOUT).map_err(lost)? {
        return Ok(status);
    }
    group::kill(child);
    child.wait().map_err(lost)
}

/// Waits for the server to exit, up to a timeout.
fn wait(child: &mut Child, time: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    let mut left = time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if left.is_zero() {
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
        left = left.saturating_sub(POLL_INTERVAL);
    }
}

#[cfg(unix)]
mod group {
    use std::process::Child;

    use rustix::process::{Pid, Signal, kill_process_group};

    pub(super) fn terminate(child: &Child) {
        signal(child, Signal::TERM);
    }

    pub(super) fn kill(child: &Child) {
        signal(child, Signal::KILL);
    }

    fn signal(child: &Child, signal: Signal) {
        // Fails if the process is gone already.
        if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(id, signal);
        }
    }
}

#[cfg(not(unix))]
mod group {
    use std::process::Child;

    pub(super) fn terminate(_: &Child) {}

    pub(super) fn kill(child: &mut Child) {
        let _ = child.kill();
    }
}

/// Creates a random id for this session of the recording.
fn session() -> String {
    let mut random = [0; 8];
    let _ = getrandom::fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The server's standard input, until it is closed.
struct Server<'a>(&'a Mutex<Option<ChildStdin>>);

impl Write for Server<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *lock(self.0) {
            Some(server) => server.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records the lines of a stream, then forwards it. In this order, so that a response is recorded after its request.
fn copy(mut from: impl Read, mut to: impl Write, direction: Direction, log: &Lookout, mut said: impl FnMut()) {
    let mut buffer = vec![0; 64 << 10];
    let mut lines = Lines::default();
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        said();
        lines.take(&buffer[..count], &mut |line| log(direction, line));
        // The other side is gone.
        if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
    lines.end(&mut |line| log(direction, line));
}

/// Passes standard error on, and reports its lines.
fn copy_errors(from: impl Read, log: ErrorLookout) {
    let lines: Lookout = Arc::new(move |_, line| log(line));
    copy(from, io::stderr(), Direction::In, &lines, || {});
}

/// Waits until a thread has ended, up to a timeout.
fn finish(thread: &thread::JoinHandle<()>) {
    const POLL_INTERVAL: Duration = Duration::from_millis(5);
    let mut left = AT_ONCE;
    while !thread.is_finished() && !left.is_zero() {
        thread::sleep(POLL_INTERVAL);
        left = left.saturating_sub(POLL_INTERVAL);
    }
}

struct Log {
    /// `None` after a write failed.
    file: Mutex<Option<File>>,
    session: String,
    output: Arc<Output>,
}

impl Log {
    fn write(&self, direction: Direction, line: &[u8]) {
        let mut file = lock(&self.file);
        let Some(open) = file.as_mut() else { return };
        let mut text = entry(unix_time(), direction, &self.session, line);
        text.push('\n');
        if let Err(error) = open.write_all(text.as_bytes()) {
            self.output.warn(&format!("recording stopped: {error}"));
            *file = None;
        }
    }
}
