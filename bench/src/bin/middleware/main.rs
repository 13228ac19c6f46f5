//! What each middleware adds to a call of `echo`, in memory:
//!
//! * `bench-middleware rows` names the rows;
//! * `bench-middleware count ROW CALLS` makes so many calls, for a counter of instructions;
//! * `bench-middleware time ROW` measures the time of a call, beside one without middleware.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

#[path = "../../../benches/steps/kit.rs"]
#[allow(dead_code, reason = "shared with the benchmarks of steps")]
mod kit;
mod rows;

use std::time::{Duration, Instant};

use rows::{Calls, ROWS, calls};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["rows"] => println!("{}", serde_json::json!(ROWS)),
        ["count", row, count] => (*calls(row))(count.parse().expect("a number of calls")),
        ["time", row] => time(row),
        _ => panic!("usage: bench-middleware rows | count ROW CALLS | time ROW"),
    }
}

/// How many calls are timed together, and how often.
const BATCH: u32 = 500;
const BATCHES: usize = 200;

/// Measures in turns, and takes the best batch of each: neighbours of a machine only ever add.
fn time(row: &str) {
    let without = if row.starts_with("client") { "client, none" } else { "none" };
    let mut both: [(Calls, Duration); 2] = [without, row].map(|row| (calls(row), Duration::MAX));
    for _ in 0..BATCHES {
        for (calls, best) in &mut both {
            let began = Instant::now();
            calls(BATCH);
            *best = (*best).min(began.elapsed());
        }
    }
    let [without, with] = both.map(|(_, best)| best.as_secs_f64() * 1e6 / f64::from(BATCH));
    println!("{}", serde_json::json!({ "us": with, "added": with - without }));
}
