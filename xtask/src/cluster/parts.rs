//! The parts: what clients do, and what happens to replicas and to Redis meanwhile.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Cluster, DEADLINE, REPLICAS, REVISIONS, Tally, disturb, ledger, rig::Rig, said};
use crate::{
    Failure,
    interop::{
        self,
        rolling::{Disturbance, Place},
    },
};

/// What clients do, in both eras.
const SCENARIOS: [&str; 8] =
    ["calls", "elicitation", "sampling", "progress", "cancellation", "changes", "task", "task-cancel"];
/// What only clients with a session do.
const IN_SESSIONS: [&str; 2] = ["delete", "paused"];
/// How long Redis is away: for longer than a lease.
const AWAY: Duration = Duration::from_secs(30);
/// The time that clients have until their calls are under way.
const READY: Duration = Duration::from_secs(30);
/// How many warnings there may be of an outage.
const WARNINGS: usize = 12;

impl Cluster {
    pub(super) fn scenarios(&self) -> Result<Tally, Failure> {
        let (rig, folder) = self.start("scenarios", &[])?;
        let mut tally = Tally::default();
        for revision in REVISIONS {
            let only = IN_SESSIONS.into_iter().filter(|_| revision == REVISIONS[0]);
            for scenario in SCENARIOS.into_iter().chain(only) {
                tally.note(&format!("{revision} {scenario}"), self.client(&rig, &folder, revision, scenario));
            }
        }
        Ok(tally)
    }

    pub(super) fn everything(&self) -> Result<Tally, Failure> {
        let (mut rig, folder) =
            self.start_program("couplet-everything", "everything", &["--lame-duck", "1"], REPLICAS)?;
        let mut tally = Tally::default();
        for revision in REVISIONS {
            tally.note(&format!("{revision} everything"), self.client(&rig, &folder, revision, "everything"));
        }
        self.disturbed(
            &mut rig,
            &folder,
            Disturbance::Rolled,
            &REVISIONS.map(|r| (r, "everything-rolled")),
            &mut tally,
        )?;
        Ok(tally)
    }

    pub(super) fn peers(&self) -> Result<Tally, Failure> {
        let (rig, folder) = self.start("peers", &["--plain"])?;
        let counts = interop::clients_at(rig.balancer.port, &folder.join("logs"))?;
        Ok(Tally { passed: counts.passed, failed: counts.failed })
    }

    pub(super) fn peers_rolling(&self) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        for (disturbance, seconds) in [(Disturbance::Rolled, 15), (Disturbance::Killed, 20)] {
            let part = format!("peers-{}", disturbance.name());
            let (mut rig, folder) = self.start(&part, &["--plain", "--lame-duck", "1"])?;
            let (logs, ledger) = (folder.join("logs"), ledger(&folder));
            let place = Place { port: rig.balancer.port, logs: &logs, ledger: &ledger, seconds };
            let mut turns = disturb::Turns::new(disturbance);
            let counts = interop::rolling::clients_while(&place, disturbance, || turns.next(&mut rig.replicas))?;
            tally.add(Tally { passed: counts.passed, failed: counts.failed });
        }
        Ok(tally)
    }

    pub(super) fn chaos(&self) -> Result<Tally, Failure> {
        let (mut rig, folder) = self.start("chaos", &[])?;
        let mut tally = Tally::default();
        let pay = REVISIONS.map(|revision| ["pay", "pay-once"].map(|scenario| (revision, scenario)));
        self.disturbed(&mut rig, &folder, Disturbance::Killed, pay.as_flattened(), &mut tally)?;
        // These kill the replica that they are about.
        for scenario in ["resume-forwarded", "resume"] {
            let name = format!("{} {scenario}", REVISIONS[0]);
            tally.note(&name, self.client(&rig, &folder, REVISIONS[0], scenario));
            rig.restart_ended()?;
        }
        Ok(tally)
    }

    /// Runs scenarios at the same time, while replicas are disturbed.
    fn disturbed(
        &self,
        rig: &mut Rig,
        folder: &Path,
        disturbance: Disturbance,
        scenarios: &[(&str, &str)],
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let mut running = Vec::new();
        for (revision, scenario) in scenarios {
            running.push((revision, scenario, self.spawn(rig, folder, revision, scenario)?));
        }
        let (started, mut turns) = (Instant::now(), disturb::Turns::new(disturbance));
        while running.iter_mut().any(|(_, _, client)| client.ended().is_none()) && started.elapsed() < DEADLINE {
            turns.next(&mut rig.replicas)?;
        }
        for (revision, scenario, client) in running {
            tally.note(&format!("{revision} {scenario}"), said(client, folder, revision, scenario));
        }
        println!("        {} disturbances", turns.taken);
        Ok(())
    }

    pub(super) fn outage(&self) -> Result<Tally, Failure> {
        let (mut rig, folder) = self.start("outage", &[])?;
        let mut tally = Tally::default();
        self.without_redis(&mut rig, &folder, &mut tally)?;
        for revision in REVISIONS {
            for scenario in SCENARIOS {
                let name = format!("{revision} {scenario} with an empty Redis");
                tally.note(&name, self.client(&rig, &folder, revision, scenario));
            }
        }
        rig.redis.signal("STOP")?;
        tally.note("2026-07-28 calls with a stopped Redis", self.client(&rig, &folder, REVISIONS[1], "calls"));
        rig.redis.signal("CONT")?;
        Ok(tally)
    }

    /// Redis is away for a while with calls under way, and comes back without its data.
    fn without_redis(&self, rig: &mut Rig, folder: &Path, tally: &mut Tally) -> Result<(), Failure> {
        let running =
            [(REVISIONS[0], "outage-sessions"), (REVISIONS[1], "outage-stateless")].map(|(revision, scenario)| {
                self.spawn(rig, folder, revision, scenario).map(|client| (revision, scenario, client))
            });
        let mut running = running.into_iter().collect::<Result<Vec<_>, _>>()?;
        let is_ready = |text: &str| REVISIONS.iter().all(|revision| text.contains(&format!("ready {revision}\n")));
        let started = Instant::now();
        while !fs::read_to_string(ledger(folder)).is_ok_and(|text| is_ready(&text)) {
            let ended = running.iter_mut().any(|(_, _, client)| client.ended().is_some());
            if ended || started.elapsed() > READY {
                break;
            }
            sleep(Duration::from_millis(50));
        }
        rig.redis.kill();
        append(&ledger(folder), "away\n")?;
        sleep(AWAY);
        rig.redis.start()?;
        append(&ledger(folder), "back\n")?;
        for (revision, scenario, client) in running {
            tally.note(&format!("{revision} {scenario}"), said(client, folder, revision, scenario));
        }
        for at in 0..rig.replicas.len() {
            let errors = rig.metric(at, "couplet_store_errors_total{store=\"sessions\"}");
            let outcome = errors.and_then(|errors| noticed(&rig.replicas[at].log()?, errors));
            tally.note(&format!("what replica {at} says of it"), outcome);
        }
        Ok(())
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
