//! `bench-rmcp-openapi SPEC OUT`: the tools that rmcp-openapi makes of a document, as `tools/list` has them.

use std::{error::Error, fs, time::Instant};

use rmcp::model::Tool;
use rmcp_openapi::Server;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(spec), Some(out)) = (words.next(), words.next()) else { return Err("SPEC OUT".into()) };
    let start = Instant::now();
    let document = serde_json::from_slice(&fs::read(spec)?)?;
    let mut server = Server::new(document, "https://api.example.com".parse()?, None, None, false, false, false);
    server.load_openapi_spec()?;
    let names = server.get_tool_names();
    let tools: Vec<Tool> = names.iter().filter_map(|name| server.get_tool_metadata(name)).map(Tool::from).collect();
    let list = serde_json::to_string(&json!({ "tools": tools }))?;
    let seconds = start.elapsed().as_secs_f64();
    fs::write(out, list)?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    println!("{}", json!({ "seconds": seconds, "kib": kib }));
    Ok(())
}
