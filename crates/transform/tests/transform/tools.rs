//! Tools, prompts and resources under other names.

use couplet_core::{Change, Filter, IntoService, JsonText, Revision, Sender, Service, message::Params};
use couplet_server::{Server, tool};
use couplet_transform::{ArgumentTransform, PromptTransform, ResourceTransform, Split, ToolTransform, Transform};
use couplet_types::{CompletionReference, ToolAnnotations};
use serde_json::{Value, json};

use crate::kit::{connect, find, in_each_revision, mounted, names, proxied, said, server, works};

/// `echo` as `find`, with other arguments.
fn found() -> ToolTransform {
    ToolTransform::new()
        .name("find")
        .title("Find")
        .description("Finds things.")
        .annotations(ToolAnnotations::new().read_only_hint(true))
        .argument("q", ArgumentTransform::new().name("query").description("Some words.").max_length(9))
        .argument("n", ArgumentTransform::new().integer().maximum(5.0).default_value(json!(3)))
        .preset("tenant", json!("acme"))
}

#[test]
fn a_tool_has_another_name_texts_and_arguments() {
    in_each_revision(async |version| {
        let revision = Revision::of(version);
        let transformed = Transform::new(server()).tool("echo", found()).into_service();
        let behind = proxied(transformed.clone(), version).await;
        for (service, prefix) in [(transformed.clone(), ""), (mounted(transformed), "m_"), (behind, "")] {
            let client = connect(service, version).await;
            let name = format!("{prefix}find");
            let listed = find(&client, &name).await;
            assert_eq!(listed.description.as_deref(), Some("Finds things."));
            assert_eq!(listed.title.as_deref(), revision.has_titles().then_some("Find"));
            let hint = listed.annotations.and_then(|annotations| annotations.read_only_hint);
            assert_eq!(hint, revision.has_tool_annotations().then_some(true));
            let schema: Value = listed.input_schema.parse().unwrap();
            assert_eq!(schema["required"], json!(["query"]));
            assert_eq!(schema["properties"]["query"]["description"], "Some words.");
            assert_eq!(schema["properties"]["n"]["maximum"], 5);
            assert!(schema["properties"].get("q").is_none() && schema["properties"].get("tenant").is_none());

            let sent = said(&client, &name, json!({ "query": "cats" })).await;
            assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), json!({ "q": "cats", "n": 3, "tenant": "acme" }));
            for (arguments, expected) in [
                (json!({ "q": "cats" }), "argument `q` is unknown"),
                (json!({ "query": "cats", "tenant": "evil" }), "argument `tenant` is unknown"),
                (json!({ "query": "cats", "n": 6 }), "argument `n`: expected at most 5"),
                (json!({ "query": "a long text" }), "argument `query`: expected at most 9 characters, got 11"),
            ] {
                let refused = said(&client, &name, arguments.clone()).await;
                assert!(refused.contains(expected), "{version} {arguments}: {refused}");
                assert!(!works(&client, &name, arguments).await);
            }
            // The server's own errors have the names that the caller knows.
            let missing = said(&client, &name, json!({})).await;
            assert!(missing.contains("`query`") && !missing.contains("`q`"), "{missing}");
        }
    });
}

#[test]
fn members_of_arguments_and_the_output_schema_are_changed() {
    let filter = json!({ "type": "object", "required": ["limit", "order"], "properties": {
        "limit": { "type": "integer" },
        "order": { "type": "object", "properties": { "by/key": { "type": "string" } } },
    } });
    let output = json!({ "type": "object", "properties": { "found": { "type": "integer" } } });
    in_each_revision(async |version| {
        let revision = Revision::of(version);
        let echo = tool("find", |ctx: couplet_server::Ctx| ctx.call().arguments().as_str().to_owned())
            .input_schema(json!({ "type": "object", "properties": { "f": filter, "x": {} } }));
        let change = ToolTransform::new()
            .argument("f", ArgumentTransform::new().name("filter"))
            .member("/f/limit", ArgumentTransform::new().maximum(5.0).default_value(json!(3)))
            .member("/f/order/by~1key", ArgumentTransform::new().one_of(["name"]).description("The key."))
            .member("/f/none/x", ArgumentTransform::new().number());
        let server: Server = Server::new("s", "1").tool(echo).tool(tool("count", || "3"));
        let typed = ToolTransform::new().output_schema(output.clone());
        let service = Transform::new(server).tool("find", change).tool("count", typed);
        let client = connect(service.into_service(), version).await;
        let listed = find(&client, "find").await;
        let schema: Value = listed.input_schema.parse().unwrap();
        let inside = &schema["properties"]["filter"];
        assert_eq!(inside["properties"]["limit"], json!({ "type": "integer", "maximum": 5, "default": 3 }));
        let key = json!({ "type": "string", "enum": ["name"], "description": "The key." });
        assert_eq!(inside["properties"]["order"]["properties"]["by/key"], key);
        assert_eq!(inside["required"], json!(["order"]));
        let listed = find(&client, "count").await.output_schema.map(|schema| schema.parse::<Value>().unwrap());
        assert_eq!(listed, revision.has_structured_output().then(|| output.clone()));
        for (sent, expected) in [
            (json!({ "filter": { "order": { "by/key": "name" } } }), r#"{"f":{"limit":3,"order":{"by/key":"name"}}}"#),
            (json!({ "filter": { "limit": 2, "order": {} } }), r#"{"f":{"limit":2,"order":{}}}"#),
            (json!({ "x": 1 }), r#"{"x":1}"#),
            (json!({ "filter": { "limit": 6 } }), "argument `filter`, member `limit`: expected at most 5"),
            (
                json!({ "filter": { "order": { "by/key": "size" } } }),
                "argument `filter`, member `order/by/key`: expected one of `\"name\"`",
            ),
        ] {
            let result = said(&client, "find", sent).await;
            match serde_json::from_str::<Value>(&result) {
                Ok(value) => assert_eq!(value, serde_json::from_str::<Value>(expected).unwrap()),
                Err(_) => assert!(result.contains(expected), "{version}: {result}"),
            }
        }
    });
}

#[test]
fn errors_name_what_the_caller_knows() {
    in_each_revision(async |version| {
        let service = Transform::new(server())
            .tool("plain", ToolTransform::new().name("simple"))
            .tool("gone", ToolTransform::new().name("here"))
            .hide_tools("secret");
        let client = connect(service, version).await;
        for (name, expected) in [
            ("plain", "there is no tool `plain`"),
            ("secret", "there is no tool `secret`"),
            ("secre", "there is no tool `secre`"),
            ("plane", "there is no tool `plane`; did you mean `simple`?"),
            ("here", "there is no tool `here`"),
        ] {
            assert_eq!(said(&client, name, json!({})).await, expected);
        }
        assert_eq!(said(&client, "simple", json!({})).await, "plain");
        assert_eq!(names(&client).await, ["echo", "change", "simple"], "over pages of two");
    });
}

#[test]
fn elicitation_and_progress_pass_through() {
    in_each_revision(async |version| {
        let direct = said(&connect(server(), version).await, "change", json!({})).await;
        let service = Transform::new(server()).tool("change", ToolTransform::new().name("alter"));
        let client = connect(service, version).await;
        assert_eq!(said(&client, "alter", json!({})).await, direct);
    });
}

#[test]
fn prompts_and_resources() {
    in_each_revision(async |version| {
        let service = Transform::new(server())
            .prompt("greet", PromptTransform::new().name("hello").description("Greets."))
            .hide_prompts("bye")
            .resource("test://menu", ResourceTransform::new().description("Dishes."))
            .hide_resources("test://notes/{id}")
            .into_service();
        assert!(service.has_resource("test://menu") && !service.has_resource("test://notes/1"));
        assert!(!service.may_subscribe("test://notes/1", None));
        let client = connect(service, version).await;
        let prompts = client.prompts().await.unwrap();
        assert_eq!(prompts.len(), 1);
        assert_eq!((&*prompts[0].name, prompts[0].description.as_deref()), ("hello", Some("Greets.")));
        assert!(client.prompt("hello", json!({ "city": "Rome" })).await.is_ok());
        for hidden in ["greet", "bye"] {
            let error = client.prompt(hidden, json!({ "city": "Rome" })).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().message, format!("there is no prompt `{hidden}`"));
            assert!(client.complete(CompletionReference::prompt(hidden), "city", "O").await.is_err());
        }
        let cities = client.complete(CompletionReference::prompt("hello"), "city", "O").await.unwrap();
        assert_eq!(cities.values, ["Oslo"]);
        let resources = client.resources().await.unwrap();
        assert_eq!(resources[0].description.as_deref(), Some("Dishes."));
        assert!(client.resource_templates().await.unwrap().is_empty());
        assert!(client.read("test://notes/1").await.is_err() && client.read("test://menu").await.is_ok());
        assert!(client.complete(CompletionReference::resource("test://notes/{id}"), "id", "1").await.is_err());
    });
}

#[test]
fn parts_of_a_service() {
    in_each_revision(async |version| {
        let split = Split::new(server())
            .tools("admin", ["sec*", "plain"])
            .resources("admin", ["test://secret"])
            .prompts("chat", ["*"]);
        let admin = connect(split.part("admin"), version).await;
        assert_eq!(names(&admin).await, ["secret", "plain"]);
        assert!(admin.prompts().await.unwrap().is_empty() && !works(&admin, "echo", json!({ "q": "" })).await);
        assert_eq!(admin.resources().await.unwrap().len(), 1);
        assert!(admin.read("test://menu").await.is_err() && admin.read("test://notes/1").await.is_err());
        let rest = connect(split.rest(), version).await;
        assert_eq!(names(&rest).await, ["echo", "change"]);
        assert!(rest.prompts().await.unwrap().is_empty() && !works(&rest, "plain", json!({})).await);
        assert!(rest.read("test://menu").await.is_ok() && rest.read("test://notes/1").await.is_ok());
        assert!(rest.read("test://secret").await.is_err());
    });
}

#[test]
fn scopes_and_headers_follow_the_names() {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let id = json!({ "type": "string", "x-mcp-header": "Zone" });
    let zone = json!({ "type": "object", "properties": { "id": id } });
    let schema = json!({ "type": "object", "properties": { "region": region, "zone": zone } });
    let deploy = tool("deploy", || "deployed").scopes(["ops"]).input_schema(schema);
    let inner: Server = Server::new("s", "1").tool(deploy);
    let change = ToolTransform::new().name("ship").argument("region", ArgumentTransform::new().name("area"));
    let service = Transform::new(inner).tool("deploy", change.preset("zone", json!({ "id": "a" }))).into_service();
    let headers = service.header_params("ship").unwrap();
    assert_eq!(headers.len(), 1, "a preset argument has no header");
    let arguments = JsonText::new(r#"{"area":"eu"}"#).unwrap();
    assert_eq!(headers[0].text(&arguments).unwrap().as_deref(), Some("eu"));
    assert!(service.header_params("deploy").is_none());
    let params = |name: &str| Params::from_text(JsonText::new(json!({ "name": name }).to_string()).unwrap()).unwrap();
    let scopes = |name: &str| {
        service.required_scopes("tools/call", &params(name), Sender::default()).map(|scopes| scopes.to_vec())
    };
    assert_eq!(scopes("ship"), Some(vec!["ops".to_owned()]));
    assert_eq!(scopes("deploy"), None);
}

#[test]
fn changes_are_those_of_the_service() {
    let inner = server().build();
    let service = Transform::new(inner.clone()).hide_tools("echo").into_service();
    let subscription = service.hub().subscribe(Filter::new().tools());
    inner.hub().send(Change::Tools);
    assert_eq!(subscription.take(), Some(Change::Tools));
}
