//! The suites: which cases, in which order.

use serde_json::{Value, json};

use super::{
    kits::{Kit, crates, peers, stripped},
    options::Options,
    results::Results,
    rig::Rig,
    subjects::{Subject, Transport},
};
use crate::{Failure, workspace::root};

/// How many requests are in flight.
const DEPTHS: [&str; 3] = ["1", "16", "64"];

/// How many tools there are besides three, and how many idle sessions, when there are many: 10,000 in all.
const MANY_TOOLS: &str = "9997";
const MANY_SESSIONS: &str = "9984";

/// Runs the suites, all subjects one after the other in each round.
pub(super) fn run(rig: &Rig, subjects: &[Subject], options: &Options, results: &mut Results) {
    for round in 1..=options.rounds {
        println!("-- round {round} of {}", options.rounds);
        if options.has("echo") {
            for depth in DEPTHS {
                for subject in subjects {
                    calls(rig, subject, "echo", "echo", depth, results);
                }
            }
        }
        if options.has("list") {
            for subject in main_transports(subjects) {
                calls(rig, subject, "list", "list", "16", results);
            }
        }
        if options.has("big") {
            for case in ["payload-100k", "payload-1m", "arg-1m"] {
                for subject in main_transports(subjects) {
                    calls(rig, subject, "big", case, "4", results);
                }
            }
        }
        if options.has("sessions") {
            sessions(rig, subjects, results);
        }
        if options.has("cold") {
            cold(rig, subjects, results);
        }
        if options.has("client") {
            clients(rig, subjects, results);
        }
        if options.has("flat") {
            flat(rig, subjects, results);
        }
    }
    if options.has("size") {
        sizes(rig, subjects, results);
    }
    if options.has("build") {
        builds(rig, subjects, results);
    }
}

/// Lists and payloads are measured on stdio and on HTTP once each, whatever the revision.
fn main_transports(subjects: &[Subject]) -> impl Iterator<Item = &Subject> {
    let has_2025 = |subject: &Subject| {
        subjects.iter().any(|other| other.name == subject.name && other.transport == Transport::Stdio2025)
    };
    subjects.iter().filter(move |subject| match subject.transport {
        Transport::Stdio2025 | Transport::Http2026 => true,
        Transport::Stdio2026 => !has_2025(subject),
        Transport::Http2025 => false,
    })
}

fn calls(rig: &Rig, subject: &Subject, suite: &'static str, case: &str, depth: &str, results: &mut Results) {
    let outcome = throughput(rig, subject, case, depth, &[], &[]);
    let shown = format!("{} {case}, {depth} in flight", subject.transport.name());
    results.add(suite, &shown, subject.name, outcome);
}

/// One measurement with a server of its own.
fn throughput(
    rig: &Rig,
    subject: &Subject,
    case: &str,
    depth: &str,
    more: &[&str],
    variables: &[(&str, &str)],
) -> Result<Value, Failure> {
    let warm = if rig.quick { "0.1" } else { "0.3" };
    let life = subject.transport.life();
    let mut words = vec!["--life", life, "--case", case, "--secs", rig.seconds(), "--warm", warm, "--limit", "8"];
    if suite_is_small(case) {
        words.extend(["--warm-count", "50", "--min-count", "100"]);
    }
    words.extend_from_slice(more);
    if !subject.transport.is_http() {
        words.splice(0..0, ["stdio", "--depth", depth]);
        // `env` starts the server with the variables and becomes it.
        let mut command = rig.stdio(subject);
        let variables = variables.iter().map(|(name, value)| format!("{name}={value}"));
        command.splice(0..0, std::iter::once("env".to_owned()).chain(variables));
        return rig.load(&words, &command);
    }
    let server = rig.http(subject, variables)?;
    let pid = server.pid();
    words.splice(0..0, ["http", "--conns", depth, "--url", &server.url, "--pid", &pid]);
    rig.load(&words, &[])
}

/// Whether a case is so small that many requests can be waited for.
fn suite_is_small(case: &str) -> bool {
    matches!(case, "echo" | "list")
}

fn sessions(rig: &Rig, subjects: &[Subject], results: &mut Results) {
    for subject in subjects.iter().filter(|subject| subject.transport == Transport::Http2025) {
        // What is interpreted takes minutes for the many, and what it takes for the few says enough.
        // One more opens first; together they are what Couplet allows where nothing else is said.
        let count = if subject.kit.is_rust() && !rig.quick { "9999" } else { "999" };
        let outcome = rig.http(subject, &[]).and_then(|server| {
            rig.load(&["sessions", "--count", count, "--url", &server.url, "--pid", &server.pid()], &[])
        });
        results.add("sessions", "open sessions", subject.name, outcome);
    }
}

fn cold(rig: &Rig, subjects: &[Subject], results: &mut Results) {
    let runs = if rig.quick { "3" } else { "10" };
    let mut commands: Vec<(&str, Vec<String>)> = Vec::new();
    for subject in subjects.iter().filter(|subject| subject.transport == Transport::Stdio2025) {
        commands.push((subject.name, rig.stdio(subject)));
        if let Some((name, program)) = minimal(rig, subject) {
            commands.push((name, rig.on_server(vec![program])));
        }
    }
    for (name, command) in commands {
        results.add("cold", "from start to first answer", name, rig.load(&["cold", "--runs", runs], &command));
    }
}

/// The smallest server of a kit, where there is one.
fn minimal(rig: &Rig, subject: &Subject) -> Option<(&'static str, String)> {
    match subject.name {
        "couplet" => Some(("couplet-minimal", rig.folders.our("bench-minimal"))),
        "rmcp" => Some(("rmcp-minimal", rig.folders.peer("bench-rmcp-minimal"))),
        _ => None,
    }
}

/// Calls of the clients to the same bare server.
fn clients(rig: &Rig, subjects: &[Subject], results: &mut Results) {
    let bare = |words| Subject { name: "bare", kit: Kit::Bare, transport: Transport::Http2025, words };
    for (transport, life) in [("stdio", "2025"), ("stdio", "2026"), ("http", "2025"), ("http", "2026")] {
        for depth in DEPTHS {
            for kit in [Kit::Couplet, Kit::Rmcp].into_iter().filter(|kit| subjects.iter().any(|s| s.kit == *kit)) {
                let program = match kit {
                    Kit::Couplet => rig.folders.our("bench-client"),
                    _ => rig.folders.peer("bench-rmcp-client"),
                };
                let words = ["--life", life, "--depth", depth, "--secs", rig.seconds()];
                let outcome = if transport == "stdio" {
                    rig.client(program, &words, &rig.stdio(&bare("stdio")))
                } else {
                    rig.http(&bare("http {port}"), &[])
                        .and_then(|server| rig.client(program, &[&words[..], &["--url", &server.url]].concat(), &[]))
                };
                results.add("client", &format!("{transport}-{life} echo, {depth} in flight"), kit.name(), outcome);
            }
        }
    }
}

/// Whether a call costs the same however many sessions are open and however many tools there are.
fn flat(rig: &Rig, subjects: &[Subject], results: &mut Results) {
    for subject in subjects.iter().filter(|subject| subject.name == "couplet") {
        let case = format!("{} echo, 16 in flight", subject.transport.name());
        for (name, tools) in [("3 tools", "0"), ("10,000 tools", MANY_TOOLS)] {
            let outcome = throughput(rig, subject, "echo", "16", &[], &[("BENCH_TOOLS", tools)]);
            results.add("flat", &case, name, outcome);
        }
        if subject.transport == Transport::Http2025 {
            for (name, sessions) in [("16 sessions", "0"), ("10,000 sessions", MANY_SESSIONS)] {
                let outcome = throughput(rig, subject, "echo", "16", &["--sessions", sessions], &[]);
                results.add("flat", &case, name, outcome);
            }
        }
    }
}

fn rust_kits(subjects: &[Subject]) -> Vec<Kit> {
    let mut kits: Vec<Kit> = subjects.iter().map(|subject| subject.kit).filter(|kit| kit.is_rust()).collect();
    kits.dedup();
    kits
}

/// What it takes to build each server once, with everything that it needs.
fn builds(rig: &Rig, subjects: &[Subject], results: &mut Results) {
    for kit in rust_kits(subjects) {
        let outcome = match kit {
            // It is built together with what measures.
            Kit::Bare => continue,
            Kit::Couplet => rig.folders.build_anew(&root(), &["--package", "couplet-bench", "--bin", "bench-server"]),
            _ => rig.folders.build_anew(&peers().join(kit.name()), &["--bin", &format!("bench-{}", kit.name())]),
        };
        results.add("build", "a server", kit.name(), outcome);
        if !matches!(kit, Kit::Couplet | Kit::Rmcp) {
            continue;
        }
        let folder = peers().join("stdio").join(kit.name());
        for (case, flags) in [("a stdio server", &[][..]), ("a stdio server with optimizations", &["--release"])] {
            results.add("build", case, kit.name(), rig.folders.build_anew(&folder, flags));
        }
    }
}

fn sizes(rig: &Rig, subjects: &[Subject], results: &mut Results) {
    for kit in rust_kits(subjects) {
        let program = rig.folders.server(kit).pop().unwrap_or_default();
        let count = match kit {
            // It is built together with what measures.
            Kit::Bare => None,
            Kit::Couplet => crates(&root(), &["--package", "couplet-bench"]),
            _ => crates(&peers().join(kit.name()), &[]),
        };
        size(kit.name(), &program, count, results);
        match kit {
            Kit::Couplet => {
                let count = crates(&root(), &["--package", "couplet"]);
                size("couplet-minimal", &rig.folders.our("bench-minimal"), count, results);
            }
            Kit::Rmcp => size("rmcp-minimal", &rig.folders.peer("bench-rmcp-minimal"), None, results),
            _ => {}
        }
    }
}

fn size(name: &str, program: &str, crates: Option<usize>, results: &mut Results) {
    let megabytes = stripped(program).map(|bytes| bytes as f64 / 1e6);
    results.add("size", "what is built", name, Ok(json!({ "stripped_mb": megabytes, "crates": crates })));
}
