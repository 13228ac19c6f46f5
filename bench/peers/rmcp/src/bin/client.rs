//! Client throughput with `rmcp`: the options and output of `bench-client`.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, Peer, RoleClient,
    model::{CallToolRequestParams, ProtocolVersion},
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const WARM: Duration = Duration::from_millis(500);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let mut options = BTreeMap::new();
    while let Some(word) = words.next().filter(|word| word != "--") {
        options.insert(word, words.next().unwrap_or_default());
    }
    let life = match options.get("--life").map(String::as_str) {
        Some("2026") => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    let client: RunningService<RoleClient, ()> = match (options.get("--url"), words.next()) {
        (Some(url), _) => ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), life).await?,
        (None, Some(program)) => {
            let mut command = tokio::process::Command::new(program);
            command.args(words);
            ().serve_with_lifecycle(TokioChildProcess::new(command)?, life).await?
        }
        _ => {
            return Err("usage: bench-rmcp-client --life 2025|2026 --depth N --secs S (--url URL | -- COMMAND..)".into());
        }
    };
    let number = |name: &str| options.get(name).and_then(|text| text.parse::<f64>().ok());
    let depth = number("--depth").unwrap_or(1.0) as usize;
    let measured = Duration::from_secs_f64(number("--secs").unwrap_or(1.0));

    run(client.peer(), depth, WARM).await?;
    // The best of five measurements: other load on the machine can only slow one down.
    let (mut all, mut rps, mut cpu_us) = (0, 0.0_f64, f64::INFINITY);
    for _ in 0..5 {
        let (started, before) = (Instant::now(), cpu_seconds());
        let calls = run(client.peer(), depth, measured / 5).await?;
        all += calls;
        rps = rps.max(calls as f64 / started.elapsed().as_secs_f64());
        cpu_us = cpu_us.min((cpu_seconds() - before) * 1e6 / calls as f64);
    }
    let result = serde_json::json!({ "n": all, "rps": rps, "cpu_us": cpu_us, "per_cpu_s": 1e6 / cpu_us });
    println!("{result}");
    client.cancel().await?;
    Ok(())
}

/// Calls for a duration, and counts the calls.
async fn run(client: &Peer<RoleClient>, depth: usize, time: Duration) -> Result<usize, Failure> {
    let end = Instant::now() + time;
    let callers: Vec<_> = (0..depth).map(|_| tokio::spawn(call_until(client.clone(), end))).collect();
    let mut calls = 0;
    for caller in callers {
        calls += caller.await??;
    }
    Ok(calls)
}

async fn call_until(client: Peer<RoleClient>, end: Instant) -> Result<usize, Failure> {
    let mut calls = 0;
    while Instant::now() < end {
        let mut arguments = serde_json::Map::new();
        arguments.insert("text".to_owned(), "hello, world".into());
        let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
        let text = result.content.first().and_then(|block| block.as_text()).map(|block| block.text.as_str());
        assert_eq!(text, Some("hello, world"));
        calls += 1;
    }
    Ok(calls)
}

/// Returns the CPU time of this process.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum::<u64>() as f64 / 1e9
}
