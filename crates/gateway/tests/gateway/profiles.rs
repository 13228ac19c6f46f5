//! Profiles of a configuration: names, descriptions and arguments of tools.

use couplet_server::{Server, extract::Args, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::{File, SHORT, Upstream, client};

#[derive(Deserialize, Serialize, JsonSchema)]
struct Issue {
    /// The title.
    title: String,
    /// The repository.
    repository: String,
    /// Labels.
    labels: Vec<String>,
}

async fn issues() -> Upstream {
    let create = |Args(issue): Args<Issue>| async move { serde_json::to_string(&issue).unwrap() };
    let close = || async { "closed" };
    let server = Server::new("upstream", "1.0.0")
        .tool(tool("create_issue", create).description("Creates an issue anywhere."))
        .tool(tool("close_issue", close).description("Closes an issue."));
    Upstream::serve(server).await
}

/// The server gets the values of the file, which callers see neither in the schema nor can set; the description is that of the
/// file, and tools without an entry stay as they are.
#[tokio::test]
async fn presets_and_descriptions_of_a_file_reach_callers_and_servers() {
    let server = issues().await;
    let text = json!({
        "mcpServers": { "Our Issues": { "id": "gh", "url": server.url } },
        "profiles": { "triage": { "tools": { "Our Issues": {
            "rename": { "create_issue": "new_issue" },
            "describe": { "create_issue": "Creates an issue in our repository." },
            "preset": { "create_issue": { "repository": "acme/app", "labels": ["from-model", "new"] } },
        } } } },
    });
    let file = File::new(&text.to_string());
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;

    let triage = client(&gateway, Some("triage")).await;
    let tools = triage.tools().await.unwrap();
    let by_name =
        |name: &str| tools.iter().find(|tool| tool.name == name).unwrap_or_else(|| panic!("{name}: {tools:?}"));
    let (new, close) = (by_name("gh__new_issue"), by_name("gh__close_issue"));
    assert_eq!(new.description.as_deref(), Some("Creates an issue in our repository."));
    assert_eq!(close.description.as_deref(), Some("Closes an issue."));
    let schema = serde_json::to_value(&new.input_schema).unwrap();
    let properties: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((properties, &schema["required"]), (vec!["title"], &json!(["title"])), "{schema}");

    let sent = triage.call("gh__new_issue", json!({ "title": "a" })).await.unwrap().text();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent, json!({ "title": "a", "repository": "acme/app", "labels": ["from-model", "new"] }));
    let wrong = triage.call("gh__new_issue", json!({ "title": "a", "repository": "evil/app" })).await.unwrap();
    assert_eq!((wrong.is_error(), wrong.text().as_str()), (true, "argument `repository` is unknown"));

    // Without the profile, the tool is as the server has it.
    let all = client(&gateway, None).await;
    let tools = all.tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "gh__create_issue").unwrap();
    assert_eq!(tool.description.as_deref(), Some("Creates an issue anywhere."));
    assert!(serde_json::to_string(&tool.input_schema).unwrap().contains("repository"));

    // Both follow the file.
    file.write(&text.to_string().replace("acme/app", "acme/web").replace("in our repository", "in acme/web"));
    gateway.reload().await.unwrap();
    let tools = triage.tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "gh__new_issue").unwrap();
    assert_eq!(tool.description.as_deref(), Some("Creates an issue in acme/web."));
    let sent = triage.call("gh__new_issue", json!({ "title": "a" })).await.unwrap().text();
    assert!(sent.contains("acme/web"), "{sent}");
    gateway.close().await;
}
