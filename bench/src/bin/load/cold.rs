//! The time from process start to the first response, repeatedly.

use std::{
    io::Write,
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Failure,
    args::Args,
    cases::{INITIALIZE, INITIALIZED},
    process::{Reading, resident_kb},
    stdio::{Server, read_answer},
};

/// How long a server settles before its memory is read.
const SETTLE: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let runs: usize = args.number("runs", 20)?;
    let (mut wall, mut cpu, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        let started = Instant::now();
        let mut server = Server::start(&args.command)?;
        writeln!(server.input, "{INITIALIZE}")?;
        read_answer(&mut server.output)?;
        wall.push(started.elapsed().as_secs_f64() * 1e3);
        cpu.push(Reading::now(server.pid()).total() * 1e3);
        writeln!(server.input, "{INITIALIZED}")?;
        sleep(SETTLE);
        resident.push(resident_kb(server.pid()) as f64);
    }
    Ok(json!({
        "runs": runs, "ms": middle(&mut wall), "ms_min": wall.first(), "cpu_ms": middle(&mut cpu),
        "rss_kb": middle(&mut resident),
    }))
}

/// Returns the median.
fn middle(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
