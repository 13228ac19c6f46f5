//! Resources and prompts as tools.

use couplet_core::{Caller, IntoService, JsonText, Revision, Sender, message::Params};
use couplet_server::{Server, prompt, resource, tool};
use couplet_transform::{PromptsAsTools, ResourcesAsTools, ToolSearch};
use serde_json::{Value, json};

use crate::kit::{authenticated, connect, find, in_each_revision, names, proxied, said, server, works};

#[test]
fn resources_are_read_with_tools() {
    in_each_revision(async |version| {
        let direct = ResourcesAsTools::new(server()).into_service();
        let behind = ResourcesAsTools::new(proxied(server().into_service(), version).await).into_service();
        for service in [direct, behind] {
            let client = connect(service, version).await;
            let all = ["list_resources", "read_resource", "echo", "change", "secret", "plain"];
            assert_eq!(names(&client).await, all);
            let hints = find(&client, "read_resource").await.annotations;
            let is_read = hints.and_then(|hints| hints.read_only_hint);
            assert_eq!(is_read, Revision::of(version).has_tool_annotations().then_some(true));

            let (mut listed, mut arguments) = (String::new(), json!({}));
            for _ in 0..9 {
                let text = said(&client, "list_resources", arguments.clone()).await;
                let page: Value = serde_json::from_str(&text).unwrap();
                listed += &text;
                match page["nextCursor"].as_str() {
                    Some(cursor) => arguments = json!({ "cursor": cursor }),
                    None => break,
                }
            }
            for member in [
                r#""uri":"test://menu""#,
                r#""uri":"test://secret""#,
                r#""uri":"test://more""#,
                r#""uriTemplate":"test://notes/{id}""#,
            ] {
                assert_eq!(listed.matches(member).count(), 1, "{listed}");
            }
            assert_eq!(said(&client, "read_resource", json!({ "uri": "test://menu" })).await, "soup");
            assert_eq!(said(&client, "read_resource", json!({ "uri": "test://notes/7" })).await, "7");
            for (arguments, expected) in [
                (json!({ "uri": "test://none" }), "`test://none`"),
                (json!({}), "argument `uri` is missing"),
                (json!({ "uri": 7 }), "argument `uri`: expected a string"),
            ] {
                assert!(said(&client, "read_resource", arguments.clone()).await.contains(expected), "{arguments}");
                assert!(!works(&client, "read_resource", arguments).await);
            }
            assert!(!works(&client, "list_resources", json!({ "cursor": "mine" })).await);
            assert_eq!(said(&client, "plain", json!({})).await, "plain");
        }
    });
}

#[test]
fn prompts_are_requested_with_tools() {
    in_each_revision(async |version| {
        let client = connect(PromptsAsTools::new(server()), version).await;
        let listed: Value = serde_json::from_str(&said(&client, "list_prompts", json!({})).await).unwrap();
        assert_eq!(listed["prompts"][0]["name"], "greet");
        assert_eq!(listed["prompts"][0]["arguments"][0]["name"], "city");
        let arguments = json!({ "name": "greet", "arguments": { "city": "Oslo" } });
        assert_eq!(said(&client, "get_prompt", arguments).await, "user: hello Oslo");
        assert!(said(&client, "get_prompt", json!({ "name": "none" })).await.contains("there is no prompt `none`"));
        assert!(!works(&client, "get_prompt", json!({ "name": "none" })).await);
    });
}

#[test]
fn they_are_there_if_there_is_something_for_them() {
    in_each_revision(async |version| {
        let bare: Server = Server::new("s", "1").tool(tool("only", || "only"));
        let client = connect(PromptsAsTools::new(ResourcesAsTools::new(bare)), version).await;
        assert_eq!(names(&client).await, ["only"]);
        assert!(!works(&client, "list_resources", json!({})).await);

        let no_tools: Server = Server::new("s", "1").resource(resource("a://b", || "b")).prompt(prompt("p", || "text"));
        let client = connect(PromptsAsTools::new(ResourcesAsTools::new(no_tools)), version).await;
        assert_eq!(names(&client).await, ["list_prompts", "get_prompt", "list_resources", "read_resource"]);
        assert_eq!(said(&client, "read_resource", json!({ "uri": "a://b" })).await, "b");

        let own: Server = Server::new("s", "1")
            .resource(resource("a://b", || "b"))
            .tool(tool("read_resource", || "not this one"))
            .tool(tool("other", || "other"));
        let client = connect(ResourcesAsTools::new(own), version).await;
        assert_eq!(names(&client).await, ["list_resources", "read_resource", "other"]);
        assert_eq!(said(&client, "read_resource", json!({ "uri": "a://b" })).await, "b");
    });
}

/// A tool in front of something is no way around its scopes: neither for the transport, which asks first, nor for the
/// server itself.
#[test]
fn scopes_are_those_of_the_target() {
    let params = |name: &str, arguments: Value| {
        let text = json!({ "name": name, "arguments": arguments }).to_string();
        Params::from_text(JsonText::new(text).unwrap()).unwrap()
    };
    let service = ToolSearch::new(ResourcesAsTools::new(server())).into_service();
    for (name, arguments) in [
        ("secret", json!({})),
        ("read_resource", json!({ "uri": "test://secret" })),
        ("call_tool", json!({ "name": "secret" })),
        ("call_tool", json!({ "name": "read_resource", "arguments": { "uri": "test://secret" } })),
    ] {
        let scopes = service.required_scopes("tools/call", &params(name, arguments.clone()), Sender::default());
        assert_eq!(scopes.as_deref(), Some(&["admin".to_owned()][..]), "{name} {arguments}");
    }
    in_each_revision(async |version| {
        for (scope, works_there) in [("admin", true), ("other", false)] {
            let caller = Caller::new("ada").with_scopes([scope]);
            let service = ToolSearch::new(ResourcesAsTools::new(server()));
            let client = connect(authenticated(service, caller), version).await;
            let by_call = works(&client, "m_call_tool", json!({ "name": "secret" })).await;
            let by_read = works(&client, "m_read_resource", json!({ "uri": "test://secret" })).await;
            assert_eq!((by_call, by_read), (works_there, works_there), "{version}");
        }
    });
}
