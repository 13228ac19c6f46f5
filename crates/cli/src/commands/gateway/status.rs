//! `couplet gateway status`: the gateways that run.

use std::fmt::Write;

use couplet_gateway::runtime_folders;
use serde_json::Value;

use super::here;
use crate::{
    exit::{Exit, Failure},
    output::{Output, Paint, text},
};

/// The arguments of `couplet gateway status`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only the gateway with this configuration
    config: Option<std::path::PathBuf>,
}

pub(super) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let mut all = Vec::new();
    for folder in runtime_folders(&here()?) {
        all.extend(statuses(&folder)?);
    }
    if let Some(config) = &args.config {
        let wanted = config.canonicalize().map_err(|error| Failure::file(config, "read", &error))?;
        all.retain(|status| status["config"].as_str() == wanted.to_str());
    }
    if all.is_empty() {
        let what = if args.config.is_some() { "no gateway runs with this configuration" } else { "no gateway runs" };
        return Err(none_runs(what));
    }
    let pages = all.iter().map(|status| if output.json { format!("{status}\n") } else { page(status, output.out) });
    output.print(&pages.collect::<Vec<_>>().join(if output.json { "" } else { "\n" }))
}

/// Creates the error for gateways that do not run.
pub(super) fn none_runs(what: &str) -> Failure {
    Failure::new(Exit::Unreachable, what).hint("start one with `couplet gateway CONFIG --http PORT`")
}

#[cfg(unix)]
fn statuses(folder: &std::path::Path) -> Result<Vec<Value>, Failure> {
    couplet_gateway::statuses(folder).map_err(|error| Failure::file(folder, "read", &error))
}

#[cfg(not(unix))]
fn statuses(_: &std::path::Path) -> Result<Vec<Value>, Failure> {
    Err(Failure::new(Exit::Protocol, "status needs Unix domain sockets, which this system does not have"))
}

/// Formats the status of a gateway. It is data of another process: everything in it is escaped.
fn page(status: &Value, paint: Paint) -> String {
    let mut page = String::new();
    let config = text::line(status["config"].as_str().unwrap_or_default());
    let _ = writeln!(page, "{} process {}, up {}", paint.strong(config), status["pid"], age(&status["up"]));
    if let Some(error) = status["reload"]["error"].as_str() {
        let _ = writeln!(page, "{} {}", paint.error("not reloaded:"), text::visible(error));
    }
    let servers = status["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let head = ["SERVER", "STATE", "TOOLS", "LISTED", "CALLS", "P50/P99", "RESTARTS"].map(str::to_owned);
    let (head, rows) = text::columns(&head, &servers.iter().map(row).collect::<Vec<_>>());
    let _ = writeln!(page, "{}", paint.faint(head));
    for (row, server) in rows.iter().zip(servers) {
        let _ = writeln!(page, "{row}");
        for note in notes(server) {
            let _ = writeln!(page, "  {}", paint.warning(text::line(&note)));
        }
    }
    if let Some(number @ 1..) = status["questions"].as_u64() {
        let questions = text::count(usize::try_from(number).unwrap_or(usize::MAX), "call waits", "calls wait");
        let _ = writeln!(page, "{}", paint.warning(format!("{questions} for an answer: `couplet gateway consent`")));
    }
    for collision in status["collisions"].as_array().into_iter().flatten() {
        let _ = writeln!(page, "{}", paint.warning(text::line(&collided(collision))));
    }
    page
}

/// The note about a name that several servers have.
fn collided(collision: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let claimants = collision["claimants"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<_> =
        claimants.iter().map(|one| format!("{}/{}", word(&one["server"]), word(&one["name"]))).take(SHOWN).collect();
    let (name, profile) = (word(&collision["name"]), word(&collision["profile"]));
    format!("hidden in profile {profile}: {} have the same name {name}; rename them in the profile", names.join(", "))
}

fn row(server: &Value) -> [String; 7] {
    let number = |value: &Value| value.as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string());
    let millis = |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), |millis| format!("{millis:.1}"));
    let latency = match &server["latency"] {
        Value::Null => "-".to_owned(),
        latency => format!("{}/{} ms", millis(&latency["p50Ms"]), millis(&latency["p99Ms"])),
    };
    let state = server["state"].as_str().unwrap_or("-");
    [
        text::line(server["key"].as_str().unwrap_or_default()),
        format!("{} {}", text::line(state), age(&server["since"])),
        number(&server["catalog"]["tools"]),
        match &server["catalog"]["age"] {
            Value::Null => "-".to_owned(),
            listed => format!("{} ago", age(listed)),
        },
        number(&server["calls"]),
        latency,
        number(&server["restarts"]),
    ]
}

/// The number of names in a note.
const SHOWN: usize = 5;

/// What a user should know about a server.
fn notes(server: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(server["error"].as_str().map(str::to_owned));
    notes.extend(server["catalog"]["error"].as_str().map(|error| format!("lists are old: {error}")));
    let hidden = server["hidden"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<_> = hidden.iter().filter_map(|item| item["name"].as_str()).take(SHOWN).collect();
    if !names.is_empty() {
        let more = if hidden.len() > SHOWN { ", …" } else { "" };
        notes.push(format!("hidden until approved: {}{more}", names.join(", ")));
    }
    notes
}

/// Formats a number of seconds.
pub(super) fn age(seconds: &Value) -> String {
    match seconds.as_u64() {
        None => String::new(),
        Some(seconds @ ..120) => format!("{seconds}s"),
        Some(seconds @ ..7200) => format!("{}m", seconds / 60),
        Some(seconds @ ..172_800) => format!("{}h", seconds / 3600),
        Some(seconds) => format!("{}d", seconds / 86_400),
    }
}
