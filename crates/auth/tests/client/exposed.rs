//! Servers that are reached without TLS and are not on this machine.

use std::sync::Arc;

use bytes::Bytes;
use couplet_auth::{
    client::{MemoryStore, OAuth, Store},
    fetch::Reach,
};
use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_http::client::Authorize;
use http::Request;

use crate::world::{World, refuse, reply};

const LAN: &str = "http://printer.example:8080/mcp";

async fn call_at(server: &str, world: &World, oauth: &OAuth) -> Result<u16, Error> {
    let client = oauth.authorize(server, Arc::new(world.clone())).unwrap();
    let request = Request::post(server).body(Bytes::from_static(b"{}")).unwrap();
    client.send(request).await.map(|response| response.status().as_u16())
}

async fn call(world: &World, oauth: &OAuth) -> Result<u16, Error> {
    call_at(LAN, world, oauth).await
}

#[tokio::test]
async fn a_server_that_asks_for_no_login_is_reached() {
    let world = World::new();
    world.rule(|seen| (seen.url == LAN).then(|| reply(200, &serde_json::json!({}))));
    assert_eq!(call(&world, &world.person()).await.unwrap(), 200);
    assert!(world.seen("/mcp").iter().all(|seen| seen.header("authorization").is_none()));
}

#[tokio::test]
async fn a_login_is_refused_with_the_reason_and_no_page_is_opened() {
    let world = World::new();
    world.rule(|seen| (seen.url == LAN).then(|| refuse(401, "Bearer")));
    let error = call(&world, &world.person()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    let text = error.to_string();
    assert!(["printer.example", "plain `http://`", "`https://` address"].iter().all(|w| text.contains(w)), "{text}");
    assert!(!text.contains("::"), "{text}");
    assert!(world.inner().pages.is_empty() && world.asked().is_empty());
}

/// Holds a token for every server.
struct Full(MemoryStore);

impl Store for Full {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<couplet_auth::Secret>, Error>> {
        let value = match key.starts_with("issuer for ") {
            true => "https://as.example".to_owned(),
            false => r#"{"access":"stored","refresh":"again","expires":null,"asked":[],"key":null}"#.to_owned(),
        };
        Box::pin(async { Ok(Some(couplet_auth::Secret::new(value))) })
    }

    fn save(&self, key: &str, value: Option<couplet_auth::Secret>) -> BoxFuture<'_, Result<(), Error>> {
        self.0.save(key, value)
    }
}

#[tokio::test]
async fn a_stored_token_is_not_sent_without_tls() {
    for (server, fine) in [
        ("https://mcp.example/mcp", true),
        ("https://10.0.0.1/mcp", true),
        ("http://localhost:3000/mcp", true),
        ("http://[::1]/mcp", true),
        ("http://mcp.example/mcp", false),
        ("http://10.0.0.1/mcp", false),
    ] {
        let world = World::new();
        world.rule(|seen| seen.url.ends_with("/mcp").then(|| reply(200, &serde_json::json!({}))));
        let oauth = world.person().store(Full(MemoryStore::new()));
        let sent = || world.seen("/mcp").pop().unwrap().header("authorization").map(str::to_owned);
        call_at(server, &world, &oauth).await.unwrap();
        assert_eq!(sent(), fine.then(|| "Bearer stored".to_owned()), "{server}");
        call_at(server, &world, &oauth.reach(Reach::Anywhere)).await.unwrap();
        assert_eq!(sent().as_deref(), Some("Bearer stored"), "{server}");
    }
}
