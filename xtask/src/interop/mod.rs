//! `cargo xtask interop`: the server and the client of `interop/couplet` against those of other SDKs, in both roles.
//!
//! Every client goes through the same steps and looks at what comes back, every server looks at what arrives. What is
//! here only starts the programs, and counts.

mod behind;
mod collections;
mod command;
mod foreign;
mod gateway;
pub(crate) mod peer;
pub(crate) mod relay;
pub(crate) mod replicas;
mod report;
pub(crate) mod rolling;
pub(crate) mod servers;
mod steps;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use peer::{PEERS, Peer, Programs};
use relay::Relay;
use report::{Counts, Outcome, Role, Row, Transport, judge, list_skipped, table};
use servers::Servers;
use steps::{Plan, not_offered};

use crate::{
    Failure,
    group::{Group, serve},
    workspace::{build_programs, command as program, root, target},
};

/// How long a client may take for all its steps.
const DEADLINE: Duration = Duration::from_secs(60);

/// The variable that names the steps of a client.
const STEPS: &str = "INTEROP_STEPS";

/// The name of what is run with the command `couplet`.
const COMMAND: &str = "command";
/// The name of what is run through `couplet run`, a mount and `couplet listen`.
const BEHIND: &str = "behind";
/// The name of what is run through `couplet gateway`.
const GATEWAY: &str = "gateway";

/// Installs an SDK for Python that `interop/` has; returns its interpreter, or the reason why it cannot be had.
pub(crate) fn python(name: &str) -> Result<Result<PathBuf, String>, Failure> {
    let requirements = root().join("interop").join(name).join("requirements.txt");
    match peer::venv(&target()?.join("interop").join(name), &requirements) {
        Ok(python) => Ok(Ok(python)),
        Err(peer::Missing::Skipped(why)) => Ok(Err(why)),
        Err(peer::Missing::Broken(why)) => Err(why),
    }
}

/// All peers, or those whose names have one of the arguments in them. The last line is for machines.
pub(crate) fn run(names: &[String]) -> Result<(), Failure> {
    let counts = suite(names)?;
    if counts.failed > 0 {
        return Err(format!("failed, {counts}"));
    }
    println!("xtask interop: ok, {counts}");
    Ok(())
}

/// Runs everything, and prints a line for each run.
pub(crate) fn suite(names: &[String]) -> Result<Counts, Failure> {
    let started = Instant::now();
    let wanted = |peer: &&Peer| names.is_empty() || names.iter().any(|name| peer.name.contains(name));
    let peers: Vec<&Peer> = PEERS.iter().filter(wanted).collect();
    let with = |suite: &str| names.is_empty() || names.iter().any(|name| name == suite);
    let (with_command, with_behind, with_gateway) = (with(COMMAND), with(BEHIND), with(GATEWAY));
    if peers.is_empty() && !with_command && !with_behind && !with_gateway {
        let known: Vec<_> = PEERS.iter().map(|peer| peer.name).chain([COMMAND, BEHIND, GATEWAY]).collect();
        return Err(format!("there is no such peer; there are {}", known.join(", ")));
    }
    build_programs()?;
    let folder = root().join("target/interop");
    let logs = folder.join("logs");
    // What an earlier run left must not count.
    let _ = fs::remove_dir_all(&logs);
    fs::create_dir_all(&logs).map_err(|e| format!("{}: {e}", logs.display()))?;
    let programs = target()?.join("debug");
    let couplet = Programs::new([programs.join("interop-client")], [programs.join("interop-server")]);
    let (mut server, port) = serve(|port| couplet.server(&["http", port]), &logs.join("couplet-server.log"))?;
    let bench = Bench { couplet, login: programs.join("interop-login"), port, folder, logs };
    // Each peer has a thread: most of the time is spent in waiting for programs to start.
    let (rows, commands) = thread::scope(|scope| {
        let (programs, bench) = (&programs, &bench);
        let commands = (with_command || with_behind || with_gateway).then(|| {
            scope.spawn(move || {
                let servers = Servers::install(&bench.folder.join("servers"));
                let commands = with_command.then(|| command::suite(&programs.join("couplet"), &servers));
                let tests = with_command.then(|| collections::suite(&programs.join("couplet"), &servers, &bench.logs));
                let behind = with_behind.then(|| behind::suite(programs, &servers, &bench.logs));
                let gateway = with_gateway.then(|| gateway::all_servers(programs, &servers, &bench.logs));
                let counts = commands.unwrap_or_default()
                    + tests.unwrap_or_default()
                    + behind.unwrap_or_default()
                    + gateway.unwrap_or_default();
                (counts, servers)
            })
        });
        let threads: Vec<_> = peers.iter().map(|&peer| scope.spawn(move || bench.all(peer))).collect();
        let rows: Vec<Row> =
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread does not panic")).collect();
        (rows, commands.map(|thread| thread.join().expect("a thread does not panic")))
    });
    println!("{}\n\n{}", table(&rows), not_offered(rows.iter().map(|row| &row.plan)));
    list_skipped(&rows);
    let couplet = || Programs::new([programs.join("interop-client")], [programs.join("interop-server")]);
    let gateway = with_gateway.then(|| gateway::clients_and_servers(&bench, &programs, couplet()));
    let (commands, servers) = commands.unzip();
    let foreign = servers.filter(|_| with_gateway).map(|servers| foreign::suite(&bench, &programs, &servers));
    println!("logs: {}, {} seconds", bench.logs.display(), started.elapsed().as_secs());
    if let Some(status) = server.ended() {
        return Err(format!("the server ended: {status}"));
    }
    let suites = [commands, gateway, foreign].into_iter().flatten();
    Ok(suites.fold(Counts::of(&rows), std::ops::Add::add))
}

/// The clients of all SDKs against a server of ours that listens at this port, over HTTP alone.
pub(crate) fn clients_at(port: u16, logs: &Path) -> Result<Counts, Failure> {
    let bench = Bench::at(port, logs)?;
    let (bench, peers) = (&bench, PEERS.iter().filter(|peer| !peer.client.is_empty()));
    let rows: Vec<Row> = thread::scope(|scope| {
        let threads: Vec<_> = peers.map(|peer| scope.spawn(move || bench.over_http(peer))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread does not panic")).collect()
    });
    println!("{}\n\n{}", table(&rows), not_offered(rows.iter().map(|row| &row.plan)));
    list_skipped(&rows);
    Ok(Counts::of(&rows))
}

struct Bench {
    couplet: Programs,
    /// The client and the servers for authorization servers.
    login: PathBuf,
    /// Where the one server is that all clients talk to.
    port: String,
    folder: PathBuf,
    logs: PathBuf,
}

impl Bench {
    /// For a server that listens already.
    fn at(port: u16, logs: &Path) -> Result<Self, Failure> {
        let (folder, programs) = (root().join("target/interop"), target()?.join("debug"));
        let couplet = Programs::new([programs.join("interop-client")], [programs.join("interop-server")]);
        let login = programs.join("interop-login");
        Ok(Self { couplet, login, port: port.to_string(), folder, logs: logs.to_owned() })
    }

    /// All runs with a peer, after it is installed.
    fn all(&self, peer: &'static Peer) -> Vec<Row> {
        let programs = match (peer.install)(&self.folder.join(peer.name)) {
            Ok(programs) => programs,
            Err(missing) => return vec![missing.row(peer)],
        };
        let mut rows: Vec<Row> = peer.client.iter().flat_map(|offer| self.as_client(peer, &programs, offer)).collect();
        rows.extend(self.as_server(peer, &programs));
        rows.extend(peer.issuer.then(|| self.as_issuer(peer, &programs)));
        rows
    }

    /// The peer's client against our server, over HTTP alone.
    fn over_http(&self, peer: &'static Peer) -> Vec<Row> {
        let programs = match (peer.install)(&self.folder.join(peer.name)) {
            Ok(programs) => programs,
            Err(missing) => return vec![missing.row(peer)],
        };
        peer.client.iter().map(|offer| self.through_relay(peer, &programs, offer)).collect()
    }

    /// The peer's client against our server.
    fn as_client(&self, peer: &'static Peer, programs: &Programs, offer: &'static str) -> [Row; 2] {
        let stdio = Row::new(peer, Role::Client, Transport::Stdio, offer);
        let stdio = self.one(stdio, |arguments| programs.client(arguments), &self.couplet.server_line());
        [self.through_relay(peer, programs, offer), stdio]
    }

    /// The peer's client against our server over HTTP, with a relay between them.
    fn through_relay(&self, peer: &'static Peer, programs: &Programs, offer: &'static str) -> Row {
        let row = Row::new(peer, Role::Client, Transport::Http, offer);
        let relay = match relay_to(&self.port) {
            Ok(relay) => relay,
            Err(why) => return row.ended(Outcome::failed(&why)),
        };
        let row = self.one(row, |arguments| programs.client(arguments), &[url(&relay.port.to_string())]);
        let seen = seen(&relay, &row.plan, row.expected());
        row.unless(seen)
    }

    /// Our client against the peer's server.
    fn as_server(&self, peer: &'static Peer, programs: &Programs) -> Vec<Row> {
        if peer.server.is_empty() {
            return Vec::new();
        }
        let log = self.logs.join(format!("{}-server.log", peer.name));
        let server = serve(|port| programs.server(&["http", port]), &log);
        let mut rows = Vec::new();
        for offer in peer.server {
            let row = |transport| Row::new(peer, Role::Server, transport, offer);
            rows.push(match &server {
                Ok((_, port)) => self.one(row(Transport::Http), |a| self.couplet.client(a), &[url(port)]),
                Err(why) => row(Transport::Http).ended(Outcome::failed(why)),
            });
            rows.push(self.one(row(Transport::Stdio), |a| self.couplet.client(a), &programs.server_line()));
        }
        rows
    }

    /// Our client logs in there, to our server, which believes the peer's tokens.
    fn as_issuer(&self, peer: &'static Peer, programs: &Programs) -> Row {
        let row = Row::new(peer, Role::Issuer, Transport::Http, "auto");
        let log = self.logs.join(format!("{}-server.log", peer.name));
        let (_server, port) = match serve(|port| programs.server(&["http", port]), &log) {
            Ok(server) => server,
            Err(why) => return row.ended(Outcome::failed(&why)),
        };
        let mut login = program(&text(&self.login));
        login.arg(format!("http://127.0.0.1:{port}")).args(programs.client_line());
        self.judged(row, &mut login)
    }

    /// One client, from its start to its end.
    fn one(&self, row: Row, client: impl Fn(&[&str]) -> Command, target: &[String]) -> Row {
        let mut arguments = vec![row.offer, row.transport.name()];
        arguments.extend(target.iter().map(String::as_str));
        let mut client = client(&arguments);
        client.env(STEPS, row.plan.variable());
        self.judged(row, &mut client)
    }

    /// Runs a program to its end, and looks at what it said.
    fn judged(&self, row: Row, program: &mut Command) -> Row {
        let log = self.logs.join(row.name() + ".log");
        let ended = Group::start(program, &log).and_then(|group| group.wait(DEADLINE));
        let said = fs::read(&log).unwrap_or_default();
        let ended = ended.map(|status| status.success());
        let outcome = judge(ended, &String::from_utf8_lossy(&said), row.expected(), &row.plan.steps);
        row.ended(outcome)
    }
}

/// A relay to a server that listens at this port.
fn relay_to(port: &str) -> Result<Relay, Failure> {
    Relay::start(port.parse().map_err(|_| format!("`{port}` is not a port"))?)
}

/// Checks what a relay has to have seen.
fn seen(relay: &Relay, plan: &Plan, revision: &str) -> Result<(), Failure> {
    if plan.steps.contains(&"resume") {
        relay.resumed()?;
    }
    if plan.deletes {
        relay.all_deleted()?;
        relay.unknown(revision)?;
    }
    Ok(())
}

fn url(port: &str) -> String {
    format!("http://127.0.0.1:{port}/mcp")
}

/// A command with arguments, in the folder of the workspace.
fn with(words: &[String], arguments: &[&str]) -> Command {
    let (first, rest) = words.split_first().expect("a program has a name");
    let mut line = program(first);
    line.args(rest).args(arguments);
    line
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
