//! Messages that stand alone have nothing in common, also where one is served with what another left.

use std::sync::{Arc, Mutex};

use couplet_core::Call;
use couplet_http::server::Endpoint;
use couplet_server::{Ctx, Next, Server, tool};
use serde_json::json;

use crate::support::{alone, by_user, meta, send};

/// `keep` keeps its context beyond its answer, `talk` uses what was kept.
fn careless() -> Endpoint {
    let kept: Arc<Mutex<Option<Ctx>>> = Arc::default();
    let keeper = kept.clone();
    let keep = move |ctx: Ctx| {
        *keeper.lock().unwrap() = Some(ctx);
        "kept"
    };
    let talk = move || {
        let kept = kept.lock().unwrap().take();
        async move {
            if let Some(ctx) = kept {
                ctx.info("not yours").await;
            }
            "done"
        }
    };
    Endpoint::new(Server::new("careless", "1.0.0").tool(tool("keep", keep)).tool(tool("talk", talk)).build())
}

#[tokio::test]
async fn what_a_handler_says_after_its_answer_reaches_nobody_else() {
    let endpoint = careless();
    let mut loud = meta();
    loud["io.modelcontextprotocol/logLevel"] = json!("debug");
    for _ in 0..3 {
        for (name, answer) in [("keep", "kept"), ("talk", "done")] {
            let reply = send(&endpoint, alone("tools/call", json!({ "name": name, "_meta": loud }), &[])).await;
            assert!(!reply.is_stream(), "{name}");
            assert_eq!(reply.json().await["result"]["content"][0]["text"], answer);
        }
    }
}

#[tokio::test]
async fn nobody_speaks_for_somebody_else() {
    let seen: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let log = seen.clone();
    let look = move |call: Call, next: Next| {
        log.lock().unwrap().push(call.principal().map(str::to_owned));
        next.run(call)
    };
    let server: Server = Server::new("open", "1.0.0").tool(tool("hello", || "Hello!")).middleware(look);
    let endpoint = by_user(Endpoint::new(server.build()));
    let users = ["alice", "", "bob", "bob", ""];
    for user in users {
        let headers: &[(&str, &str)] = if user.is_empty() { &[] } else { &[("x-user", user)] };
        assert_eq!(send(&endpoint, alone("tools/list", json!({}), headers)).await.status, 200);
    }
    let expected = users.map(|user| Some(user.to_owned()).filter(|user| !user.is_empty()));
    assert_eq!(*seen.lock().unwrap(), expected);
}
