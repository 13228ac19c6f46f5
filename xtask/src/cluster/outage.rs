//! The part `outage`: what happens to Redis while clients have calls under way. The replicas document says what comes of it.
//!
//! Clients write `ready <case> <revision>` into the ledger when their calls are under way, and read from it when the case
//! begins and when it ends.

use std::{
    fs::{self, OpenOptions},
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Cluster, REVISIONS, Tally, ledger, parts::SCENARIOS, rig::Rig, said};
use crate::Failure;

/// The time that clients have until their calls are under way.
const READY: Duration = Duration::from_secs(30);
/// How many warnings there may be of an outage.
const WARNINGS: usize = 12;

/// Something that happens to Redis.
struct Case {
    name: &'static str,
    scenarios: [&'static str; 2],
    begin: fn(&mut Rig) -> Result<(), Failure>,
    end: fn(&mut Rig) -> Result<(), Failure>,
    lasts: Duration,
}

/// It ends, and starts again without its data: after more than a lease.
const AWAY: Case = Case {
    name: "away",
    scenarios: ["outage-sessions", "outage-stateless"],
    begin: |rig| {
        rig.redis.kill();
        Ok(())
    },
    end: |rig| rig.redis.start(),
    lasts: Duration::from_secs(30),
};

/// It has no room, for more than a lease.
const FULL: Case = Case {
    name: "full",
    scenarios: ["full-sessions", "full-stateless"],
    begin: |rig| order(rig, "CONFIG SET maxmemory 1"),
    end: |rig| order(rig, "CONFIG SET maxmemory 0"),
    lasts: Duration::from_secs(18),
};

/// It answers nothing, for more than the timeout of an operation and less than a lease.
const SLOW: Case = Case {
    name: "slow",
    scenarios: ["slow-sessions", "slow-stateless"],
    begin: |rig| rig.redis.signal("STOP"),
    end: |rig| rig.redis.signal("CONT"),
    lasts: Duration::from_secs(8),
};

impl Cluster {
    pub(super) fn outage(&self) -> Result<Tally, Failure> {
        let (mut rig, folder) = self.start("outage", &[])?;
        let mut tally = Tally::default();
        self.case(&AWAY, &mut rig, &folder, &mut tally)?;
        for at in 0..rig.replicas.len() {
            let errors = rig.metric(at, "couplet_store_errors_total{store=\"sessions\"}");
            let outcome = rig.replicas[at].log().and_then(|log| noticed(&log, errors?));
            tally.note(&format!("replica {at} without Redis"), outcome);
        }
        for revision in REVISIONS {
            for scenario in SCENARIOS {
                let name = format!("{revision} {scenario} with an empty Redis");
                tally.note(&name, self.client(&rig, &folder, revision, scenario));
            }
        }
        self.case(&FULL, &mut rig, &folder, &mut tally)?;
        self.case(&SLOW, &mut rig, &folder, &mut tally)?;
        for revision in REVISIONS {
            let name = format!("{revision} elicitation after that");
            tally.note(&name, self.client(&rig, &folder, revision, "elicitation"));
        }
        Ok(tally)
    }

    /// Runs the clients of both eras, and the case while their calls are under way.
    fn case(&self, case: &Case, rig: &mut Rig, folder: &Path, tally: &mut Tally) -> Result<(), Failure> {
        let mut running = Vec::new();
        for (revision, scenario) in REVISIONS.into_iter().zip(case.scenarios) {
            running.push((revision, scenario, self.spawn(rig, folder, revision, scenario)?));
        }
        let ready = REVISIONS.map(|revision| format!("ready {} {revision}\n", case.name));
        let is_ready = |text: &str| ready.iter().all(|line| text.contains(line));
        let started = Instant::now();
        while !fs::read_to_string(ledger(folder)).is_ok_and(|text| is_ready(&text)) {
            let ended = running.iter_mut().any(|(_, _, client)| client.ended().is_some());
            if ended || started.elapsed() > READY {
                break;
            }
            sleep(Duration::from_millis(50));
        }
        (case.begin)(rig)?;
        append(&ledger(folder), &format!("{} begins\n", case.name))?;
        sleep(case.lasts);
        (case.end)(rig)?;
        append(&ledger(folder), &format!("{} ends\n", case.name))?;
        for (revision, scenario, client) in running {
            tally.note(&format!("{revision} {scenario}"), said(client, folder, revision, scenario));
        }
        Ok(())
    }
}

/// Sends Redis a command.
fn order(rig: &Rig, command: &str) -> Result<(), Failure> {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, rig.redis.port))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut reply = [0; 64];
        let read = stream.read(&mut reply)?;
        Ok(String::from_utf8_lossy(&reply[..read]).into_owned())
    };
    match ask().map_err(|e: std::io::Error| format!("`{command}`: {e}"))? {
        ok if ok == "+OK\r\n" => Ok(()),
        other => Err(format!("`{command}`: {other}")),
    }
}

/// The log of a replica says once that Redis was away, and once that it was back, however many requests there were.
fn noticed(log: &str, errors: f64) -> Result<String, Failure> {
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    let (away, back, warnings) = (count("redis is away"), count("redis is back"), count(" WARN ") + count(" ERROR "));
    if (away, back) != (1, 1) || warnings > WARNINGS {
        return Err(format!("{away} lines say that Redis is away, {back} that it is back; {warnings} warnings"));
    }
    if errors < 1.0 {
        return Err("`couplet_store_errors_total` does not count it".to_owned());
    }
    Ok(format!("one line each that Redis is away and back, {warnings} warnings, {errors} errors counted"))
}

fn append(path: &Path, line: &str) -> Result<(), Failure> {
    let open = OpenOptions::new().create(true).append(true).open(path);
    open.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|e| format!("{}: {e}", path.display()))
}
