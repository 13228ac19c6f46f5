//! `couplet tap`: between a host and a server on stdio. Bytes go through as they are; messages are written down.
//!
//! Two threads copy, each in its direction, and no runtime is needed. What cannot be written down goes through all the
//! same.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crate::{
    commands::replay::recording::{Direction, Lines, entry},
    exit::{Exit, Failure},
    output::Output,
};

/// What to sit in front of.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file to write to; what is in it stays
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// The server, with its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &Arc<Output>) -> Result<(), Failure> {
    let log = OpenOptions::new().append(true).create(true).open(&args.log);
    let log = log.map_err(|e| Failure::file(&args.log, "written", &e))?;
    let log = Arc::new(Log { file: Mutex::new(Some(log)), session: session(), output: output.clone() });
    let mut child = start(&args.command)?;
    let (to_server, from_server) = (child.stdin.take(), child.stdout.take());
    let up = log.clone();
    // It is not waited for: a read of standard input cannot be taken back.
    thread::spawn(move || {
        if let Some(server) = to_server {
            copy(io::stdin().lock(), server, Direction::ClientToServer, &up);
        }
    });
    if let Some(server) = from_server {
        copy(server, io::stdout().lock(), Direction::ServerToClient, &log);
    }
    let status = child.wait().map_err(|e| Failure::new(Exit::Unreachable, format!("the server is lost: {e}")))?;
    match status.code() {
        Some(0) => Ok(()),
        // Whoever started us should see what they would have seen without us.
        Some(code) => std::process::exit(code),
        None => Err(Failure::new(Exit::Unreachable, format!("the server ended: {status}"))),
    }
}

fn start(command: &[String]) -> Result<Child, Failure> {
    let Some((program, args)) = command.split_first() else { return Err(Failure::usage("there is no command")) };
    let started = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    started.map_err(|e| Failure::new(Exit::Unreachable, format!("`{program}` cannot be started: {e}")))
}

/// A name for what is recorded now, among what else is in the file.
fn session() -> String {
    let mut random = [0; 8];
    let _ = getrandom::fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes down the lines in what comes, and passes it on. In this order: otherwise the answer to a line could stand before
/// the line, and nobody could tell what came of what.
fn copy(mut from: impl Read, mut to: impl Write, direction: Direction, log: &Log) {
    let mut buffer = vec![0; 64 << 10];
    let mut lines = Lines::default();
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        lines.take(&buffer[..count], &mut |line| log.write(direction, line));
        // Once nobody reads, nothing more needs to be passed on.
        if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
    lines.end(&mut |line| log.write(direction, line));
}

struct Log {
    /// Gone when it could not be written.
    file: Mutex<Option<File>>,
    session: String,
    output: Arc<Output>,
}

impl Log {
    fn write(&self, direction: Direction, line: &[u8]) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        let mut text = entry(direction, &self.session, line);
        text.push('\n');
        if let Err(error) = open.write_all(text.as_bytes()) {
            self.output.warn(&format!("the recording ends here: {error}"));
            *file = None;
        }
    }
}
