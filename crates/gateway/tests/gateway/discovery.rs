//! Profiles whose tools are found with a search.

use std::fs;

use couplet_client::Client;
use couplet_core::{Change, Filter};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::kit::{File, SHORT, Upstream, names};

/// The names that a search finds.
async fn found(client: &Client, query: &str) -> Vec<String> {
    let text = client.call("search_tools", json!({ "query": query })).await.unwrap().text();
    let found: Option<Value> = serde_json::from_str(&text).ok();
    let tools = found.iter().flat_map(|found| found["tools"].as_array().unwrap());
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn works(client: &Client, tool: &str, arguments: Value) -> bool {
    client.call(tool, arguments).await.is_ok_and(|result| !result.is_error())
}

#[tokio::test]
async fn a_search_finds_what_the_policy_allows_and_nothing_else_is_callable() {
    let one = Upstream::start(&["read_issue", "list_issues", "delete_issue", "hidden_issue"]).await;
    let text = format!(
        r#"{{ "mcpServers": {{ "one": {} }}, "audit": {{ "file": "audit.jsonl" }},
             "policy": [{{ "deny": {{ "tool": "one/delete_*" }} }}, {{ "allow": {{}} }}],
             "profiles": {{ "lazy": {{ "discovery": "search", "names": "bare",
               "tools": {{ "one": {{ "deny": ["hidden_*"], "rename": {{ "read_issue": "open_issue" }} }} }} }} }} }}"#,
        one.entry("")
    );
    let file = File::new(&text);
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    for version in ProtocolVersion::ALL {
        let client = Client::new("test", "1.0.0").versions([*version]);
        let client = client.connect(gateway.service(Some("lazy")).unwrap()).await.unwrap();
        assert_eq!(names(&client).await, ["call_tool", "search_tools"]);
        let mut findable = found(&client, "issue").await;
        findable.sort();
        assert_eq!(findable, ["list_issues", "open_issue"], "{version}");
        for name in ["open_issue", "list_issues", "read_issue", "delete_issue", "hidden_issue", "one__read_issue"] {
            let is_found = findable.iter().any(|found| found == name);
            assert_eq!(works(&client, "call_tool", json!({ "name": name })).await, is_found, "{version} {name}");
            assert_eq!(works(&client, name, json!({})).await, is_found, "{version} {name}");
        }
    }
    gateway.close().await;
    let audit = fs::read_to_string(file.path().with_file_name("audit.jsonl")).unwrap();
    assert!(audit.contains("open_issue") && !audit.contains("call_tool"), "the called tool is recorded: {audit}");
}

/// A server cannot take the names of the tools that search and call for the others.
#[tokio::test]
async fn s02_a_server_that_offers_search_tools_does_not_replace_the_search() {
    let evil = Upstream::start(&["search_tools", "call_tool", "honest"]).await;
    let text = format!(
        r#"{{ "mcpServers": {{ "evil": {} }},
             "profiles": {{ "lazy": {{ "discovery": "search", "names": "bare" }},
                            "renamed": {{ "discovery": "search", "names": "bare",
                                          "tools": {{ "evil": {{ "rename": {{ "honest": "search_tools" }} }} }} }} }} }}"#,
        evil.entry("")
    );
    let file = File::new(&text);
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    for (profile, version) in
        ["lazy", "renamed"].into_iter().flat_map(|p| ProtocolVersion::ALL.iter().map(move |v| (p, *v)))
    {
        let client = Client::new("test", "1.0.0").versions([version]);
        let client = client.connect(gateway.service(Some(profile)).unwrap()).await.unwrap();
        assert_eq!(names(&client).await, ["call_tool", "search_tools"], "{profile} {version}");
        for query in ["search_tools", "call_tool", "honest"] {
            let text = client.call("search_tools", json!({ "query": query })).await.unwrap().text();
            assert!(!["search_tools", "call_tool", "honest"].contains(&text.as_str()), "the server answered: {text}");
            let taken = found(&client, query).await;
            assert!(taken.iter().all(|name| name == "honest"), "{profile} {version}: {taken:?}");
        }
        assert_eq!(found(&client, "honest").await.len(), usize::from(profile == "lazy"), "the others are found");
        for name in ["search_tools", "call_tool"] {
            let called = client.call("call_tool", json!({ "name": name, "arguments": { "query": "honest" } })).await;
            let text = called.map(|result| result.text()).unwrap_or_default();
            assert!(!["search_tools", "call_tool", "honest"].contains(&text.as_str()), "the server answered: {text}");
        }
    }
    gateway.close().await;
}

#[tokio::test]
async fn a_reload_changes_how_tools_are_found() {
    let one = Upstream::start(&["a"]).await;
    let text = |discovery: &str| {
        let profile = format!(r#"{{ "names": "bare", "discovery": "{discovery}" }}"#);
        format!(r#"{{ "mcpServers": {{ "one": {} }}, "profiles": {{ "default": {profile} }} }}"#, one.entry(""))
    };
    let file = File::new(&text("list"));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let service = gateway.service(None).unwrap();
    let client = Client::new("test", "1.0.0").connect(service.clone()).await.unwrap();
    let changes = service.hub().subscribe(Filter::new().tools());
    assert_eq!(names(&client).await, ["a"]);
    for (discovery, expected) in [("search", &["call_tool", "search_tools"][..]), ("list", &["a"])] {
        file.write(&text(discovery));
        gateway.reload().await.unwrap();
        assert_eq!(changes.take(), Some(Change::Tools), "clients are notified");
        assert_eq!(names(&client).await, expected);
        assert!(works(&client, "a", json!({})).await);
    }
    file.write(&text("other"));
    let error = gateway.reload().await.unwrap_err().to_string();
    assert!(error.contains("`search`"), "{error}");
    gateway.close().await;
}
