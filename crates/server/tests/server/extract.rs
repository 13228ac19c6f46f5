//! Extractors in an `Option`: what a call lacks is `None`, what is malformed is an error.

use couplet_core::Caller;
use couplet_server::{
    Server,
    extract::{Args, Auth, Uri},
    schemars::{self, JsonSchema},
    tool,
};
use serde::Deserialize;
use serde_json::json;

use crate::support::Client;

#[derive(Deserialize, JsonSchema)]
struct Count {
    n: u8,
}

struct Person(&'static str);

fn server() -> Server {
    Server::new("s", "1")
        .tool(tool("count", |count: Option<Args<Count>>| count.map_or_else(|| "none".into(), |c| c.0.n.to_string())))
        .tool(tool("who", |who: Option<Auth<Person>>| who.map_or("none", |person| person.0.0)))
        .tool(tool("uri", |uri: Option<Uri>| uri.is_some()))
}

#[tokio::test]
async fn malformed_arguments_are_an_error() {
    let mut client = Client::new(server()).await;
    for (arguments, want) in [
        (json!({ "n": 5 }), "5"),
        (json!({}), "none"),
        (json!(null), "none"),
        (json!({ "n": "x" }), r#"error: argument `n`: expected an integer, got the string "x""#),
        (json!({ "m": 5 }), "error: argument `n` is missing (required); `m` is unknown: did you mean `n`?"),
    ] {
        assert_eq!(client.call("count", arguments.clone()).await, want, "{arguments}");
    }
    assert_eq!(client.call("uri", json!({})).await, "false");
}

#[tokio::test]
async fn claims_of_another_type_are_an_error() {
    for (caller, want) in [
        (None, "none"),
        (Some(Caller::new("7").with_claims(Person("Ada"))), "Ada"),
        (Some(Caller::new("7").with_claims(7_u8)), "-32603: the server does not know enough about the caller"),
        (Some(Caller::new("7")), "-32603: the server does not know enough about the caller"),
    ] {
        let mut client = Client::of(server().build(), caller).await;
        assert_eq!(client.call("who", json!({})).await, want);
    }
}
