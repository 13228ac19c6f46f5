//! Names: of methods that are taken, and of things that do not exist.

use couplet_core::{Reply, ResultBody};
use couplet_server::{Server, extract::Path, prompt, resource, tool};
use serde_json::json;

use crate::support::Client;

fn with_method(server: Server, name: &str) -> Server {
    server.method(name, |_| async { Reply::Complete(ResultBody::empty()) })
}

#[test]
#[should_panic = "there are two methods called `my/method`: one registered at crates/server/tests/server/names.rs:"]
fn a_method_cannot_be_registered_twice() {
    let _ = with_method(with_method(Server::new("s", "1"), "my/method"), "my/method");
}

#[test]
#[should_panic = "the method `tools/call` is the specification's own"]
fn a_method_of_the_specification_cannot_be_registered() {
    let _ = with_method(Server::new("s", "1"), "tools/call");
}

#[tokio::test]
async fn unknown_names_get_a_hint() {
    let server = Server::new("s", "1")
        .tool(tool("close", || "closed"))
        .tool(tool("open", || "opened"))
        .prompt(prompt("explain", || "Explain."))
        .resource(resource("notes://{name}", |Path(name): Path<String>| name).complete_from("name", ["a"]));
    let mut client = Client::new(server).await;
    assert_eq!(client.call("cloze", json!({})).await, "-32602: there is no tool `cloze`; did you mean `close`?");
    assert_eq!(client.call("zzzzzz", json!({})).await, "-32602: there is no tool `zzzzzz`");
    let long = "x".repeat(10_000);
    assert!(client.call(&long, json!({})).await.ends_with("x…`"));
    let complete = |argument: &str, uri: &str| json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": argument, "value": "" } });
    for (method, params, want) in [
        ("prompts/get", json!({ "name": "explian" }), "there is no prompt `explian`; did you mean `explain`?"),
        ("completion/complete", complete("nam", "notes://{name}"), "there is no argument `nam`; did you mean `name`?"),
        (
            "completion/complete",
            complete("name", "note://{name}"),
            "there is no resource template `note://{name}`; did you mean `notes://{name}`?",
        ),
    ] {
        assert_eq!(client.ask(method, params).await["message"], want);
    }
}
