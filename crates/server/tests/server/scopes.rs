//! Scopes of tools, resources and prompts: who is refused, and who sees what in lists.

use std::{sync::Arc, time::Duration};

use couplet_core::{Caller, JsonText, Sender, Service, message::Params};
use couplet_server::{Server, ServerHandle, extract::Path, prompt, resource, tool};
use couplet_types::CacheScope;
use serde_json::{Value, json};

use crate::support::Client;

/// A tool, a resource, a template and a prompt that need a scope, beside some that do not; with the same mounted.
fn server(server: Server) -> ServerHandle {
    let items = |server: Server| {
        server
            .cache(Duration::from_secs(5), CacheScope::Public)
            .tool(tool("list", || "all"))
            .tool(tool("purge", || "purged").scopes(["admin"]))
            .resource(resource("notes://public", || "public"))
            .resource(resource("notes://private", || "private").scopes(["admin"]))
            .resource(
                resource("notes://by/{name}", |Path(name): Path<String>| name)
                    .complete_from("name", ["ada"])
                    .scopes(["admin"]),
            )
            .prompt(prompt("greet", || "Greet."))
            .prompt(prompt("audit", || "Audit.").scopes(["admin"]))
    };
    items(server).mount("in", items(Server::new("inside", "1"))).build()
}

fn completion(key: &str, value: &str, argument: &str) -> Value {
    let kind = if key == "name" { "ref/prompt" } else { "ref/resource" };
    json!({ "ref": { "type": kind, key: value }, "argument": { "name": argument, "value": "" } })
}

/// Requests that need the scope, and requests that do not.
fn requests() -> [(&'static str, Value, bool); 13] {
    [
        ("tools/call", json!({ "name": "list" }), false),
        ("tools/call", json!({ "name": "purge" }), true),
        ("tools/call", json!({ "name": "in_purge" }), true),
        ("resources/read", json!({ "uri": "notes://public" }), false),
        ("resources/read", json!({ "uri": "notes://private" }), true),
        ("resources/read", json!({ "uri": "notes://by/ada" }), true),
        ("resources/read", json!({ "uri": "notes://in/public" }), false),
        ("resources/read", json!({ "uri": "notes://in/private" }), true),
        ("prompts/get", json!({ "name": "greet" }), false),
        ("prompts/get", json!({ "name": "audit" }), true),
        ("prompts/get", json!({ "name": "in_audit" }), true),
        ("completion/complete", completion("uri", "notes://by/{name}", "name"), true),
        ("completion/complete", completion("uri", "notes://in/by/{name}", "name"), true),
    ]
}

#[tokio::test]
async fn a_caller_without_the_scope_is_refused() {
    let admin = || Caller::new("7").with_scopes(["admin"]);
    for (caller, allowed) in [(None, false), (Some(Caller::new("8")), false), (Some(admin()), true)] {
        let mut client = Client::of(server(Server::new("s", "1")), caller).await;
        for (method, params, needs) in requests() {
            let answer = client.ask(method, params.clone()).await;
            let refused = answer["data"]["scopes"] == json!(["admin"]) && answer["code"] == -32600;
            assert_eq!(refused, needs && !allowed, "{method} {params}: {answer}");
            assert_eq!(answer.get("code").is_some(), refused, "{method} {params}: {answer}");
        }
    }
}

#[test]
fn transports_can_ask_for_the_scopes() {
    let server: Arc<dyn Service> = Arc::new(server(Server::new("s", "1")));
    for (method, params, needs) in requests() {
        let params = Params::from_text(JsonText::new(params.to_string()).unwrap()).unwrap();
        let scopes = server.required_scopes(method, &params, Sender::default());
        assert_eq!(scopes.is_some_and(|scopes| scopes.contains(&"admin".to_owned())), needs, "{method}");
    }
    let other = Params::from_text(JsonText::new(r#"{"name":"purge"}"#).unwrap()).unwrap();
    assert_eq!(server.required_scopes("tools/list", &other, Sender::default()), None);
}

#[tokio::test]
async fn forbidden_items_can_be_hidden_from_every_list() {
    let lists = [
        ("tools/list", "tools", "name", ["list", "purge"]),
        ("prompts/list", "prompts", "name", ["greet", "audit"]),
        ("resources/list", "resources", "uri", ["notes://public", "notes://private"]),
    ];
    let admin = || Some(Caller::new("7").with_scopes(["admin"]));
    for (hide, caller, shown) in
        [(false, None, 2), (true, None, 1), (true, Some(Caller::new("8")), 1), (true, admin(), 2)]
    {
        let plain = Server::new("s", "1");
        let server = server(if hide { plain.hide_forbidden() } else { plain });
        let mut client = Client::of(server, caller).await;
        for (method, list, key, want) in lists {
            let listed = client.ask(method, json!({})).await;
            let own: Vec<_> =
                listed[list].as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect();
            let own: Vec<_> = own.iter().filter(|name| !name.contains("in_") && !name.contains("/in/")).collect();
            assert_eq!(own, want[..shown].iter().collect::<Vec<_>>(), "{method}, hidden: {hide}");
        }
        let templates = client.ask("resources/templates/list", json!({})).await;
        let templates = templates["resourceTemplates"].as_array().unwrap();
        let own = templates.iter().filter(|t| t["uriTemplate"] == "notes://by/{name}").count();
        assert_eq!(own, shown - 1, "templates, hidden: {hide}");
    }
}

/// Another caller must not get such a list from a shared cache.
#[tokio::test]
async fn lists_that_hide_something_are_cached_for_one_caller() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (hide, want) in [(false, "public"), (true, "private")] {
        let plain = Server::new("s", "1");
        let server = server(if hide { plain.hide_forbidden() } else { plain });
        let mut client = Client::stateless(&server, None);
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            let listed = client.ask(method, json!({ "_meta": meta })).await;
            assert_eq!(listed["cacheScope"], want, "{method}: {listed}");
        }
    }
}

/// A hint must not reveal a hidden name, and a hidden name is still refused for its scopes.
#[tokio::test]
async fn hints_do_not_reveal_hidden_names() {
    let mut client = Client::of(server(Server::new("s", "1").hide_forbidden()), None).await;
    assert_eq!(client.ask("prompts/get", json!({ "name": "audi" })).await["message"], "there is no prompt `audi`");
    assert_eq!(client.call("purg", json!({})).await, "-32602: there is no tool `purg`");
    assert!(client.call("purge", json!({})).await.contains("`admin`"));
    let typo = completion("uri", "notes://by/{nam}", "nam");
    let answer = client.ask("completion/complete", typo).await["message"].to_string();
    assert!(!answer.contains("notes://by/{name}"), "{answer}");
}

#[test]
#[should_panic = "\"a b\" is not a scope: it is one word"]
fn a_scope_is_one_word() {
    let _: Server = Server::new("s", "1").resource(resource("a://b", || "b").scopes(["a b"]));
}
