//! `#[resource]`.

use couplet::{
    Server, resource,
    server::extract::{Completing, Path, State, Uri},
};
use serde_json::json;

use crate::support::Client;

/// The square of a number.
#[resource("calc://square/{n}{?digits}", title = "Square", mime_type = "text/plain", subscribable, complete(n = numbers))]
fn square(n: f64, #[default(1)] digits: usize) -> String {
    format!("{:.digits$}", n * n)
}

fn numbers(typed: Completing) -> Vec<String> {
    (10..100).map(|n| n.to_string()).filter(|n| n.starts_with(&typed.value)).collect()
}

#[resource("notes://{+path}{?rev}", name = "note")]
async fn note(#[serde(rename = "path")] place: String, rev: Option<u32>, Uri(uri): Uri) -> String {
    format!("{place} {rev:?} {uri}")
}

#[resource("calc://pair/{a}/{b}")]
fn pair(Path((a, b)): Path<(u8, u8)>) -> String {
    format!("{a} {b}")
}

#[resource("state://")]
fn state(State(state): State<&'static str>) -> &'static str {
    state
}

fn server() -> Server {
    Server::new("test", "1").resource(square).resource(note).resource(pair).resource(state).with_state("state")
}

#[tokio::test]
async fn listings_come_from_the_function() {
    let mut client = Client::new(server()).await;
    let listed = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(
        listed["resourceTemplates"],
        json!([
            {
                "uriTemplate": "calc://square/{n}{?digits}",
                "name": "square",
                "title": "Square",
                "description": "The square of a number.",
                "mimeType": "text/plain",
            },
            { "uriTemplate": "notes://{+path}{?rev}", "name": "note" },
            { "uriTemplate": "calc://pair/{a}/{b}", "name": "pair" },
        ])
    );
    let listed = client.ask("resources/list", json!({})).await;
    assert_eq!(listed["resources"], json!([{ "uri": "state://", "name": "state" }]));
}

#[tokio::test]
async fn reads_reach_the_function() {
    let mut client = Client::new(server()).await;
    for (uri, want) in [
        ("calc://square/3", "9.0"),
        ("calc://square/3?digits=2", "9.00"),
        ("calc://square/x", "argument `n`: expected a number, got the string \"x\""),
        ("notes://a/b?rev=2", "a/b Some(2) notes://a/b?rev=2"),
        ("notes://a%20b", "a b None notes://a%20b"),
        ("calc://pair/1/2", "1 2"),
        ("state://", "state"),
    ] {
        assert_eq!(client.read(uri).await, want, "{uri}");
    }
    assert_eq!(square::call(2.0, 0), "4");
}

#[tokio::test]
async fn variables_are_completed() {
    let mut client = Client::new(server()).await;
    let ask = json!({
        "ref": { "type": "ref/resource", "uri": "calc://square/{n}{?digits}" },
        "argument": { "name": "n", "value": "99" },
    });
    assert_eq!(client.ask("completion/complete", ask).await["completion"]["values"], json!(["99"]));
}
