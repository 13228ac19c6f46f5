//! Programs that cannot outlive a command: a group of processes, and a server that answers.

use std::{
    fs::{self, OpenOptions},
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{
    Failure,
    workspace::{capture, describe},
};

/// How long a server may take to answer.
const START: Duration = Duration::from_secs(60);

/// Starts a server on a free port, which the command is made for, and waits until it answers.
pub(crate) fn serve(start: impl Fn(&str) -> Command, log: &Path) -> Result<(Group, String), Failure> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let address = free.map_err(|e| format!("there is no free port: {e}"))?;
    let port = address.port().to_string();
    let mut server = Group::start(&mut start(&port), log)?;
    let started = Instant::now();
    while !answers(address) {
        if let Some(status) = server.ended() {
            return Err(format!("the server ended at once: {status}; see {}", log.display()));
        }
        if started.elapsed() > START {
            return Err(format!("the server did not answer within {} s", START.as_secs()));
        }
        sleep(Duration::from_millis(50));
    }
    Ok((server, port))
}

/// A program and all that it starts. They end with this value, and with this process however it ends.
pub(crate) struct Group {
    child: Child,
    /// Waits for the end of its standard input, and then kills the group.
    guard: Child,
}

impl Group {
    /// What the programs say is added to the log.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self, Failure> {
        let shown = describe(command);
        let open = || OpenOptions::new().create(true).append(true).open(log);
        let (out, err) = open().and_then(|out| Ok((out, open()?))).map_err(|e| format!("{}: {e}", log.display()))?;
        let mut child = leader(command.stdin(Stdio::null()).stdout(out).stderr(err))
            .spawn()
            .map_err(|e| format!("`{shown}` did not start: {e}"))?;
        let script = format!("read -r line; kill -s KILL -- -{} 2>/dev/null", child.id());
        match leader(Command::new("sh").args(["-c", &script]).stdin(Stdio::piped())).spawn() {
            Ok(guard) => Ok(Self { child, guard }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("`sh` did not start: {error}"))
            }
        }
    }

    /// The id of the program.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for a URL with a mark in it that the program prints into its log.
    pub(crate) fn url(&mut self, log: &Path, mark: &str, limit: Duration) -> Result<String, Failure> {
        let started = Instant::now();
        loop {
            let text = fs::read_to_string(log).unwrap_or_default();
            // A line is whole when the next one has begun.
            let words = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).flat_map(str::split_whitespace);
            if let Some(url) = words.into_iter().find(|word| word.starts_with("http://") && word.contains(mark)) {
                return Ok(url.to_owned());
            }
            if let Some(status) = self.ended() {
                return Err(format!("ended at once: {status}\n{text}"));
            }
            if started.elapsed() > limit {
                return Err(format!("printed no URL within {} s\n{text}", limit.as_secs()));
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Sends a signal to the program alone, by its name: `TERM`, `STOP`.
    pub(crate) fn signal(&self, name: &str) -> Result<(), Failure> {
        capture(Command::new("kill").args(["-s", name, &self.child.id().to_string()])).map(drop)
    }

    /// Waits for the program, but not for ever; what it leaves behind is ended too.
    pub(crate) fn wait(mut self, limit: Duration) -> Result<ExitStatus, Failure> {
        let started = Instant::now();
        loop {
            match self.ended() {
                Some(status) => return Ok(status),
                None if started.elapsed() > limit => return Err(format!("killed after {} s", limit.as_secs())),
                None => sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
        let _ = self.child.wait();
    }
}

/// Makes a program the first of a process group.
fn leader(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}

/// Whether there is HTTP at an address.
fn answers(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut first = [0; 5];
        stream.read_exact(&mut first).map(|()| first)
    };
    ask().is_ok_and(|first: [u8; 5]| &first == b"HTTP/")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_group_ends_as_one() {
        let mut shell = Command::new("sh");
        let log = std::env::temp_dir().join(format!("xtask-group-{}", std::process::id()));
        let group = Group::start(shell.args(["-c", "sleep 60 & echo $!; wait"]), &log).unwrap();
        assert!(group.wait(Duration::from_millis(300)).unwrap_err().starts_with("killed"));
        let sleeper = fs::read_to_string(&log).unwrap();
        fs::remove_file(&log).unwrap();
        sleep(Duration::from_millis(100));
        // One that nobody has waited for yet is as dead as one that is gone.
        let state = capture(Command::new("ps").args(["-o", "stat=", "-p", sleeper.trim()])).unwrap_or_default();
        assert!(state.is_empty() || state.starts_with('Z'), "{state}");
    }
}
