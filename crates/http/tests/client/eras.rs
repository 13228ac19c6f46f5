//! What is remembered about servers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use couplet_client::Client;
use couplet_core::{Connect, Error, ErrorKind};
use couplet_http::client::{EraCache, HttpTarget};
use couplet_types::ProtocolVersion;

use crate::{
    fallback::first_revision,
    mock::{LEGACY, MODERN, Mock, discovered, empty, reply, tools},
};

async fn version(target: impl Connect) -> Result<String, Error> {
    let client = Client::new("test", "1").connect(target).await?;
    let version = client.server().version.to_string();
    client.close().await?;
    Ok(version)
}

/// What was asked during one connection.
async fn asked(mock: &Mock, target: HttpTarget) -> Vec<String> {
    let before = mock.asked().len();
    version(target).await.unwrap();
    mock.asked().split_off(before)
}

fn legacy() -> Mock {
    Mock::legacy(|seen| if seen.what() == "GET" { empty(405) } else { empty(200) })
}

#[tokio::test(start_paused = true)]
async fn a_server_that_must_be_greeted_is_probed_once() {
    let mock = legacy();
    let target = mock.target();
    let eras = EraCache::new();
    for (target, probes) in [
        (target.clone(), 1),
        (target.clone(), 0),
        (target, 0),
        (mock.target(), 1),
        (mock.target().eras(&eras), 1),
        (couplet_http::connect(format!("{}?key=1", crate::mock::URL)).client(Arc::new(mock.clone())).eras(&eras), 0),
        // Another address may be another server.
        (couplet_http::connect("https://server.example/other").client(Arc::new(mock.clone())).eras(&eras), 1),
        (couplet_http::connect("https://server.example:8443/mcp").client(Arc::new(mock.clone())).eras(&eras), 1),
        (couplet_http::connect("https://SERVER.example/mcp").client(Arc::new(mock.clone())).eras(&eras), 0),
    ] {
        let asked = asked(&mock, target).await;
        assert_eq!(asked.iter().filter(|a| *a == "server/discover").count(), probes, "{asked:?}");
        assert_eq!(asked.iter().filter(|a| *a == "initialize").count(), 1, "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_needs_no_greeting_is_asked_what_it_is() {
    let mock = Mock::modern(|_| empty(404));
    let target = mock.target();
    for _ in 0..3 {
        assert_eq!(asked(&mock, target.clone()).await, ["server/discover"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_transport_is_remembered() {
    let mock = first_revision("/messages");
    let target = mock.target();
    let first = asked(&mock, target.clone()).await;
    assert_eq!(first[..4], ["server/discover", "initialize", "GET", "initialize"]);
    assert_eq!(asked(&mock, target).await[..2], ["GET", "initialize"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_forgotten() {
    // Each is what a server of the new era may say to a greeting.
    type Refusal = fn(&crate::mock::Seen) -> http::Response<couplet_http::client::Body>;
    let refusals: [Refusal; 4] = [
        |_| empty(404),
        |seen| reply(400, &seen.error(-32020, serde_json::Value::Null)),
        |seen| reply(400, &seen.error(-32022, serde_json::json!({ "supported": [MODERN], "requested": LEGACY }))),
        |seen| reply(404, &seen.error(-32601, serde_json::Value::Null)),
    ];
    for refuse in refusals {
        let new = Arc::new(AtomicBool::new(false));
        let (is_new, old) = (new.clone(), legacy());
        let mock = Mock::new(move |seen| match (is_new.load(Ordering::SeqCst), seen.what()) {
            (false, _) => old.script(seen),
            (true, "server/discover") => reply(200, &seen.result(discovered())),
            (true, _) => refuse(seen),
        });
        let target = mock.target();
        assert_eq!(version(target.clone()).await.unwrap(), LEGACY);
        new.store(true, Ordering::SeqCst);
        // The greeting that does not work any more is tried once, and then the server is asked.
        let greetings = mock.count("initialize");
        for _ in 0..2 {
            assert_eq!(version(target.clone()).await.unwrap(), MODERN);
            assert_eq!(mock.count("initialize"), greetings + 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_greetings_asks_for_itself() {
    let mock = legacy();
    let target = mock.target();
    version(target.clone()).await.unwrap();
    let modern = || Client::new("test", "1").versions([MODERN.parse::<ProtocolVersion>().unwrap()]);
    for probes in [1, 2] {
        let error = modern().connect(target.clone()).await.unwrap_err();
        assert_eq!((error.kind(), mock.count("server/discover")), (ErrorKind::Version, probes));
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_client_prefers_says_nothing_about_the_server() {
    let old = legacy();
    let mock = Mock::modern(move |seen| old.script(seen));
    let target = mock.target();
    let builder = Client::new("test", "1").versions([LEGACY.parse::<ProtocolVersion>().unwrap()]);
    let client = builder.connect(target.clone()).await.unwrap();
    assert_eq!(client.server().version.as_str(), LEGACY);
    assert_eq!(version(target).await.unwrap(), MODERN);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_opened_anew_is_forgotten() {
    let lost = Arc::new(AtomicBool::new(false));
    let (is_lost, old) = (lost.clone(), legacy());
    let mock = Mock::new(move |seen| match (is_lost.load(Ordering::SeqCst), seen.what()) {
        (true, "server/discover") => reply(200, &seen.result(discovered())),
        (true, _) => empty(404),
        (false, "tools/list") => reply(200, &seen.result(tools(&[]))),
        _ => old.script(seen),
    });
    let target = mock.target();
    let client = Client::new("test", "1").connect(target.clone()).await.unwrap();
    client.tools().await.unwrap();
    lost.store(true, Ordering::SeqCst);
    assert!(client.tools().await.unwrap_err().is_closed());
    assert_eq!(version(target).await.unwrap(), MODERN);
}
