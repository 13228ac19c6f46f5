//! Names: of methods that are taken, and of things that do not exist.

use couplet_core::{Reply, ResultBody, Service};
use couplet_server::{Server, extract::Path, prompt, resource, tool};
use couplet_types::Implementation;
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
#[should_panic = "the method `tools/call` belongs to the specification"]
fn a_method_of_the_specification_cannot_be_registered() {
    let _ = with_method(Server::new("s", "1"), "tools/call");
}

#[test]
#[should_panic = "there are two prompts called `a`: one registered at crates/server/tests/server/names.rs:"]
fn with_state_names_both_places() {
    let _ = Server::new("s", "1").prompt(prompt("a", || "a")).prompt(prompt("a", || "b")).with_state(7_u8);
}

#[test]
fn info_keeps_an_earlier_title() {
    for (given, want) in [(None, "Calculator"), (Some("Other"), "Other")] {
        let mut info = Implementation::new("calc", "1");
        info.title = given.map(str::to_owned);
        let server: Server = Server::new("s", "1").title("Calculator").info(info);
        let description = server.build().describe();
        assert_eq!((description.info.name.as_str(), description.info.title.as_deref()), ("calc", Some(want)));
    }
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
