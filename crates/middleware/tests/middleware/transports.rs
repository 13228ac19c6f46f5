//! Each middleware over each transport, in every revision: its effect is there with it, and is not there without it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Error, ErrorKind, Limits, Transport};
use couplet_http::server::HttpTransport;
use couplet_middleware::client::{ClientLog, ClientRecord, ClientRetry, ClientTiming};
use couplet_stdio::Command;
use couplet_types::ProtocolVersion;
use serde_json::json;
use tokio::net::TcpListener;

use crate::{cases::Case, kit::links};

/// Much longer than anything takes.
const LONG: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug)]
enum Way {
    Memory,
    Stdio,
    Http,
}

impl Way {
    /// Connects to a server with the middleware of a case, or without it.
    async fn connect(self, client: ClientBuilder, case: Case, is_on: bool) -> Client {
        match self {
            Self::Memory => client.connect(case.service(is_on)).await.unwrap(),
            Self::Stdio => {
                let command = Command::new(program()).arg(case.name()).arg(if is_on { "on" } else { "off" });
                client.connect(command).await.unwrap()
            }
            Self::Http => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let url = format!("http://{}/mcp", listener.local_addr().unwrap());
                let transport = HttpTransport::from_listener(listener);
                // It ends with the runtime of the test.
                tokio::spawn(transport.serve(case.service(is_on), Limits::default()));
                client.connect(couplet_http::connect(url)).await.unwrap()
            }
        }
    }
}

/// Returns the child process: cargo builds the examples together with the tests, next to them.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let program = target.join("examples").join(format!("cases{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "`{}` is not built: run `cargo test -p couplet-middleware`", program.display());
    program
}

/// The middleware of the client, and what it observed.
#[derive(Clone, Default)]
struct Observed {
    lines: Arc<Mutex<Vec<String>>>,
    timing: ClientTiming,
}

impl Observed {
    fn client(&self, case: Case, is_on: bool, version: ProtocolVersion) -> ClientBuilder {
        let client = Client::new("test", "1").versions([version]).timeout(LONG);
        let lines = self.lines.clone();
        match case {
            _ if !is_on => client,
            Case::ClientLog => client.middleware(ClientLog::new(move |record: &ClientRecord| {
                lines.lock().unwrap().push(format!("{} {:?}", record.method, record.target));
            })),
            Case::ClientRetry => client.middleware(
                ClientRetry::new(2)
                    .backoff(Duration::from_millis(1), Duration::from_millis(1))
                    .tool("flaky")
                    .when(|error: &Error| error.kind() == ErrorKind::Rpc),
            ),
            Case::ClientTiming => client.middleware(self.timing.clone()),
            _ => client,
        }
    }

    /// Returns whether the middleware of a case has its effect.
    async fn is_effective(&self, case: Case, client: &Client) -> bool {
        let text = async |tool: &str| client.call(tool, ()).await.map(|result| (result.text(), result.is_error()));
        let observed = async || client.read("test://observed").no_cache().await.unwrap().all_text();
        match case {
            Case::Audit => {
                client.call("show", json!({ "n": 1 })).await.unwrap();
                observed().await.contains("Some(\"show\") {n: number} Succeeded")
            }
            Case::Timing => {
                text("count").await.unwrap();
                observed().await.contains("count 1")
            }
            Case::CircuitBreaker => {
                assert!(text("broken").await.is_err() && text("broken").await.is_err());
                text("broken").await.is_ok_and(|(text, failed)| failed && text.contains("is not called for now"))
            }
            Case::Coercion => client.call("show", json!({ "n": "7" })).await.is_ok_and(|result| result.text() == "7"),
            Case::ConcurrencyLimit => {
                let holding = client.clone();
                let holding = tokio::spawn(async move { holding.call("hold", ()).await.map(|result| result.text()) });
                client.read("test://held").no_cache().await.unwrap();
                let refused = text("count").await.unwrap().1;
                client.read("test://release").no_cache().await.unwrap();
                assert_eq!(holding.await.unwrap().unwrap(), "released");
                refused
            }
            Case::ErrorPolicy => {
                let message = text("broken").await.unwrap_err().rpc().unwrap().message.clone();
                message == "internal error 1"
            }
            Case::RateLimit => {
                assert!(!text("count").await.unwrap().1);
                text("count").await.unwrap().1
            }
            Case::ResponseCache => text("count").await.unwrap() == text("count").await.unwrap(),
            Case::ResponseLimit => text("long").await.unwrap().0.len() < 5_000,
            Case::Spill => {
                let result = client.call("long", ()).await.unwrap();
                let mut whole = String::new();
                for uri in links(&result) {
                    whole += &client.read(uri).await.unwrap().all_text();
                }
                whole == "0123456789".repeat(2_000)
            }
            Case::Retry | Case::ClientRetry => text("flaky").await.is_ok(),
            Case::Tags | Case::Visibility => {
                let is_listed = client.tools().await.unwrap().iter().any(|tool| tool.name == "delete");
                let is_called = text("delete").await.is_ok();
                assert_eq!(is_listed, is_called, "{case:?}");
                !is_listed
            }
            Case::ClientLog => {
                text("count").await.unwrap();
                self.lines.lock().unwrap().contains(&"tools/call Some(\"count\")".to_owned())
            }
            Case::ClientTiming => {
                text("count").await.unwrap();
                self.timing.times().iter().any(|times| times.name == "count" && times.count == 1)
            }
        }
    }
}

fn over(way: Way) {
    for &version in ProtocolVersion::ALL {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for case in Case::ALL {
                for is_on in [true, false] {
                    let observed = Observed::default();
                    let client = way.connect(observed.client(case, is_on, version), case, is_on).await;
                    assert_eq!(client.server().version, version);
                    let is_effective = observed.is_effective(case, &client).await;
                    assert_eq!(is_effective, is_on, "{case:?} in {version} over {way:?}");
                    client.close().await.unwrap();
                }
            }
        });
    }
}

#[test]
fn each_middleware_has_its_effect_in_memory() {
    over(Way::Memory);
}

#[test]
fn each_middleware_has_its_effect_over_stdio() {
    over(Way::Stdio);
}

#[test]
fn each_middleware_has_its_effect_over_http() {
    over(Way::Http);
}
