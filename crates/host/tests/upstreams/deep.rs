//! Messages that are nested without measure.

use std::{sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, Limits};
use couplet_host::Host;
use couplet_stdio::pipe;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    time::Instant,
};

use crate::kit::{Fake, STATELESS, is_alone, memory, text};

/// The number of arrays in each other.
const DEPTH: usize = 100_000;
/// The time in which another server answers, and the growth of memory, on a machine that does other things.
const BOUND: Duration = Duration::from_secs(5);
const GROWTH: usize = 64 << 20;

/// A server whose list, or whose result, is nested.
#[derive(Clone, Copy)]
enum Deep {
    List,
    Result,
}

impl Deep {
    async fn serve(self, stream: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let Some(id) = message.get("id") else { continue };
            let result = self.result(message["method"].as_str().unwrap(), message["params"]["name"].as_str());
            let answer =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",{result}}}}}\n");
            if writer.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// The members of a result.
    fn result(self, method: &str, tool: Option<&str>) -> String {
        let nested = || format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
        let named = |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#);
        let (echo, deep) = (named("echo", r#"{"type":"object"}"#), named("deep", r#"{"type":"object"}"#));
        match (method, self) {
            ("server/discover", _) => r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#.to_owned(),
            ("tools/list", Self::Result) => format!(r#""tools":[{echo},{deep}]"#),
            ("tools/list", Self::List) => {
                let schema = format!(r#"{{"type":"object","default":{}}}"#, nested());
                format!(r#""tools":[{echo},{}]"#, named("nested", &schema))
            }
            ("tools/call", Self::Result) if tool == Some("deep") => {
                format!(r#""content":[],"structuredContent":{{"deep":{}}}"#, nested())
            }
            _ => r#""content":[{"type":"text","text":"echo"}]"#.to_owned(),
        }
    }
}

impl Connect for Deep {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let deep = *self;
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(deep.serve(far));
            let (reader, writer) = tokio::io::split(near);
            pipe(reader, writer).connect(inbound, limits).await
        })
    }
}

/// A list and results that are nested 100,000 times end no process, and another server answers meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19_deep_nesting_affects_no_other_server() {
    let builder = Host::builder().server("lists", Deep::List).server("results", Deep::Result);
    let host = builder.server("files", Fake::new(STATELESS)).build();
    let client = Client::new("caller", "1").versions([STATELESS]).connect(host.service()).await.unwrap();
    let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert!(names.contains(&"files__echo".to_owned()) && names.contains(&"results__deep".to_owned()), "{names:?}");
    let before = memory();
    let (mut slowest, mut ends) = (Duration::ZERO, Vec::new());
    for _ in 0..20 {
        let nested = tokio::spawn({
            let client = client.clone();
            async move { text(client.call("results__deep", ()).await) }
        });
        for _ in 0..5 {
            let began = Instant::now();
            assert_eq!(text(client.call("files__echo", ()).await), "echo");
            slowest = slowest.max(began.elapsed());
        }
        ends.push(nested.await.unwrap());
    }
    // The connection of the server itself goes on as well.
    assert_eq!(text(client.call("results__echo", ()).await), "echo");
    let grown = memory().unwrap_or_default().saturating_sub(before.unwrap_or_default());
    println!(
        "attack S19: {} results with {DEPTH} levels, the first ends as {:.60?}; another server answers within \
         {slowest:.1?}, memory {} KiB more",
        ends.len(),
        ends[0],
        grown >> 10
    );
    assert!(slowest <= BOUND, "{slowest:?}");
    assert!(grown <= GROWTH || !is_alone(""), "{grown}");
}
