//! One server behind each gateway: small calls, large results, long lists.

use serde_json::{Value, json};

use super::{
    super::{results::Results, rig::Rig},
    gateways::{Gateway, Running},
};
use crate::Failure;

/// How many tools there are besides three, and how many when there are many.
const FEW: &str = "100";
const MANY: &str = "997";

/// How many sessions call at the same time.
const SESSIONS: [&str; 2] = ["1", "32"];

/// The revisions of the client in front, as the load generator calls them.
pub(super) const LIVES: [&str; 2] = ["2025", "2026"];

/// Verifies one request of each case; it is enough if one revision is right.
pub(super) fn check(rig: &Rig, gateway: Gateway) -> Result<(), Failure> {
    let running = gateway.start(rig, FEW)?;
    let right: Vec<Result<(), Failure>> = LIVES.map(|life| right(rig, gateway, &running, life)).into();
    match (gateway.is_ours(), right.iter().any(Result::is_ok)) {
        (false, true) => Ok(()),
        _ => right.into_iter().collect(),
    }
}

fn right(rig: &Rig, gateway: Gateway, running: &Running, life: &str) -> Result<(), Failure> {
    // Answers may be delayed by the start of the server.
    let url = &running.gateway.url;
    let tools = (103 + gateway.own_tools()).to_string();
    let words = ["check", "--life", life, "--url", url, "--prefix", gateway.prefix(), "--tools", &tools];
    let result = rig.load(&words, &[])?;
    match result["wrong"].as_object() {
        Some(wrong) if wrong.is_empty() => Ok(()),
        _ => Err(format!("wrong answers in {life}: {}", result["wrong"])),
    }
}

/// Measures a gateway.
pub(super) fn run(rig: &Rig, gateway: Gateway, wanted: &[String], results: &mut Results) {
    let has = |part: &str| wanted.iter().any(|wanted| wanted == part);
    let name = gateway.name();
    for life in LIVES {
        if has("calls") {
            for sessions in SESSIONS {
                let measured = with(rig, gateway, FEW, |running| load(rig, gateway, running, life, "echo", sessions));
                results.add("calls", &format!("{life}, {sessions} sessions"), name, measured);
            }
            if gateway == Gateway::Direct {
                let measured = with(rig, gateway, FEW, |running| client(rig, running, life));
                results.add("client", life, name, measured);
            }
        }
        if has("machine") {
            results.add("machine", life, name, machine(&rig.unpinned(), gateway, life));
        }
        if has("big") {
            results.add("big", life, name, with(rig, gateway, FEW, |running| big(rig, gateway, running, life)));
        }
        if has("list") {
            let measured = with(rig, gateway, MANY, |running| load(rig, gateway, running, life, "list", "1"));
            results.add("list", life, name, measured);
        }
    }
}

/// Each measurement has a gateway and a server of its own.
fn with(
    rig: &Rig,
    gateway: Gateway,
    tools: &str,
    measure: impl FnOnce(&Running) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    let measured = measure(&gateway.start(rig, tools)?)?;
    match measured["errors"].as_u64() {
        Some(0) => Ok(measured),
        _ => Err(format!("wrong answers: {}", measured["first_error"])),
    }
}

fn load(
    rig: &Rig,
    gateway: Gateway,
    running: &Running,
    life: &str,
    case: &str,
    connections: &str,
) -> Result<Value, Failure> {
    let (pid, url) = (running.gateway.pid(), &running.gateway.url);
    let words = ["http", "--url", url, "--pid", &pid, "--life", life, "--case", case, "--conns", connections];
    let times = ["--secs", rig.seconds(), "--warm", "0.3", "--limit", "8", "--warm-count", "50", "--min-count", "50"];
    let tools = (1000 + gateway.own_tools()).to_string();
    rig.load(&[&words[..], &times[..], &["--prefix", gateway.prefix(), "--tools", &tools]].concat(), &[])
}

/// Our client, which calls the server directly: with the server it is a whole call.
fn client(rig: &Rig, running: &Running, life: &str) -> Result<Value, Failure> {
    sessions(rig, running, life, "1")
}

/// Sessions of our client, the gateway and the server on all processors, as on a machine that has nothing else to do.
fn machine(rig: &Rig, gateway: Gateway, life: &str) -> Result<Value, Failure> {
    with(rig, gateway, FEW, |running| sessions(rig, running, life, SESSIONS[1]))
}

fn sessions(rig: &Rig, running: &Running, life: &str, count: &str) -> Result<Value, Failure> {
    let words = ["--life", life, "--secs", rig.seconds(), "--sessions", count, "--url", &running.gateway.url];
    let mut measured = rig.client(rig.folders.our("bench-client"), &words, &[])?;
    measured["us_per_call"] = json!(measured["rps"].as_f64().map(|rps| 1e6 / rps));
    // A wrong answer would have ended the client.
    measured["errors"] = json!(0);
    Ok(measured)
}

/// A result of a megabyte: how long it takes, and how much memory it takes more than small calls.
fn big(rig: &Rig, gateway: Gateway, running: &Running, life: &str) -> Result<Value, Failure> {
    let small = load(rig, gateway, running, life, "echo", "1")?;
    let mut big = load(rig, gateway, running, life, "payload-1m", "1")?;
    let grown = big["peak_kb"].as_f64().unwrap_or(f64::NAN) - small["rss_kb"].as_f64().unwrap_or(f64::NAN);
    big["grown_kb"] = json!(grown);
    Ok(big)
}
