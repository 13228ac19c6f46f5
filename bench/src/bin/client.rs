//! Client throughput: `bench-client --life 2025|2026 --depth N --secs S (--url URL | -- COMMAND..)`, or a number of calls
//! with a pause after each: `--count N --think S`.
//!
//! It is written as a user would write it: `depth` tasks that call `echo` in a loop.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use couplet::{ProtocolVersion, prelude::*};
use serde_json::json;

const WARM: Duration = Duration::from_millis(500);

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let mut words = std::env::args().skip(1);
    let mut options = BTreeMap::new();
    while let Some(word) = words.next().filter(|word| word != "--") {
        options.insert(word, words.next().unwrap_or_default());
    }
    let version = match options.get("--life").map(String::as_str) {
        Some("2026") => ProtocolVersion::V2026_07_28,
        _ => ProtocolVersion::V2025_11_25,
    };
    let client = Client::new("bench-client", "1.0.0").versions([version]);
    let client = match (options.get("--url"), words.next()) {
        (Some(url), _) => client.connect(couplet::http::connect(url)).await?,
        (None, Some(program)) => client.connect(Command::new(program).args(words)).await?,
        _ => panic!("usage: bench-client --life 2025|2026 --depth N --secs S (--url URL | -- COMMAND..)"),
    };
    let number = |name: &str| options.get(name).and_then(|text| text.parse::<f64>().ok());
    if let Some(count) = number("--count") {
        let pause = Duration::from_secs_f64(number("--think").unwrap_or(0.0));
        for _ in 0..count as usize {
            echo(&client).await?;
            tokio::time::sleep(pause).await;
        }
        println!("{}", json!({ "n": count }));
        return client.close().await;
    }
    let depth = number("--depth").unwrap_or(1.0) as usize;
    let measured = Duration::from_secs_f64(number("--secs").unwrap_or(1.0));

    run(&client, depth, WARM).await?;
    // The best of five measurements: other load on the machine can only slow one down.
    let (mut all, mut rps, mut cpu_us) = (0, 0.0_f64, f64::INFINITY);
    for _ in 0..5 {
        let (started, before) = (Instant::now(), cpu_seconds());
        let calls = run(&client, depth, measured / 5).await?;
        all += calls;
        rps = rps.max(calls as f64 / started.elapsed().as_secs_f64());
        cpu_us = cpu_us.min((cpu_seconds() - before) * 1e6 / calls as f64);
    }
    let result = json!({ "n": all, "rps": rps, "cpu_us": cpu_us, "per_cpu_s": 1e6 / cpu_us });
    println!("{result}");
    client.close().await
}

/// Calls for a duration, and counts the calls.
async fn run(client: &Client, depth: usize, time: Duration) -> couplet::Result<usize> {
    let end = Instant::now() + time;
    let callers: Vec<_> = (0..depth).map(|_| tokio::spawn(call_until(client.clone(), end))).collect();
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.expect("a caller does not panic")?;
    }
    Ok(calls)
}

async fn call_until(client: Client, end: Instant) -> couplet::Result<usize> {
    let mut calls = 0;
    while Instant::now() < end {
        echo(&client).await?;
        calls += 1;
    }
    Ok(calls)
}

async fn echo(client: &Client) -> couplet::Result<()> {
    let result = client.call("echo", json!({ "text": "hello, world" })).await?;
    assert_eq!(result.text(), "hello, world");
    Ok(())
}

/// Returns the CPU time of this process.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum::<u64>() as f64 / 1e9
}
