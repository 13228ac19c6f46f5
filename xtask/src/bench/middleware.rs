//! `cargo xtask bench middleware`: what each middleware adds to a call, in memory.
//!
//! Instructions are the same on a busy machine as on a quiet one; times are the best of many batches.

use std::fs;

use serde_json::Value;

use super::{instructions::collected, kits::Folders, options::Options, report, rig::Rig};
use crate::{
    Failure,
    workspace::{capture, cargo, command},
};

/// How many microseconds a middleware may add.
const ALLOWED: f64 = 2.0;

/// The lengths of two runs whose difference is taken: what happens once drops out.
const SHORT: u64 = 200;
const LONG: u64 = 1_200;

/// What a call costs.
struct Row {
    name: String,
    /// `None` without valgrind.
    instructions: Option<u64>,
    us: f64,
    added: f64,
}

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::new(arguments)?;
    let folders = Folders::new()?;
    cargo(
        ["build", "--profile", "dist", "--package", "couplet-bench", "--features", "middleware"]
            .into_iter()
            .chain(["--bin", "bench-middleware"]),
    )?;
    let rig = Rig::new(folders, &options);
    let counts = capture(command("valgrind").arg("--version")).is_ok();
    if !counts {
        println!("bench: not counted: valgrind is not here");
    }
    let names = parse(&said(&rig, &[], &["rows"])?)?;
    let names = names.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let mut rows = Vec::new();
    for name in names.filter(|name| options.wants(name, name) || name.ends_with("none")) {
        let instructions = if counts { Some(instructions(&rig, &name)?) } else { None };
        let row = (0..options.rounds).map(|_| time(&rig, &name)).collect::<Result<Vec<_>, _>>()?;
        let best = |member: &str| row.iter().filter_map(|time| time[member].as_f64()).fold(f64::MAX, f64::min);
        let row = Row { name, instructions, us: best("us"), added: best("added") };
        println!("{}: {:?} instructions, {:.2} µs, {:+.2} µs", row.name, row.instructions, row.us, row.added);
        rows.push(row);
    }
    let block = format!("{}\n{}", report::heading(&rig, &[], options.rounds), table(&rows));
    println!("\n{block}");
    if options.write {
        report::write_middleware(&block)?;
    }
    check(&rows)
}

/// Runs the program, and returns what it says.
fn said(rig: &Rig, before: &[&str], words: &[&str]) -> Result<String, Failure> {
    let program = rig.folders.our("bench-middleware");
    let all = before.iter().copied().chain([program.as_str()]).chain(words.iter().copied()).map(str::to_owned);
    let all = rig.on_server(all.collect());
    capture(command(&all[0]).args(&all[1..]))
}

fn parse(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|e| format!("bench-middleware: {e}: {text}"))
}

fn time(rig: &Rig, row: &str) -> Result<Value, Failure> {
    parse(&said(rig, &[], &["time", row])?)
}

/// Instructions per call.
fn instructions(rig: &Rig, row: &str) -> Result<u64, Failure> {
    let log = rig.folders.bench.join("callgrind.log");
    let log_file = format!("--log-file={}", log.display());
    let total = |count: u64| {
        let callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", &log_file];
        said(rig, &callgrind, &["count", row, &count.to_string()])?;
        let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        collected(&text).ok_or_else(|| format!("callgrind counted nothing: {text}"))
    };
    let short = total(SHORT)?;
    Ok(total(LONG)?.saturating_sub(short) / (LONG - SHORT))
}

/// The row that others are compared with.
fn without<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    let none = if name.starts_with("client") { "client, none" } else { "none" };
    rows.iter().find(|row| row.name == none)
}

fn table(rows: &[Row]) -> String {
    let mut text = "| middleware | instructions | added | µs | added µs |\n|---|---:|---:|---:|---:|\n".to_owned();
    for row in rows {
        let before = without(rows, &row.name).and_then(|row| row.instructions);
        let added = row.instructions.zip(before).map(|(with, before)| with as i64 - before as i64);
        let count = row.instructions.map_or_else(|| "–".to_owned(), |count| count.to_string());
        let is_none = row.name.ends_with("none");
        let added = added.filter(|_| !is_none).map_or_else(|| "–".to_owned(), |added| format!("{added:+}"));
        let time = if is_none { "–".to_owned() } else { format!("{:+.2}", row.added) };
        text += &format!("| {} | {count} | {added} | {:.2} | {time} |\n", row.name, row.us);
    }
    text
}

fn check(rows: &[Row]) -> Result<(), Failure> {
    let slow = rows.iter().filter(|row| row.added > ALLOWED);
    let slow: Vec<String> = slow.map(|row| format!("`{}` adds {:.2} µs", row.name, row.added)).collect();
    if slow.is_empty() { Ok(()) } else { Err(format!("{}; at most {ALLOWED} are allowed", slow.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_none() {
        let row = |name: &str, count, us, added| Row { name: name.to_owned(), instructions: Some(count), us, added };
        let rows = [row("none", 100, 1.0, 0.0), row("Audit", 150, 1.5, 0.5), row("client, none", 900, 9.0, 0.0)];
        let text = table(&rows);
        assert!(text.contains("| Audit | 150 | +50 | 1.50 | +0.50 |"), "{text}");
        assert!(text.contains("| client, none | 900 | – | 9.00 | – |"), "{text}");
        assert_eq!(check(&rows), Ok(()));
        assert!(check(&[row("Slow", 1, 9.0, 2.1)]).unwrap_err().contains("`Slow` adds 2.10 µs"));
    }
}
