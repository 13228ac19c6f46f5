//! Instructions of our gateway per call, counted by callgrind, beside those of a server that is called directly.

use std::fs;

use serde_json::json;

use super::{
    super::{instructions::collected, kits::Kit, results::Results, rig::Rig},
    calls::LIVES,
    gateways::couplet_under,
};
use crate::{
    Failure,
    gateway::{Names, Upstream},
    workspace::{capture, command},
};

/// The lengths of two runs whose difference is taken: what happens once drops out.
const SHORT: usize = 100;
const LONG: usize = 600;

/// How many functions are named.
const FUNCTIONS: usize = 40;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// The server, which is called directly.
    Server,
    /// The gateway, which starts the server.
    Stdio,
    /// The gateway, which connects to the server.
    Http,
}

impl Counted {
    const fn name(self) -> &'static str {
        match self {
            Self::Server => "direct",
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

/// Counts, and leaves a profile of each case beside the results.
pub(super) fn run(rig: &Rig, results: &mut Results) {
    if capture(command("valgrind").arg("--version")).is_err() {
        println!("bench: not counted: valgrind is not here");
        return;
    }
    for life in LIVES {
        for counted in [Counted::Server, Counted::Stdio, Counted::Http] {
            let measured = each(rig, counted, life).map(|each| json!({ "instructions": each }));
            results.add("instructions", life, counted.name(), measured);
        }
    }
}

/// The instructions that the gateway adds to a call, by case.
pub(super) fn added(rig: &Rig) -> Result<Vec<(String, u64)>, Failure> {
    let cases = LIVES.iter().flat_map(|life| [(*life, Counted::Stdio), (*life, Counted::Http)]);
    let named = |life: &str, counted: Counted| format!("gateway {life}, {} behind", counted.name());
    cases.map(|(life, counted)| Ok((named(life, counted), each(rig, counted, life)?))).collect()
}

/// Instructions per call.
fn each(rig: &Rig, counted: Counted, life: &str) -> Result<u64, Failure> {
    let total = |count| count_run(rig, counted, life, count);
    let short = total(SHORT)?;
    let each = total(LONG)?.saturating_sub(short) / (LONG - SHORT) as u64;
    println!("{life} {}: {each} instructions per call", counted.name());
    Ok(each)
}

/// All instructions of a program in a run of so many calls.
fn count_run(rig: &Rig, counted: Counted, life: &str, count: usize) -> Result<u64, Failure> {
    let profile = rig.folders.bench.join(format!("gateway-{life}-{}.callgrind", counted.name()));
    let log = rig.folders.bench.join("callgrind.log");
    let out = format!("--callgrind-out-file={}", profile.display());
    let log_file = format!("--log-file={}", log.display());
    let callgrind = ["valgrind", "--tool=callgrind", &out, &log_file].map(str::to_owned);
    let server = rig.folders.server(Kit::Couplet);
    let stdio = || Upstream::Command(server.iter().cloned().chain(["stdio".to_owned()]).collect());
    let mut behind = None;
    let listening = match counted {
        Counted::Server => rig.listen([&callgrind[..], &server].concat(), "http {port}")?,
        Counted::Stdio => couplet_under(rig, &callgrind, &[("bench", stdio())], Names::Bare)?.gateway,
        Counted::Http => {
            let server = behind.insert(rig.listen(server.clone(), "http {port}")?);
            couplet_under(rig, &callgrind, &[("bench", Upstream::Url(server.url.clone()))], Names::Bare)?.gateway
        }
    };
    let count = count.to_string();
    let words = ["http", "--conns", "1", "--url", &listening.url, "--life", life, "--case", "echo", "--count", &count];
    // A program that is still busy when the next request comes does less than one that has gone to sleep.
    let result = rig.load(&[&words[..], &["--warm", "0", "--limit", "120", "--think", "0.003"]].concat(), &[])?;
    if result["errors"].as_u64() != Some(0) {
        return Err(format!("wrong answers: {}", result["first_error"]));
    }
    listening.end()?;
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    annotate(&profile.to_string_lossy());
    collected(&text).ok_or_else(|| format!("callgrind counted nothing: {text}"))
}

/// Writes the functions with the most instructions beside a profile.
fn annotate(profile: &str) {
    let functions = capture(command("callgrind_annotate").arg("--auto=no").arg(profile)).unwrap_or_default();
    let lines = functions.lines().filter(|line| line.contains('%')).take(FUNCTIONS);
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    let _ = fs::write(format!("{profile}.txt"), text);
}
