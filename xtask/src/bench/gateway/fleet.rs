//! Ten servers behind our gateway, four of which do not work: do the others notice?

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    super::{
        kits::Kit,
        results::Results,
        rig::{Rig, free_address},
    },
    gateways::{Running, Servers, couplet},
};
use crate::{
    Failure,
    gateway::{Names, Upstream},
};

/// The servers that work, and the tools of all of them.
const SOUND: [&str; 6] = ["s1", "s2", "s3", "s4", "s5", "s6"];
const TOOLS: &str = "618";

/// How many connections call.
const CONNECTIONS: &str = "8";

/// The bounds of the first list and of the next ones, in milliseconds.
const BOUNDS: [(&str, f64); 2] = [("cold_ms", 1200.0), ("warm_ms", 5.0)];

/// Fails if a list took longer than its bound in every round, or was not measured.
pub(super) fn check(results: &Results) -> Result<(), Failure> {
    let least = |name: &str, key: &str| Some(results.best("fleet", "2026", name, key)?.least);
    let wrong: Vec<_> =
        results.names("fleet", "2026").into_iter().flat_map(|name| exceeded(name, |key| least(name, key))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The bounds that do not hold.
fn exceeded(name: &str, value: impl Fn(&str) -> Option<f64>) -> Vec<Failure> {
    let wrong = |(key, bound): (&str, f64)| match value(key) {
        Some(value) if value <= bound => None,
        Some(value) => Some(format!("fleet, {name}: `{key}` is {value:.1}, more than {bound}")),
        None => Some(format!("fleet, {name}: `{key}` was not measured")),
    };
    BOUNDS.into_iter().filter_map(wrong).collect()
}

/// Measures the sound servers alone, and with the others.
pub(super) fn run(rig: &Rig, results: &mut Results) {
    for (name, servers) in [("6 sound servers", sound(rig)), ("and 4 that fail", all(rig))] {
        results.add("fleet", "2026", name, servers.and_then(|servers| measure(rig, &servers)));
    }
}

fn sound(rig: &Rig) -> Result<Vec<(&'static str, Upstream)>, Failure> {
    let server: Vec<String> = rig.folders.server(Kit::Couplet).into_iter().chain(["stdio".to_owned()]).collect();
    Ok(SOUND.map(|id| (id, Upstream::Command(server.clone()))).into())
}

/// One is down, one hangs, one writes without an end what is no message, one ends at once.
fn all(rig: &Rig) -> Result<Vec<(&'static str, Upstream)>, Failure> {
    let shell = |script: &str| Upstream::Command(["sh", "-c", script].map(str::to_owned).to_vec());
    let failing = [
        ("down", Upstream::Url(format!("http://{}/mcp", free_address()?))),
        ("hangs", shell("cat > /dev/null")),
        ("floods", shell("exec yes 'this is no message'")),
        ("crashes", shell("echo 'there is no database' >&2; exit 1")),
    ];
    Ok(sound(rig)?.into_iter().chain(failing).collect())
}

fn measure(rig: &Rig, servers: &Servers<'_>) -> Result<Value, Failure> {
    let started = Instant::now();
    let running = couplet(rig, servers, Names::Prefixed)?;
    let listening = started.elapsed();
    let cold = load(rig, &running, "list", "1", &["--count", "1", "--warm", "0"])?;
    let warm = load(rig, &running, "list", "1", &["--secs", rig.seconds(), "--warm", "0.3"])?;
    let calls = load(rig, &running, "echo", CONNECTIONS, &["--secs", "2", "--warm", "0.5"])?;
    let milliseconds = |list: &Value| list["p50_us"].as_f64().map(|us| us / 1e3);
    Ok(json!({
        "start_ms": listening.as_secs_f64() * 1e3, "cold_ms": milliseconds(&cold), "warm_ms": milliseconds(&warm),
        "p50_us": calls["p50_us"], "p99_us": calls["p99_us"], "rps": calls["rps"], "cpu_us": calls["cpu_us"],
        "rss_kb": calls["rss_kb"],
    }))
}

fn load(rig: &Rig, running: &Running, case: &str, connections: &str, more: &[&str]) -> Result<Value, Failure> {
    let (pid, url) = (running.gateway.pid(), &running.gateway.url);
    let words = ["http", "--url", url, "--pid", &pid, "--life", "2026", "--case", case, "--conns", connections];
    let result =
        rig.load(&[&words[..], &["--limit", "20", "--prefix", "s1__", "--tools", TOOLS], more].concat(), &[])?;
    match result["errors"].as_u64() {
        Some(0) => Ok(result),
        _ => Err(format!("wrong answers to {case}: {}", result["first_error"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_bounds() {
        let exceeded = |cold, warm| exceeded("all", |key| if key == "cold_ms" { cold } else { warm });
        assert!(exceeded(Some(1200.0), Some(5.0)).is_empty());
        assert_eq!(exceeded(Some(1201.0), Some(0.4)), ["fleet, all: `cold_ms` is 1201.0, more than 1200"]);
        assert_eq!(exceeded(Some(3.0), Some(5.1)), ["fleet, all: `warm_ms` is 5.1, more than 5"]);
        assert_eq!(exceeded(None, None).len(), 2);
    }
}
