//! What measures: the load generator on one processor, the server on another.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread::{available_parallelism, sleep},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{kits::Folders, options::Options, subjects::Subject};
use crate::{
    Failure,
    workspace::{capture, command, describe},
};

const SERVER_CPU: &str = "0";
const LOAD_CPU: &str = "1";

/// How long a server may take to listen; under valgrind it takes a while.
const START: Duration = Duration::from_secs(60);

/// How long a server may take to end when it is told to.
const END: Duration = Duration::from_secs(30);

/// The programs, and how long they measure.
pub(super) struct Rig {
    pub(super) folders: Folders,
    /// Whether server and load have a processor each.
    pub(super) pinned: bool,
    pub(super) quick: bool,
}

impl Rig {
    pub(super) fn new(folders: Folders, options: &Options) -> Self {
        let pinned = available_parallelism().is_ok_and(|count| count.get() >= 2)
            && capture(command("taskset").args(["-c", LOAD_CPU, "true"])).is_ok();
        Self { folders, pinned, quick: options.quick }
    }

    /// The same programs, each on any processor.
    pub(super) fn unpinned(&self) -> Self {
        Self { folders: self.folders.clone(), pinned: false, quick: self.quick }
    }

    /// For how long to measure, in seconds.
    pub(super) const fn seconds(&self) -> &'static str {
        if self.quick { "0.3" } else { "1.0" }
    }

    /// Runs the load generator, and returns what it says.
    pub(super) fn load(&self, options: &[&str], server: &[String]) -> Result<Value, Failure> {
        self.client(self.folders.our("bench-load"), options, server)
    }

    /// Runs a program that prints JSON on the processor of the load.
    pub(super) fn client(&self, program: String, options: &[&str], server: &[String]) -> Result<Value, Failure> {
        let mut words = self.on(LOAD_CPU, vec![program]);
        words.extend(options.iter().map(|&word| word.to_owned()));
        if !server.is_empty() {
            words.push("--".to_owned());
            words.extend_from_slice(server);
        }
        json(&words)
    }

    /// The command of a subject on stdio, on the processor of the server.
    pub(super) fn stdio(&self, subject: &Subject) -> Vec<String> {
        let mut words = self.on(SERVER_CPU, self.folders.server(subject.kit));
        words.extend(subject.words.split(' ').map(str::to_owned));
        words
    }

    /// Any command on the processor of the server.
    pub(super) fn on_server(&self, words: Vec<String>) -> Vec<String> {
        self.on(SERVER_CPU, words)
    }

    fn on(&self, cpu: &str, words: Vec<String>) -> Vec<String> {
        let before = if self.pinned { vec!["taskset", "-c", cpu] } else { Vec::new() };
        before.into_iter().map(str::to_owned).chain(words).collect()
    }

    /// Starts a command on the processor of the server, with a free port for `{port}` in the arguments.
    pub(super) fn listen(&self, words: Vec<String>, arguments: &str) -> Result<Listening, Failure> {
        Listening::start(&self.on(SERVER_CPU, words), arguments, "/mcp", &[])
    }

    /// Starts a subject that listens, and waits until it does.
    pub(super) fn http(&self, subject: &Subject, variables: &[(&str, &str)]) -> Result<Listening, Failure> {
        let words = self.on(SERVER_CPU, self.folders.server(subject.kit));
        // One kit serves at the root and has no option for it.
        let path = if subject.kit == super::kits::Kit::Pmcp { "/" } else { "/mcp" };
        Listening::start(&words, subject.words, path, variables)
    }
}

/// Runs a command that prints one JSON object.
fn json(words: &[String]) -> Result<Value, Failure> {
    let (program, arguments) = words.split_first().ok_or("there is nothing to run")?;
    let mut command = command(program);
    let output = command.args(arguments).stderr(Stdio::piped()).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let value: Value =
        serde_json::from_str(&text).map_err(|e| format!("`{}`: {e} {}", describe(&command), complaint()))?;
    match value["error"].as_str() {
        Some(why) => Err(why.to_owned()),
        None => Ok(value),
    }
}

/// An address of this machine at which nothing listens.
pub(super) fn free_address() -> Result<SocketAddr, Failure> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.map_err(|e| format!("there is no free port: {e}"))
}

/// A server that listens; it ends with this value.
pub(super) struct Listening {
    child: Child,
    pub(super) url: String,
}

impl Listening {
    /// Starts a command with a free port for `{port}` in the arguments.
    pub(super) fn start(
        words: &[String],
        arguments: &str,
        path: &str,
        variables: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let address = free_address()?;
        let arguments = arguments.replace("{port}", &address.port().to_string());
        let (program, before) = words.split_first().ok_or("there is nothing to run")?;
        let mut command: Command = command(program);
        command.args(before).args(arguments.split(' ')).envs(variables.iter().copied());
        Self::spawn(command, address, path)
    }

    /// Starts a command that listens at an address, and waits until it does.
    pub(super) fn spawn(mut command: Command, address: SocketAddr, path: &str) -> Result<Self, Failure> {
        let spawned = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = spawned.map_err(|e| format!("`{}` did not start: {e}", describe(&command)))?;
        let mut server = Self { child, url: format!("http://{address}{path}") };
        server.wait_for(address)?;
        Ok(server)
    }

    fn wait_for(&mut self, address: SocketAddr) -> Result<(), Failure> {
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended at once: {status}"));
            }
            if started.elapsed() > START {
                return Err(format!("the server did not listen within {} s", START.as_secs()));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    pub(super) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Tells the server to end and waits for it: valgrind reports only then.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        capture(command("kill").args(["-s", "TERM", &self.pid()]))?;
        let started = Instant::now();
        while started.elapsed() < END {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        Err("the server did not end".to_owned())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
