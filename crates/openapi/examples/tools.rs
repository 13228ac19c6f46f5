//! The tools of a document, for comparisons: `tools list SPEC OUT` writes them as `tools/list` has them, and prints the time
//! and the memory that it took. `tools check LIST` prints how many tools of a list have an error that lint finds.

use std::{collections::BTreeSet, error::Error, fs, time::Instant};

use couplet_client::Client;
use couplet_lint::{Answer, Answers, Config, Severity, Surface, lint};
use couplet_openapi::{Document, OpenApi};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["list", spec, out] => list(spec, out).await,
        ["check", list] => check(&fs::read_to_string(list)?),
        _ => Err("usage: tools list SPEC OUT | tools check LIST".into()),
    }
}

async fn list(spec: &str, out: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let api = OpenApi::new(Document::parse(&fs::read(spec)?)?).base_url("https://api.example.com")?;
    let client = Client::new("compare", "1.0.0").connect(api.into_server()?.build()).await?;
    let text = json!({ "tools": client.tools().await? }).to_string();
    let seconds = start.elapsed().as_secs_f64();
    fs::write(out, text)?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    show(&json!({ "seconds": seconds, "kib": kib }));
    Ok(())
}

fn check(list: &str) -> Result<(), Box<dyn Error>> {
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "api", "version": "1.0.0" },
    });
    let version = ProtocolVersion::ALL.iter().copied().find(|version| version.as_str() == "2025-11-25");
    let version = version.ok_or("an unknown revision")?;
    let answers = Answers::new(version, Answer::text(hello.to_string())).tools([Answer::text(list)]);
    let findings = lint(&Surface::from_answers([answers]), &Config::new());
    let errors = || findings.iter().filter(|finding| finding.rule.severity == Severity::Error);
    let places: BTreeSet<String> = errors().map(|finding| format!("{:?}", finding.place.subject)).collect();
    let rules: BTreeSet<&str> = errors().map(|finding| finding.rule.id).collect();
    let tools = serde_json::from_str::<Value>(list)?["tools"].as_array().map_or(0, Vec::len);
    show(&json!({ "tools": tools, "invalid": places.len(), "rules": rules }));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result is read by a program")]
fn show(result: &Value) {
    println!("{result}");
}
