//! A server on stdio until it has listed its tools: how many there are, and what that took.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::REVISION;
use crate::{Failure, workspace::describe};

/// The time that a program may take.
const DEADLINE: Duration = Duration::from_secs(300);

/// The most pages of a list.
const MOST_PAGES: usize = 10_000;

/// What a program took until it had listed its tools.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) tools: usize,
    /// The processor time, in seconds.
    pub(super) cpu: f64,
    /// The largest resident set, in bytes.
    pub(super) memory: u64,
}

/// Starts a server, lists its tools, and ends it.
pub(super) fn serve(command: &mut Command) -> Result<Measured, Failure> {
    let shown = describe(command);
    let started = Instant::now();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = Ended(child.map_err(|e| format!("`{shown}` did not start: {e}"))?);
    let mut server = Server {
        input: child.0.stdin.take().ok_or("there is no standard input")?,
        lines: lines(&mut child.0)?,
        deadline: started + DEADLINE,
        id: 0,
    };
    let tools = server.tools()?;
    let id = child.0.id();
    Ok(Measured { tools, cpu: cpu(id)?, memory: memory(id)? })
}

/// A process that ends with this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads lines on a thread, which ends with the process.
fn lines(child: &mut Child) -> Result<Receiver<String>, Failure> {
    let output = BufReader::new(child.stdout.take().ok_or("there is no standard output")?);
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(lines)
}

struct Server {
    input: ChildStdin,
    lines: Receiver<String>,
    deadline: Instant,
    id: u64,
}

impl Server {
    /// Opens the session and counts the tools of all pages.
    fn tools(&mut self) -> Result<usize, Failure> {
        let client = json!({ "name": "compare", "version": "1.0.0" });
        let hello = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client });
        self.request("initialize", hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let (mut tools, mut params) = (0, json!({}));
        for _ in 0..MOST_PAGES {
            let page = self.request("tools/list", params)?;
            tools += page["tools"].as_array().map_or(0, Vec::len);
            match &page["nextCursor"] {
                Value::Null => return Ok(tools),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
        Err("the list does not end".to_owned())
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let sent = writeln!(self.input, "{message}").and_then(|()| self.input.flush());
        sent.map_err(|_| "not read".to_owned())
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        self.id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))?;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|error| match error {
                std::sync::mpsc::RecvTimeoutError::Timeout => format!("no answer in {} s", DEADLINE.as_secs()),
                std::sync::mpsc::RecvTimeoutError::Disconnected => "not read".to_owned(),
            })?;
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == self.id {
                return message.get("result").cloned().ok_or_else(|| format!("`{method}` is refused"));
            }
        }
    }
}

/// The processor time of a process in seconds.
fn cpu(id: u32) -> Result<f64, Failure> {
    let stat = read(id, "stat")?;
    // The name of the program is in parentheses, and may have any character in it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    // A tick is a hundredth of a second, everywhere.
    ticks(11).zip(ticks(12)).map(|(user, system)| (user + system) / 100.0).ok_or("there is no time".to_owned())
}

/// The largest resident set of a process in bytes.
fn memory(id: u32) -> Result<u64, Failure> {
    let status = read(id, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| "there is no size".to_owned())
}

fn read(id: u32, file: &str) -> Result<String, Failure> {
    let path = format!("/proc/{id}/{file}");
    fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Measured, Failure> {
        serve(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn all_pages_are_counted() {
        let answer = |id: u64, result: Value| format!("read l; echo '{}'; ", json!({ "id": id, "result": result }));
        let script = [
            answer(1, json!({})),
            "read l; ".to_owned(),
            answer(2, json!({ "tools": [{}, {}], "nextCursor": "x" })),
            "echo noise; ".to_owned(),
            answer(3, json!({ "tools": [{}] })),
            "read l".to_owned(),
        ];
        let measured = shell(&script.concat()).expect("it answers");
        assert_eq!(measured.tools, 3);
        assert!(measured.memory > 0);
    }

    #[test]
    fn a_server_that_ends_has_read_nothing() {
        assert_eq!(shell("exit 1").unwrap_err(), "not read");
    }
}
