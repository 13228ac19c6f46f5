//! The parts: what clients do, and what happens to replicas meanwhile.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use super::{
    Cluster, DEADLINE, REPLICAS, REVISIONS, Tally, disturb, ledger,
    rig::{Rig, url},
    said,
};
use crate::{
    Failure,
    interop::{
        self,
        relay::Relay,
        rolling::{self, Disturbance, Place, Replicas},
    },
};

/// What clients do, in both eras.
pub(super) const SCENARIOS: [&str; 8] =
    ["calls", "elicitation", "sampling", "progress", "cancellation", "changes", "task", "task-cancel"];
/// A replica that is paused, in both eras.
const PAUSED: [&str; 1] = ["task-paused"];
/// What only clients with a session do.
const IN_SESSIONS: [&str; 2] = ["delete", "paused"];

impl Cluster {
    pub(super) fn scenarios(&self) -> Result<Tally, Failure> {
        let (rig, folder) = self.start("scenarios", &[])?;
        let mut tally = Tally::default();
        for revision in REVISIONS {
            let only = IN_SESSIONS.into_iter().filter(|_| revision == REVISIONS[0]);
            for scenario in SCENARIOS.into_iter().chain(PAUSED).chain(only) {
                tally.note(&format!("{revision} {scenario}"), self.client(&rig, &folder, revision, scenario));
            }
        }
        Ok(tally)
    }

    pub(super) fn everything(&self) -> Result<Tally, Failure> {
        let (mut rig, folder) = self.start_everything("everything")?;
        let mut tally = Tally::default();
        for revision in REVISIONS {
            tally.note(&format!("{revision} everything"), self.client(&rig, &folder, revision, "everything"));
        }
        for (disturbance, scenario) in
            [(Disturbance::Rolled, "everything-rolled"), (Disturbance::Killed, "everything-killed")]
        {
            self.disturbed(&mut rig, &folder, disturbance, &REVISIONS.map(|r| (r, scenario)), &mut tally)?;
        }
        Ok(tally)
    }

    fn start_everything(&self, part: &str) -> Result<(Rig, PathBuf), Failure> {
        self.start_program("couplet-everything", part, &["--lame-duck", "1"], REPLICAS)
    }

    pub(super) fn peers(&self) -> Result<Tally, Failure> {
        let (rig, folder) = self.start("peers", &["--plain"])?;
        let counts = interop::clients_at(rig.balancer.port, &folder.join("logs"))?;
        Ok(Tally { passed: counts.passed, failed: counts.failed })
    }

    pub(super) fn peers_rolling(&self) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        for (disturbance, seconds) in [(Disturbance::Rolled, 12), (Disturbance::Killed, 16)] {
            let part = format!("peers-{}", disturbance.name());
            let (mut rig, folder) = self.start(&part, &["--plain", "--lame-duck", "1"])?;
            let (logs, ledger) = (folder.join("logs"), ledger(&folder));
            let place = Place { port: rig.balancer.port, logs: &logs, server: Replicas::Counting(&ledger), seconds };
            let mut turns = disturb::Turns::new(disturbance);
            let counts = interop::rolling::clients_while(&place, disturbance, || turns.next(&mut rig.replicas))?;
            tally.add(Tally { passed: counts.passed, failed: counts.failed });
        }
        Ok(tally)
    }

    pub(super) fn peers_everything(&self) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        let (mut rig, folder) = self.start_everything("peers-everything")?;
        let (logs, script) = (folder.join("logs"), folder.join("script.json"));
        interop::replicas::write_script(&script)?;
        for (disturbance, seconds) in [(Disturbance::None, 0), (Disturbance::Rolled, 12), (Disturbance::Killed, 20)] {
            let place = Place { port: rig.balancer.port, logs: &logs, server: Replicas::Everything(&script), seconds };
            let mut turns = disturb::Turns::new(disturbance);
            let counts = interop::rolling::clients_while(&place, disturbance, || turns.next(&mut rig.replicas))?;
            tally.add(Tally { passed: counts.passed, failed: counts.failed });
            if disturbance == Disturbance::None {
                tally.note("healthy cancellations", cancelled(&rig, counts.passed));
            }
            println!("        {} disturbances", turns.taken);
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
        for revision in REVISIONS {
            let name = format!("{revision} task-killed");
            tally.note(&name, self.client(&rig, &folder, revision, "task-killed"));
            rig.restart_ended()?;
        }
        Ok(tally)
    }

    /// Runs scenarios at the same time, while replicas are disturbed. No session is lost, and each can be deleted in the end.
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
            let relay = Relay::start(rig.balancer.port)?;
            let client = self.spawn_at(&url(relay.port), rig, folder, revision, scenario)?;
            running.push((revision, scenario, relay, client));
        }
        let (started, mut turns) = (Instant::now(), disturb::Turns::new(disturbance));
        let mut losses = 0;
        while running.iter_mut().any(|(.., client)| client.ended().is_none()) && started.elapsed() < DEADLINE {
            losses += usize::from(turns.next(&mut rig.replicas)?);
        }
        for (revision, scenario, relay, client) in running {
            let outcome = said(client, folder, revision, scenario).and_then(|said| {
                errors(&said).map_or(Ok(()), |errors| rolling::few(errors, losses))?;
                let sessions = relay.none_lost()?;
                relay.delete_rest(revision)?;
                relay.unknown(revision)?;
                Ok(format!("{said}; {sessions} sessions, none lost"))
            });
            tally.note(&format!("{revision} {scenario}"), outcome);
        }
        println!("        {} disturbances, {losses} replicas killed", turns.taken);
        Ok(())
    }
}

/// The number of errors of a client that goes on after them.
fn errors(said: &str) -> Option<usize> {
    said.split(", ").find_map(|part| part.strip_suffix(" definite errors")?.parse().ok())
}

/// The replicas have ended a call for each client, because it was cancelled.
fn cancelled(rig: &Rig, clients: usize) -> Result<String, Failure> {
    let count = |at| rig.metric(at, "couplet_requests_total{method=\"tools/call\",outcome=\"cancelled\"}");
    // A replica without cancelled calls does not have the metric.
    let calls = (0..rig.replicas.len()).filter_map(|at| count(at).ok()).sum::<f64>();
    match calls >= clients as f64 {
        true => Ok(format!("{calls} calls of {clients} clients")),
        false => Err(format!("{calls} calls of {clients} clients were cancelled")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_where_a_client_says_so() {
        assert_eq!(errors("3 rounds, 1 client, 12 definite errors"), Some(12));
        assert_eq!(errors("300 paid, 2 failed with a definite error, none twice"), None);
    }
}
