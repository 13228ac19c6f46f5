//! The part `outage`: what happens to Redis while clients have calls under way, or before replicas are started. The replicas
//! document says what comes of it.
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

use super::{
    Cluster, REVISIONS, Tally, ledger,
    parts::SCENARIOS,
    rig::{Process, Rig},
    said,
};
use crate::{Failure, group::Group};

/// The time that clients have until their calls are under way, or until they have seen what there is without Redis.
const WRITTEN: Duration = Duration::from_secs(60);
/// How many warnings there may be of an outage.
const WARNINGS: usize = 12;

/// Something that happens to Redis.
struct Case {
    name: &'static str,
    scenarios: [&'static str; 2],
    begin: fn(&mut Rig) -> Result<(), Failure>,
    end: fn(&mut Rig) -> Result<(), Failure>,
    lasts: Lasts,
}

/// How long a case lasts.
enum Lasts {
    For(Duration),
    /// Until the clients write `seen <case> <revision>` into the ledger, or end.
    UntilSeen,
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
    lasts: Lasts::For(Duration::from_secs(30)),
};

/// It ends, and starts again with its data: after more than a lease.
const KEPT: Case = Case {
    name: "kept",
    scenarios: ["kept-sessions", "kept-stateless"],
    begin: |rig| {
        order(rig, "SAVE")?;
        rig.redis.kill();
        Ok(())
    },
    end: |rig| {
        rig.redis.start()?;
        // The next case is not to find it.
        fs::remove_file(&rig.dump).map_err(|e| format!("{}: {e}", rig.dump.display()))
    },
    lasts: Lasts::For(Duration::from_secs(30)),
};

/// It is away when the replicas are started.
const START: Case = Case {
    name: "start",
    scenarios: ["refused", "refused-stateless"],
    begin: |rig| {
        rig.redis.kill();
        rig.replicas.iter_mut().for_each(Process::kill);
        rig.replicas.iter_mut().try_for_each(Process::start)
    },
    end: |rig| rig.redis.start(),
    lasts: Lasts::UntilSeen,
};

/// It has no room, for more than a lease.
const FULL: Case = Case {
    name: "full",
    scenarios: ["full-sessions", "full-stateless"],
    begin: |rig| order(rig, "CONFIG SET maxmemory 1"),
    end: |rig| order(rig, "CONFIG SET maxmemory 0"),
    lasts: Lasts::For(Duration::from_secs(18)),
};

/// It answers nothing, for more than the timeout of an operation and less than a lease: sessions stay at their owners. A
/// hang of more than a lease is not tried: no lease is renewed in it, as in `KEPT`.
const SLOW: Case = Case {
    name: "slow",
    scenarios: ["slow-sessions", "slow-stateless"],
    begin: |rig| rig.redis.signal("STOP"),
    end: |rig| rig.redis.signal("CONT"),
    lasts: Lasts::For(Duration::from_secs(8)),
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
        self.case(&KEPT, &mut rig, &folder, &mut tally)?;
        self.case(&START, &mut rig, &folder, &mut tally)?;
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
        all_write("ready", case, folder, &mut running);
        (case.begin)(rig)?;
        append(&ledger(folder), &format!("{} begins\n", case.name))?;
        match case.lasts {
            Lasts::For(time) => sleep(time),
            Lasts::UntilSeen => all_write("seen", case, folder, &mut running),
        }
        (case.end)(rig)?;
        append(&ledger(folder), &format!("{} ends\n", case.name))?;
        for (revision, scenario, client) in running {
            tally.note(&format!("{revision} {scenario}"), said(client, folder, revision, scenario));
        }
        Ok(())
    }
}

/// Waits until the clients of all revisions have written `<what> <case> <revision>`, or one of them has ended.
fn all_write(what: &str, case: &Case, folder: &Path, running: &mut [(&str, &str, Group)]) {
    let lines = REVISIONS.map(|revision| format!("{what} {} {revision}\n", case.name));
    let is_written = |text: &str| lines.iter().all(|line| text.contains(line));
    let started = Instant::now();
    while !fs::read_to_string(ledger(folder)).is_ok_and(|text| is_written(&text)) {
        let has_ended = running.iter_mut().any(|(_, _, client)| client.ended().is_some());
        if has_ended || started.elapsed() > WRITTEN {
            break;
        }
        sleep(Duration::from_millis(50));
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
