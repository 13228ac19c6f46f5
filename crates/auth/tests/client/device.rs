//! Logging in with a browser of another machine.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_auth::client::{DeviceCode, OAuth};
use couplet_core::ErrorKind;
use couplet_testing::auth::AuthServer;
use http::Response;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{ISSUER, World, reply};

/// A world whose authorization server offers device codes, and what was shown.
fn world(answer: Value) -> (World, OAuth, Arc<Mutex<Vec<DeviceCode>>>) {
    let (world, seen) = (World::new(), Arc::new(Mutex::new(Vec::new())));
    world.server_says("device_authorization_endpoint", json!(format!("{ISSUER}/device")));
    world.rule(move |seen| seen.url.ends_with("/device").then(|| reply(200, &answer)));
    let shown = seen.clone();
    let oauth = world.at_home(OAuth::device("Test", move |code| {
        shown.lock().unwrap().push(code);
        async { Ok(()) }
    }));
    (world, oauth, seen)
}

fn usual() -> Value {
    json!({ "device_code": "secret", "user_code": "ABCD-EFGH", "verification_uri": "https://as.example/activate",
        "verification_uri_complete": "https://as.example/activate?c=ABCD-EFGH", "expires_in": 600, "interval": 5 })
}

/// What the token endpoint answers to each poll; after that it issues a token.
fn polled(world: &World, answers: &'static [&'static str]) -> Arc<Mutex<Vec<Instant>>> {
    let (times, count) = (Arc::new(Mutex::new(Vec::new())), AtomicUsize::new(0));
    let polls = times.clone();
    world.rule(move |seen| {
        let is_poll = seen.url.ends_with("/token") && seen.field("device_code").as_deref() == Some("secret");
        let code = is_poll.then(|| {
            polls.lock().unwrap().push(Instant::now());
            answers.get(count.fetch_add(1, Ordering::SeqCst)).copied()
        });
        code.flatten().map(|code| match code {
            "lost" => Response::builder().status(599).body(Bytes::new()).unwrap(),
            code => reply(400, &json!({ "error": code })),
        })
    });
    times
}

#[tokio::test(start_paused = true)]
async fn a_code_is_shown_and_waited_for() {
    let (world, oauth, shown) = world(usual());
    let began = Instant::now();
    let polls = polled(&world, &["authorization_pending", "slow_down", "lost", "authorization_pending"]);
    assert_eq!(world.once(&oauth.scopes(["a", "b"])).await.unwrap(), 200);
    let seconds: Vec<_> = polls.lock().unwrap().iter().map(|at| (*at - began).as_secs()).collect();
    // Every five seconds, then every ten, then, after a lost connection, every twenty.
    assert_eq!(seconds, [5, 10, 20, 40, 60]);
    let shown = shown.lock().unwrap();
    assert_eq!((shown.len(), &*shown[0].user_code), (1, "ABCD-EFGH"));
    assert_eq!(shown[0].verification_uri, "https://as.example/activate");
    let asked = world.seen("/device").pop().unwrap();
    assert_eq!(asked.field("scope").as_deref(), Some("a b"));
    assert_eq!(asked.field("client_id").as_deref(), Some("client-of-as.example"));
    let registered: Value = serde_json::from_str(&world.seen("/register").pop().unwrap().body).unwrap();
    assert!(registered["grant_types"].to_string().contains("device_code"), "{registered}");
}

#[tokio::test(start_paused = true)]
async fn a_code_that_is_refused_or_late_ends_the_login() {
    let late: &[&str] = &["authorization_pending"; 1000];
    for (answers, expected) in [
        (&["authorization_pending", "access_denied"][..], "access_denied"),
        (&["expired_token"], "not entered in time"),
        (late, "not entered in time"),
        (&["lost"; 100], "unreachable"),
    ] {
        let (world, oauth, _) = world(usual());
        let (began, polls) = (Instant::now(), polled(&world, answers));
        let error = world.once(&oauth).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(polls.lock().unwrap().len() <= 120 && began.elapsed() <= Duration::from_secs(600));
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_authorization_server_shows_is_checked() {
    for (member, value) in [
        ("verification_uri", json!("javascript:alert(1)")),
        ("verification_uri", json!("http://plain.example/")),
        ("verification_uri_complete", json!("file:///etc/passwd")),
    ] {
        let mut answer = usual();
        answer[member] = value;
        let (world, oauth, shown) = world(answer);
        assert_eq!(world.once(&oauth).await.unwrap_err().kind(), ErrorKind::Auth);
        assert!(shown.lock().unwrap().is_empty() && world.seen("/token").is_empty());
    }
    let (world, oauth, shown) = world(usual());
    world.server_says("device_authorization_endpoint", Value::Null);
    let error = world.once(&oauth).await.unwrap_err();
    assert!(error.to_string().contains("does not support device codes"), "{error}");
    assert!(shown.lock().unwrap().is_empty());
}

/// The whole way, with the authorization server of the testing crate and over sockets.
#[tokio::test]
async fn a_device_code_is_entered() {
    let issuer = Arc::new(AuthServer::start().await.unwrap());
    let world = World::new();
    world.inner().documents.get_mut(crate::world::ABOUT).unwrap()["authorization_servers"] = json!([issuer.issuer()]);
    world.rule(|seen| {
        let bearer = seen.header("authorization").is_some_and(|h| h.starts_with("Bearer ey"));
        (seen.url == crate::world::SERVER && bearer).then(|| reply(200, &json!({})))
    });
    let entering = issuer.clone();
    let oauth = OAuth::device("Test", move |code: DeviceCode| {
        assert!(entering.enter_device_code(&code.user_code, true));
        async { Ok(()) }
    });
    let oauth = oauth.reach(couplet_auth::fetch::Reach::Loopback);
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(issuer.requests("/device_authorization").len(), 1);
    assert_eq!(issuer.requests("/token").len(), 1);
}
