//! The load generator: requests are serialized once and patched in place; no SDK, one thread, one JSON object per run.
//!
//! ```text
//! bench-load http     --url URL --life 2025|2026 --case CASE --conns N --secs S [--sessions N] [--pid PID]
//! bench-load stdio    --life 2025|2026 --case CASE --depth N --secs S -- COMMAND..
//! bench-load sessions --url URL --count N [--pid PID]       opens sessions, which stay open
//! bench-load cold     [--runs N] -- COMMAND..               from process start to the response to `initialize`
//! bench-load check    --life 2025|2026 --url URL | -- COMMAND..   verifies one request of each case
//! ```
//!
//! A run warms up for `--warm` seconds and `--warm-count` requests, then measures for `--secs` seconds and
//! `--min-count` requests, each at most `--limit` seconds; `--count N` ends it after N requests, and `--think S`
//! waits before each of them.
//! The cases are those of `cases.rs`; `--prefix TEXT` goes before the names of tools, and `--tools N` is their number.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

mod args;
mod cases;
mod cold;
mod http;
mod piece;
mod process;
mod sessions;
mod stdio;
mod window;

use std::process::ExitCode;

use args::Args;
use serde_json::{Value, json};

/// An error message.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mode = words.next().unwrap_or_default();
    let args = Args::new(words);
    match run(&mode, &args) {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{}", json!({ "error": why.to_string() }));
            ExitCode::FAILURE
        }
    }
}

fn run(mode: &str, args: &Args) -> Result<Value, Failure> {
    match mode {
        "http" => http::run(args),
        "stdio" => stdio::run(args),
        "sessions" => sessions::run(args),
        "cold" => cold::run(args),
        "check" if args.command.is_empty() => http::check(args),
        "check" => stdio::check(args),
        _ => Err("usage: bench-load http|stdio|sessions|cold|check [option value].. [-- command..]".into()),
    }
}
