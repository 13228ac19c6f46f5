//! `cargo xtask cluster bench`: what it costs that replicas share a store.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    thread::sleep,
    time::Duration,
};

use serde_json::Value;

use super::{
    Cluster, REVISIONS,
    rig::{Process, Rig},
};
use crate::{
    Failure,
    bench::report,
    workspace::{capture, cargo, command, target},
};

/// How many calls are measured.
const CALLS: u64 = 20_000;
/// How many events the call of a stream has.
const EVENTS: u64 = 5_000;
/// How many sessions stay open.
const SESSIONS: u64 = 10_000;

/// What was used up to a moment.
#[derive(Clone, Copy)]
struct Used {
    /// Processor time of all replicas, in microseconds.
    replicas: u64,
    redis: u64,
    commands: u64,
}

impl Used {
    fn now(rig: &Rig) -> Result<Self, Failure> {
        let replicas = rig.replicas.iter().map(processor_time).sum::<Result<u64, Failure>>()?;
        Ok(Self { replicas, redis: processor_time(&rig.redis)?, commands: info(rig, "total_commands_processed")? })
    }

    /// What was used since then, for each of so many.
    fn each(self, rig: &Rig, count: u64) -> Result<[f64; 3], Failure> {
        let now = Self::now(rig)?;
        let each = |now: u64, then: u64| now.saturating_sub(then) as f64 / count as f64;
        Ok([each(now.replicas, self.replicas), each(now.redis, self.redis), each(now.commands, self.commands)])
    }
}

/// The table, as it stands in `bench/README.md`.
struct Table(String);

impl Table {
    fn new() -> Self {
        let head = "| what | replicas | CPU µs, replicas | CPU µs, Redis | Redis commands |\n|---|---:|---:|---:|---:|";
        println!("\n{head}");
        Self(format!("{head}\n"))
    }

    fn row(&mut self, what: &str, replicas: usize, [replica, redis, commands]: [f64; 3]) {
        let row = format!("| {what} | {replicas} | {replica:.0} | {redis:.1} | {commands:.2} |");
        println!("{row}");
        self.0 += &row;
        self.0.push('\n');
    }
}

/// Measures, and prints the table; with `--write` also writes it into `bench/README.md`.
pub(super) fn run(cluster: &Cluster, options: &[String]) -> Result<(), Failure> {
    let is_written = match options {
        [] => false,
        [option] if option == "--write" => true,
        other => return Err(format!("unknown options: {}; there is `--write`", other.join(" "))),
    };
    let table = cluster.bench()?;
    if is_written { report::write_cluster(&table) } else { Ok(()) }
}

impl Cluster {
    /// Prints the table for `bench/README.md`, and returns it.
    fn bench(&self) -> Result<String, Failure> {
        cargo([
            "build",
            "--profile",
            "dist",
            "-p",
            "couplet-interop",
            "--bin",
            "interop-replica",
            "--bin",
            "interop-cluster",
        ])?;
        cargo(["build", "--profile", "dist", "-p", "couplet-bench", "--features", "rig", "--bin", "bench-load"])?;
        let optimized = Self { folder: self.folder.clone(), programs: target()?.join("dist") };
        let mut table = Table::new();
        for count in 1..=super::REPLICAS {
            let (rig, _) = optimized.start_some(&format!("bench-{count}"), &[], count)?;
            for revision in REVISIONS {
                optimized.calls(&rig, revision)?;
                let used = Used::now(&rig)?;
                optimized.calls(&rig, revision)?;
                table.row(&format!("a call, {revision}"), count, used.each(&rig, CALLS)?);
            }
        }
        let (rig, folder) = optimized.start_some("bench-store", &[], super::REPLICAS)?;
        let used = Used::now(&rig)?;
        optimized.client(&rig, &folder, REVISIONS[0], "events")?;
        table.row("an event that can be resumed, 2025-11-25", super::REPLICAS, used.each(&rig, EVENTS)?);
        let (before, used) = (info(&rig, "used_memory")?, Used::now(&rig)?);
        optimized.client(&rig, &folder, REVISIONS[0], "sessions")?;
        table.row("a session that is opened", super::REPLICAS, used.each(&rig, SESSIONS)?);
        let memory = info(&rig, "used_memory")?.saturating_sub(before) / SESSIONS;
        let used = Used::now(&rig)?;
        sleep(Duration::from_secs(10));
        table.row("10,000 idle sessions, each second", super::REPLICAS, used.each(&rig, 10)?);
        let sizes = format!("{SESSIONS} sessions that replicas share take {memory} bytes each in Redis.");
        println!("\n{sizes}");
        Ok(format!("{}\n{sizes}\n", table.0))
    }

    fn calls(&self, rig: &Rig, revision: &str) -> Result<Value, Failure> {
        let mut load = command(&self.programs.join("bench-load").to_string_lossy());
        let (url, count) = (rig.balancer.url(), CALLS.to_string());
        load.args(["http", "--conns", "8", "--url", &url, "--life", &revision[..4], "--case", "echo"]);
        let said = capture(load.args(["--count", &count, "--warm", "0", "--limit", "300"]))?;
        let said: Value = serde_json::from_str(said.trim()).map_err(|e| format!("{e}: {said}"))?;
        match said["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(said),
        }
    }
}

/// The processor time of a process, in microseconds.
fn processor_time(process: &Process) -> Result<u64, Failure> {
    /// The unit of the system, everywhere: a hundredth of a second.
    const TICK: u64 = 10_000;
    let file = format!("/proc/{}/stat", process.id().ok_or("the process has ended")?);
    let text = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    // The name of the program is in parentheses, and may have any character in it.
    let fields: Vec<_> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    Ok(ticks(11).zip(ticks(12)).map_or(0, |(user, system)| (user + system) * TICK))
}

/// A number that Redis tells of itself.
fn info(rig: &Rig, name: &str) -> Result<u64, Failure> {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, rig.redis.port))?;
        stream.write_all(b"INFO everything\r\nQUIT\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    let text = ask().map_err(|e| format!("redis: {e}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok());
    value.ok_or_else(|| format!("redis does not tell `{name}`"))
}
