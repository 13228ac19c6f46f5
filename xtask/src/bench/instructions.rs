//! Instructions per call, counted by callgrind: they are the same on a busy machine as on a quiet one.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::json;

use super::{
    gateway,
    kits::{Folders, Kit},
    options::Options,
    rig::{Listening, Rig},
    subjects::Transport,
};
use crate::{
    Failure,
    workspace::{capture, command, root},
};

/// What is counted, and the lengths of two runs whose difference is taken: what happens once drops out.
const CASES: [(Transport, &str, usize, usize); 6] = [
    (Transport::Stdio2025, "echo", 100, 600),
    (Transport::Stdio2026, "echo", 100, 600),
    (Transport::Http2025, "echo", 100, 600),
    (Transport::Http2026, "echo", 100, 600),
    (Transport::Stdio2025, "list", 20, 320),
    (Transport::Http2026, "list", 20, 320),
];

/// How many instructions more than recorded are a failure.
const ALLOWED: f64 = 1.02;

/// Instructions per call, by case.
type Counts = BTreeMap<String, u64>;

/// Counts, and compares with what is recorded, or records.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    if capture(command("valgrind").arg("--version")).is_err() {
        println!("bench: not counted: valgrind is not here");
        return Ok(());
    }
    let folders = Folders::new()?;
    folders.build_ours()?;
    let rig = Rig::new(folders, options);
    let mut counts = Counts::new();
    for (transport, case, short, long) in CASES {
        let total = |count| count_run(&rig, transport, case, count);
        let each = (total(long)?.saturating_sub(total(short)?)) / (long - short) as u64;
        let name = format!("{} {case}", transport.name());
        println!("{name}: {each} instructions per call");
        counts.insert(name, each);
    }
    counts.extend(gateway::instructions(&rig)?);
    if options.record { record(&counts) } else { compare(&counts, &recorded()?) }
}

/// All instructions of a server in a run of so many calls.
fn count_run(rig: &Rig, transport: Transport, case: &str, count: usize) -> Result<u64, Failure> {
    let log = rig.folders.bench.join("callgrind.log");
    let log_option = format!("--log-file={}", log.display());
    let server = rig.folders.server(Kit::Couplet);
    let callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", &log_option];
    // On one processor a runtime has one worker, and the workers of several would look for each other's work.
    let command = rig.on_server(callgrind.into_iter().map(str::to_owned).chain(server).collect());
    let count = count.to_string();
    let words = ["--life", transport.life(), "--case", case, "--count", &count, "--warm", "0", "--limit", "120"];
    // A server that is still busy when the next request comes does less than one that has gone to sleep, and which of
    // the two it is would be a matter of luck.
    let words = [&words[..], &["--think", "0.003"]].concat();
    if transport.is_http() {
        let server = Listening::start(&command, "http {port}", "/mcp", &[])?;
        rig.load(&[&["http", "--conns", "1", "--url", &server.url], &words[..]].concat(), &[])?;
        server.end()?;
    } else {
        let command = [command, vec!["stdio".to_owned()]].concat();
        rig.load(&[&["stdio", "--depth", "1"], &words[..]].concat(), &command)?;
    }
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    collected(&text).ok_or_else(|| format!("callgrind counted nothing: {text}"))
}

/// The number on the line of the log that tells the total.
pub(super) fn collected(log: &str) -> Option<u64> {
    let (_, rest) = log.split_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok()
}

fn compare(counts: &Counts, recorded: &Counts) -> Result<(), Failure> {
    let mut worse = Vec::new();
    for (name, count) in counts {
        match recorded.get(name) {
            None => worse.push(format!("`{name}` is not recorded")),
            Some(before) => {
                let ratio = *count as f64 / *before as f64;
                println!("{name}: {count}, recorded {before}, {:+.1} %", (ratio - 1.0) * 100.0);
                if ratio > ALLOWED {
                    worse.push(format!("`{name}` takes {count} instructions instead of {before}"));
                }
            }
        }
    }
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!("{}; `cargo xtask bench --record` if that is meant", worse.join(", ")))
}

fn path() -> PathBuf {
    root().join("bench/instructions.json")
}

fn recorded() -> Result<Counts, Failure> {
    let path = path();
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let compiler = compiler();
    if value["compiler"] != json!(compiler) {
        println!("bench: recorded with {}, counted with {compiler}", value["compiler"]);
    }
    let counts = value["instructions"].as_object().into_iter().flatten();
    Ok(counts.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect())
}

fn record(counts: &Counts) -> Result<(), Failure> {
    let value = json!({ "compiler": compiler(), "instructions": counts });
    fs::write(path(), format!("{value:#}\n")).map_err(|e| format!("{}: {e}", path().display()))
}

/// Another compiler counts otherwise.
pub(super) fn compiler() -> String {
    capture(command("rustc").arg("--version")).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_two_percent_is_too_much() {
        let counts = |count| Counts::from([("a".to_owned(), count)]);
        assert_eq!(compare(&counts(102), &counts(100)), Ok(()));
        assert!(compare(&counts(103), &counts(100)).unwrap_err().contains("`a` takes 103"));
        assert!(compare(&counts(1), &Counts::new()).is_err());
    }

    #[test]
    fn the_total_is_found() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 1234\n"), Some(1234));
        assert_eq!(collected("==1== killed\n"), None);
    }
}
