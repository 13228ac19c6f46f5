//! `cargo xtask cluster`: three replicas of one server behind haproxy, round robin without stickiness, on a real Redis.
//!
//! * `scenarios`: everything that clients do, in both eras, with all replicas up.
//! * `everything`: the same with replicas of `couplet-everything`, also while they are rolled and killed.
//! * `peers`: the clients of other SDKs.
//! * `peers-rolling`: the same while replicas are rolled, and while they are killed as well.
//! * `peers-everything`: the clients of other SDKs with replicas of `couplet-everything`, first with all of them up, then while
//!   they are rolled, and while they are killed as well.
//! * `chaos`: payments while one replica after the other is killed or rolled; each is executed at most once, and with an
//!   idempotency key exactly once. Streams are resumed, and tasks with a journal gone on with, after a replica was killed.
//! * `outage`: Redis away for more than a lease, and back without its data, or with them; full; without an answer for less than
//!   a lease; away when the replicas are started.
//!
//! `cargo xtask cluster bench` measures, and is not among them; with `--write` its rows replace those in
//! `bench/README.md`.

mod bench;
mod disturb;
mod outage;
mod parts;
mod rig;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use rig::Rig;

use crate::{
    Failure, debian,
    group::Group,
    workspace::{build_programs, command, target},
};

/// The last revision of each era.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// How many replicas there are.
const REPLICAS: usize = 3;
/// The stores that can be used, the first one that is installed; each with the name of its Debian package.
const STORES: [&str; 2] = ["valkey-server", "redis-server"];
/// The time that a scenario may take.
const DEADLINE: Duration = Duration::from_secs(150);

/// A name, and what is done.
type Part = (&'static str, fn(&Cluster) -> Result<Tally, Failure>);

const PARTS: [Part; 7] = [
    ("scenarios", Cluster::scenarios),
    ("everything", Cluster::everything),
    ("peers", Cluster::peers),
    ("peers-rolling", Cluster::peers_rolling),
    ("peers-everything", Cluster::peers_everything),
    ("chaos", Cluster::chaos),
    ("outage", Cluster::outage),
];

/// The program of the store: Valkey where it is installed.
fn store() -> &'static str {
    first_of(&STORES, |program| debian::find(program).is_some())
}

/// The first program that is installed, or the last one.
fn first_of<'a>(programs: &[&'a str], is_installed: impl Fn(&str) -> bool) -> &'a str {
    let installed = programs.iter().find(|program| is_installed(program));
    installed.or(programs.last()).copied().unwrap_or_default()
}

/// All parts, or those that are named. The last line is for machines.
pub(crate) fn run(names: &[String]) -> Result<(), Failure> {
    if let [first, options @ ..] = names
        && first == "bench"
    {
        debian::ensure(&[(store(), store()), ("haproxy", "haproxy")])?;
        return bench::run(&Cluster { folder: target()?.join("cluster"), programs: PathBuf::new() }, options);
    }
    if let Some(unknown) = names.iter().find(|name| !PARTS.iter().any(|(part, _)| part == name)) {
        let known: Vec<_> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no part `{unknown}`; there are {}", known.join(", ")));
    }
    debian::ensure(&[(store(), store()), ("haproxy", "haproxy")])?;
    build_programs()?;
    let folder = target()?.join("cluster");
    let _ = fs::remove_dir_all(&folder);
    let cluster = Cluster { folder, programs: target()?.join("debug") };
    let mut all = Tally::default();
    for (name, part) in PARTS.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|n| n == name)) {
        println!("-- {name}");
        let started = Instant::now();
        all.add(part(&cluster)?);
        println!("        {} seconds", started.elapsed().as_secs());
    }
    let counts = format!("{} passed, {} failed", all.passed, all.failed);
    if all.failed > 0 {
        return Err(format!("failed, {counts}; logs: {}", cluster.folder.display()));
    }
    println!("xtask cluster: ok, {counts}");
    Ok(())
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    fn note(&mut self, name: &str, outcome: Result<String, Failure>) {
        match outcome {
            Ok(said) => {
                println!("ok      {name}: {said}");
                self.passed += 1;
            }
            Err(why) => {
                println!("FAILED  {name}: {why}");
                self.failed += 1;
            }
        }
    }
}

struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
}

impl Cluster {
    /// Starts everything for one part, in a folder of its own. The flags are those of the replicas.
    fn start(&self, part: &str, flags: &'static [&'static str]) -> Result<(Rig, PathBuf), Failure> {
        self.start_some(part, flags, REPLICAS)
    }

    fn start_some(&self, part: &str, flags: &'static [&'static str], count: usize) -> Result<(Rig, PathBuf), Failure> {
        self.start_program("interop-replica", part, flags, count)
    }

    fn start_program(
        &self,
        program: &str,
        part: &str,
        flags: &'static [&'static str],
        count: usize,
    ) -> Result<(Rig, PathBuf), Failure> {
        let folder = self.folder.join(part);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let key = folder.join("state.key");
        // Any 32 bytes: nothing here is a secret.
        fs::write(&key, "5c".repeat(32)).map_err(|e| format!("{}: {e}", key.display()))?;
        let (program, ledger) = (self.programs.join(program), ledger(&folder));
        let rig = Rig::start(&folder, count, move |&rig::Place { port, metrics, store }| {
            let mut replica = command(&program.to_string_lossy());
            replica.args(["--metrics", &format!("127.0.0.1:{metrics}")]);
            replica.args(["--http", &format!("127.0.0.1:{port}"), "--store", store, "--state-key-file"]).arg(&key);
            replica.args(["--node-url", &format!("http://127.0.0.1:{port}/mcp")]).args(flags);
            replica.env("INTEROP_LEDGER", &ledger);
            replica
        })?;
        Ok((rig, folder))
    }

    /// Runs a scenario to its end.
    fn client(&self, rig: &Rig, folder: &Path, revision: &str, scenario: &str) -> Result<String, Failure> {
        said(self.spawn(rig, folder, revision, scenario)?, folder, revision, scenario)
    }

    fn spawn(&self, rig: &Rig, folder: &Path, revision: &str, scenario: &str) -> Result<Group, Failure> {
        self.spawn_at(&rig.balancer.url(), rig, folder, revision, scenario)
    }

    /// Starts a client of this URL, which leads to the load balancer.
    fn spawn_at(&self, url: &str, rig: &Rig, folder: &Path, revision: &str, scenario: &str) -> Result<Group, Failure> {
        let mut client: Command = command(&self.programs.join("interop-cluster").to_string_lossy());
        client.args([revision, url, scenario]).args(rig.replicas.iter().map(rig::Process::url));
        client.env("INTEROP_LEDGER", ledger(folder));
        let log = log(folder, revision, scenario);
        let _ = fs::remove_file(&log);
        Group::start(&mut client, &log)
    }
}

fn ledger(folder: &Path) -> PathBuf {
    folder.join("ledger")
}

fn log(folder: &Path, revision: &str, scenario: &str) -> PathBuf {
    folder.join("logs").join(format!("{revision}-{scenario}.log"))
}

/// Waits for a scenario, and returns its last line.
fn said(running: Group, folder: &Path, revision: &str, scenario: &str) -> Result<String, Failure> {
    running.wait(DEADLINE)?;
    let log = log(folder, revision, scenario);
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    match text.lines().rev().find(|line| line.starts_with("ok ") || line.starts_with("FAILED ")) {
        Some(line) if line.starts_with("ok ") => Ok(line[3..].to_owned()),
        Some(line) => Err(line[7..].to_owned()),
        None => Err(format!("it said nothing of use; see {}", log.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valkey_is_used_where_it_is_installed() {
        for (installed, expected) in [
            (&["valkey-server", "redis-server"][..], "valkey-server"),
            (&["valkey-server"], "valkey-server"),
            (&["redis-server"], "redis-server"),
            // The package that is installed then.
            (&[], "redis-server"),
        ] {
            assert_eq!(first_of(&STORES, |program| installed.contains(&program)), expected, "{installed:?}");
        }
    }
}
