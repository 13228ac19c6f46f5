//! Clients of other SDKs with servers that people use: one gateway before all servers, and each client with each of them.
//! The steps are in `interop/servers/script.json`; those of `replicas` are for replicas of `couplet-everything` (`replicas.rs`).

use std::{collections::BTreeMap, fs, ops::Add, path::Path, thread};

use serde_json::Value;

use super::{
    Bench, DEADLINE,
    gateway::{BEHIND, listed},
    peer::{Missing, PEERS, Peer, Programs},
    report::{Counts, complaint},
    servers::Servers,
    url,
};
use crate::{
    Failure, gateway,
    gateway::{Names, Pins, Upstream},
    group::{Group, serve},
    workspace::root,
};

/// The variable that names the file with the steps.
pub(super) const SCRIPT: &str = "INTEROP_SCRIPT";

/// The clients that run at the same time. The gateway starts a process of each server for each client with a session.
const AT_ONCE: usize = 2;

/// The steps by server, in the order of the script.
type Steps = BTreeMap<String, Vec<String>>;

/// A client in one revision.
struct Row {
    name: String,
    /// The steps that went as they should, or the reason why the client could not be used.
    passed: Result<Vec<String>, Failure>,
    why: String,
}

/// Each client with each server; then a table.
pub(super) fn suite(bench: &Bench, programs: &Path, servers: &Servers) -> Counts {
    let mut counts = Counts::default();
    let mut clients = Vec::new();
    for peer in PEERS.iter().filter(|peer| !peer.client.is_empty()) {
        match (peer.install)(&bench.folder.join(peer.name)) {
            Ok(programs) => clients.push((peer, programs)),
            Err(missing) => counts = counts + Counts::told(&format!("{} with all servers", peer.name), Err(missing)),
        }
    }
    let broken = |why| Counts::told("clients with all servers", Err(Missing::Broken(why)));
    for (id, server) in BEHIND {
        if let Err(missing) = servers.there(server) {
            counts = counts + Counts::told(&format!("clients with {id}"), Err(missing));
        }
    }
    let folder = bench.logs.join("gateway-foreign");
    let there = BEHIND.iter().filter(|(_, server)| servers.there(*server).is_ok());
    let there: Vec<_> = there.map(|(id, server)| (*id, Upstream::Command(servers.line(*server)))).collect();
    let ids: Vec<&str> = there.iter().map(|(id, _)| *id).collect();
    let couplet = programs.join("couplet");
    let running = gateway::configure(&folder, &there, Names::Prefixed, Pins::On)
        .and_then(|config| serve(|port| gateway::serve(&couplet, &config, port), &folder.join("gateway.log")))
        .and_then(|(group, port)| {
            let names: Vec<String> = ids.iter().map(|id| format!("{id}__")).collect();
            listed(&couplet, &url(&port), &names, &folder.join("state")).map(|()| (group, port))
        });
    let (_gateway, port) = match running {
        Ok(running) => running,
        Err(why) => return counts + broken(why),
    };
    let script = folder.join("script.json");
    let steps = match write_script(&script, &ids, servers) {
        Ok(steps) => steps,
        Err(why) => return counts + broken(why),
    };
    let rows = run(&clients, &port, &script, &folder);
    println!("\n{}\n", table(&rows, &steps));
    rows.iter().map(|row| row.counts(&steps)).fold(counts, Counts::add)
}

/// All clients, in each revision that they can ask for.
fn run(clients: &[(&Peer, Programs)], port: &str, script: &Path, folder: &Path) -> Vec<Row> {
    let offers = |peer: &Peer| peer.client.iter().copied().filter(|offer| *offer != "auto");
    let all: Vec<_> =
        clients.iter().flat_map(|(peer, programs)| offers(peer).map(move |o| (peer, programs, o))).collect();
    let chunks = all.chunks(AT_ONCE).flat_map(|chunk| {
        thread::scope(|scope| {
            let threads: Vec<_> = chunk
                .iter()
                .map(|&(peer, programs, offer)| scope.spawn(move || one(peer, programs, offer, port, script, folder)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread does not panic")).collect::<Vec<_>>()
        })
    });
    chunks.collect()
}

fn one(peer: &Peer, programs: &Programs, offer: &str, port: &str, script: &Path, folder: &Path) -> Row {
    let name = format!("{} {offer}", peer.name);
    let log = folder.join(format!("{}-{offer}.log", peer.name));
    let mut program = programs.client(&[offer, "http", &url(port)]);
    let ended = Group::start(program.env(SCRIPT, script), &log).and_then(|group| group.wait(DEADLINE));
    let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let after = |start: &'static str| said.lines().filter_map(move |line| line.trim_end().strip_prefix(start));
    let agreed = after("revision ").next().unwrap_or_default();
    let passed = match ended {
        Err(why) if agreed.is_empty() => Err(why),
        Ok(_) if agreed != offer => Err(format!("the revision is not {offer}: {}", complaint(&said))),
        _ => Ok(after("ok ").map(str::to_owned).collect()),
    };
    Row { name, passed, why: complaint(&said) }
}

impl Row {
    /// The steps with a server that passed.
    fn passed(&self, steps: &[String]) -> usize {
        self.passed.iter().flatten().filter(|step| steps.contains(step)).count()
    }

    /// A run for each server.
    fn counts(&self, steps: &Steps) -> Counts {
        let told = steps.iter().map(|(server, steps)| {
            let missing: Vec<&str> = steps
                .iter()
                .filter(|step| !self.passed.iter().flatten().any(|p| p == *step))
                .map(String::as_str)
                .collect();
            let outcome = match &self.passed {
                Err(why) => Err(Missing::Broken(why.clone())),
                Ok(_) if missing.is_empty() => Ok(()),
                Ok(_) => Err(Missing::Broken(format!("not {}: {}", missing.join(", "), self.why))),
            };
            Counts::told(&format!("gateway: {} with {server}", self.name), outcome)
        });
        told.fold(Counts::default(), Counts::add)
    }
}

/// Writes the steps for the servers that are there, with what this machine has for the words in them.
fn write_script(path: &Path, ids: &[&str], servers: &Servers) -> Result<Steps, Failure> {
    let (script, steps) = script(&servers.fill(&source()?), ids)?;
    fs::write(path, script).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(steps)
}

/// The text of the script.
pub(super) fn source() -> Result<String, Failure> {
    let path = root().join("interop/servers/script.json");
    fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The script without the servers that are not there, and its steps by server.
fn script(text: &str, ids: &[&str]) -> Result<(String, Steps), Failure> {
    let mut all: Vec<Value> = serde_json::from_str(text).map_err(|e| format!("the script: {e}"))?;
    let mut steps = Steps::new();
    all.retain(|step| {
        let name = step["step"].as_str().unwrap_or_default();
        let server = name.split(' ').next().unwrap_or_default();
        let is_there = ids.contains(&server);
        if is_there {
            steps.entry(server.to_owned()).or_default().push(name.to_owned());
        }
        is_there
    });
    Ok((Value::Array(all).to_string(), steps))
}

/// Clients below each other, servers beside each other: how many steps passed.
fn table(rows: &[Row], steps: &Steps) -> String {
    let head = steps.keys().map(|server| format!("{server:<12}")).collect::<String>();
    let mut lines = vec![format!("{:<24}{}", "through one gateway", head.trim_end())];
    for row in rows {
        let cells = steps.values().map(|steps| format!("{:<12}", format!("{} of {}", row.passed(steps), steps.len())));
        lines.push(format!("{:<24}{}", row.name, cells.collect::<String>().trim_end()));
    }
    lines.push(String::new());
    for (server, steps) in steps {
        let names = steps.iter().map(|step| step.rsplit(' ').next().unwrap_or_default());
        lines.push(format!("{server:<12}{}", names.collect::<Vec<_>>().join(" ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_behind_the_gateway_has_steps() {
        let text = source().unwrap();
        let ids = BEHIND.map(|(id, _)| id);
        let (_, steps) = script(&text, &ids).unwrap();
        assert_eq!(steps.len(), ids.len());
        let all = text.lines().filter(|line| line.contains("\"step\"") && !line.contains("\"replicas "));
        assert_eq!(steps.values().flatten().count(), all.count());
        let (some, steps) = script(&text, &["time"]).unwrap();
        assert_eq!(steps.keys().collect::<Vec<_>>(), ["time"]);
        assert!(!some.contains("everything"));
    }

    #[test]
    fn a_table_counts_steps() {
        let steps = Steps::from([("time".to_owned(), vec!["time list".to_owned(), "time call".to_owned()])]);
        let row = |name: &str, passed| Row { name: name.to_owned(), passed, why: String::new() };
        let rows = [row("a 1", Ok(vec!["time call".to_owned()])), row("b 2", Err("gone".to_owned()))];
        let shown = table(&rows, &steps);
        assert!(shown.contains("a 1                     1 of 2\nb 2                     0 of 2\n"), "{shown}");
        assert!(shown.ends_with("time        list call"), "{shown}");
    }
}
