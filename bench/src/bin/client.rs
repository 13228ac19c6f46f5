//! Client throughput: `bench-client --life 2025|2026 --depth N --secs S (--url URL | -- COMMAND..)`, or a number of calls
//! with a pause after each: `--count N --think S`. With `--sessions N` there are so many clients, on all processors.
//!
//! It is written as a user would write it: `depth` tasks of each client call `echo` in a loop.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use couplet::{ProtocolVersion, prelude::*};
use serde_json::json;
use tokio::runtime::Builder;

const WARM: Duration = Duration::from_millis(500);

/// The options, and the command of the server after `--`.
struct Options {
    named: BTreeMap<String, String>,
    server: Vec<String>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Self {
        let mut named = BTreeMap::new();
        while let Some(word) = words.next().filter(|word| word != "--") {
            named.insert(word, words.next().unwrap_or_default());
        }
        Self { named, server: words.collect() }
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.named.get(name).and_then(|text| text.parse().ok())
    }

    fn count(&self, name: &str) -> usize {
        self.number(name).unwrap_or(1.0) as usize
    }

    async fn connect(&self) -> couplet::Result<Client> {
        let version = match self.named.get("--life").map(String::as_str) {
            Some("2026") => ProtocolVersion::V2026_07_28,
            _ => ProtocolVersion::V2025_11_25,
        };
        let client = Client::new("bench-client", "1.0.0").versions([version]);
        match (self.named.get("--url"), self.server.split_first()) {
            (Some(url), _) => client.connect(couplet::http::connect(url)).await,
            (None, Some((program, arguments))) => client.connect(Command::new(program).args(arguments)).await,
            _ => panic!("usage: bench-client --life 2025|2026 --depth N --secs S (--url URL | -- COMMAND..)"),
        }
    }
}

fn main() -> couplet::Result<()> {
    let options = Options::read(std::env::args().skip(1));
    let mut runtime = match options.count("--sessions") {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build().expect("a runtime").block_on(measure(&options))
}

async fn measure(options: &Options) -> couplet::Result<()> {
    let mut clients = Vec::new();
    for _ in 0..options.count("--sessions") {
        clients.push(options.connect().await?);
    }
    if let (Some(count), [client]) = (options.number("--count"), &clients[..]) {
        let pause = Duration::from_secs_f64(options.number("--think").unwrap_or(0.0));
        for _ in 0..count as usize {
            echo(client).await?;
            tokio::time::sleep(pause).await;
        }
        println!("{}", json!({ "n": count }));
        return close(clients).await;
    }
    let depth = options.count("--depth");
    let measured = Duration::from_secs_f64(options.number("--secs").unwrap_or(1.0));

    run(&clients, depth, WARM).await?;
    // The best of five measurements: other load on the machine can only slow one down.
    let (mut all, mut rps, mut cpu_us) = (0, 0.0_f64, f64::INFINITY);
    for _ in 0..5 {
        let (started, before) = (Instant::now(), cpu_seconds());
        let calls = run(&clients, depth, measured / 5).await?;
        all += calls;
        rps = rps.max(calls as f64 / started.elapsed().as_secs_f64());
        cpu_us = cpu_us.min((cpu_seconds() - before) * 1e6 / calls as f64);
    }
    let result = json!({ "n": all, "rps": rps, "cpu_us": cpu_us, "per_cpu_s": 1e6 / cpu_us });
    println!("{result}");
    close(clients).await
}

async fn close(clients: Vec<Client>) -> couplet::Result<()> {
    for client in clients {
        client.close().await?;
    }
    Ok(())
}

/// Calls for a duration, and counts the calls.
async fn run(clients: &[Client], depth: usize, time: Duration) -> couplet::Result<usize> {
    let end = Instant::now() + time;
    let callers = clients.iter().flat_map(|client| std::iter::repeat_n(client, depth));
    let callers: Vec<_> = callers.map(|client| tokio::spawn(call_until(client.clone(), end))).collect();
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
