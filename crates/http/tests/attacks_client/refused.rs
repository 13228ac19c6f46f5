//! What is said when a server refuses, or is gone before it has answered.

use std::sync::atomic::{AtomicBool, Ordering};

use couplet_core::{Error, ErrorKind};
use couplet_http::client::Challenge;
use http::Response;
use serde_json::json;

use crate::mock::{Mock, Step, empty, event, reply, send, stream, text, with};

#[tokio::test(start_paused = true)]
async fn attack_12_work_that_may_have_been_done_is_not_said_to_be_repeatable() {
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } });
    for modern in [true, false] {
        let done = std::sync::Arc::new(AtomicBool::new(false));
        let (worked, note) = (done.clone(), note.clone());
        let script = move |seen: &crate::mock::Seen| match seen.what() {
            "tools/call" => {
                worked.store(true, Ordering::SeqCst);
                stream([event(&note), Step::Break])
            }
            "GET" => empty(405),
            _ => empty(202),
        };
        let mock = if modern { Mock::modern(script) } else { Mock::legacy(script) };
        let error = mock.connect().await.call("pay", ()).await.unwrap_err();
        assert!(done.load(Ordering::SeqCst) && error.is_closed());
        let told = error.to_string();
        assert!(told.contains("is not known") && !told.contains("again"), "{told}");
    }
}

/// What a call comes to that is answered like this.
async fn refused(answer: fn() -> Response<couplet_http::client::Body>) -> Error {
    Mock::modern(move |_| answer()).connect().await.call("x", ()).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn attack_12_a_forbidden_host_is_not_told_as_a_login() {
    let error = refused(|| {
        let error = json!({ "code": -32600, "message": "this host name is not served here" });
        reply(403, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.to_string().ends_with("(403): this host name is not served here"), "{error}");
    assert!(!Challenge::of(&error).unwrap().wants_login());

    let error = refused(|| text(403, "text/plain", "not \u{1b}[1mfrom\nhere")).await;
    assert!(error.to_string().ends_with("(403): not [1mfrom"), "{error}");
    let error = refused(|| text(403, "text/html", "<html>")).await;
    assert!(error.to_string().ends_with("(403)"), "{error}");
    // Whatever a server says about it, it says in a moment.
    let error = refused(|| {
        let mut endless = stream([send("x"), Step::Hang]);
        *endless.status_mut() = http::StatusCode::FORBIDDEN;
        with(endless, "content-type", "text/plain")
    })
    .await;
    assert!(error.to_string().contains("(403)"), "{error}");
}

#[tokio::test]
async fn attack_12_the_scopes_that_are_needed_are_named() {
    let error = refused(|| {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"tickets:read tickets:admin\", \
                         error_description=\"only for admins\"";
        with(empty(403), "www-authenticate", challenge)
    })
    .await;
    let told = error.to_string();
    assert!(told.contains("only for admins") && told.contains("`tickets:read tickets:admin`"), "{told}");
    let challenge = Challenge::of(&error).unwrap();
    assert!(challenge.wants_login());
    assert_eq!(challenge.scopes, ["tickets:read", "tickets:admin"]);
    assert_eq!(challenge.error.as_deref(), Some("insufficient_scope"));

    let error = refused(|| with(empty(401), "www-authenticate", "Bearer error=\"invalid_token\"")).await;
    assert!(error.to_string().contains("(401)") && Challenge::of(&error).unwrap().wants_login(), "{error}");
}
