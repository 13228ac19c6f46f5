//! The benchmarked child process.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use mio::unix::pipe::{Receiver, Sender};

use crate::{
    Failure,
    cases::{INITIALIZE, INITIALIZED, Life},
};

/// The pipe size, where it can be set: with the kernel's default, wakeups would dominate.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

/// A server with its pipes. It is stopped on drop.
pub(crate) struct Server {
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
    ending: Ending,
}

impl Server {
    pub(crate) fn start(command: &[String]) -> Result<Self, Failure> {
        let (program, arguments) = command.split_first().ok_or("expected a command after `--`")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("`{program}` did not start: {error}"))?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let ending = Ending(child);
        let (Some(input), Some(output)) = pipes else { return Err("the child process has no pipes".into()) };
        Ok(Self { input, output: BufReader::with_capacity(1 << 20, output), ending })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.ending.0.id()
    }

    /// Performs the handshake, if the lifecycle has one.
    pub(crate) fn handshake(&mut self, life: Life) -> Result<(), Failure> {
        if life == Life::Session {
            writeln!(self.input, "{INITIALIZE}")?;
            read_answer(&mut self.output)?;
            writeln!(self.input, "{INITIALIZED}")?;
        }
        Ok(())
    }

    /// Returns the pipes in non-blocking mode.
    pub(crate) fn into_pipes(self) -> Result<(Sender, Receiver, Ending), Failure> {
        if !self.output.buffer().is_empty() {
            return Err(format!("unexpected output: {}", String::from_utf8_lossy(self.output.buffer())).into());
        }
        let output = self.output.into_inner();
        #[cfg(target_os = "linux")]
        {
            rustix::pipe::fcntl_setpipe_size(&self.input, PIPE)?;
            rustix::pipe::fcntl_setpipe_size(&output, PIPE)?;
        }
        let (input, output) = (Sender::from(self.input), Receiver::from(output));
        input.set_nonblocking(true)?;
        output.set_nonblocking(true)?;
        Ok((input, output, self.ending))
    }
}

/// Stops the child process on drop.
pub(crate) struct Ending(Child);

impl Ending {
    /// Lets the child process exit by itself at the end of input, if requested: callgrind reports only then.
    pub(crate) fn wait(mut self, gently: bool) {
        for _ in 0..if gently { 300 } else { 0 } {
            if !matches!(self.0.try_wait(), Ok(None)) {
                break;
            }
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads the next response.
pub(crate) fn read_answer(output: &mut impl BufRead) -> Result<String, Failure> {
    let mut line = String::new();
    loop {
        line.clear();
        if output.read_line(&mut line)? == 0 {
            return Err("the server exited".into());
        }
        if line.contains("\"result\"") || line.contains("\"error\"") {
            return Ok(line);
        }
    }
}
