//! Several users and several replicas: whose a question is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{Outcome, Sealer};
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, ServerHandle, ToolError, outcomes::MemoryOutcomes, tool};
use couplet_types::{CallTool, CallToolParams};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{Cable, SESSIONS, STATELESS, authenticated, caller};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// The server of these tests, and how often its tool ran.
fn far() -> (ServerHandle, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let who = move |ctx: Ctx| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, ToolError>(ctx.elicit::<Name>("name", "who are you?").await?.accepted()?.name) }
    };
    (Server::new("far", "1").versions([SESSIONS]).tool(tool("who", who)).build(), runs)
}

/// The parameters that answer the question of a call.
async fn answered(client: &Client) -> CallToolParams {
    let Outcome::InputRequired { asks, state } = client.call_outcome("who", ()).await.unwrap() else {
        panic!("a question")
    };
    let mut params = CallToolParams::new("who");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    params.input_responses = Some([(asks[0].0.clone(), answer.into())].into_iter().collect());
    params.request_state = state;
    params
}

/// One caller's open question is of no use to another.
#[tokio::test]
async fn attack_10_a_question_is_answered_by_its_caller_only() {
    let (server, runs) = far();
    let cable = Cable::new();
    let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(server)).await.unwrap();
    let ann = caller("ann", STATELESS).connect(authenticated("ann", &proxy)).await.unwrap();
    let bob = caller("bob", STATELESS).connect(authenticated("bob", &proxy)).await.unwrap();
    let params = answered(&ann).await;
    let stolen = bob.request::<CallTool>(params.clone()).await.unwrap_err();
    assert!(stolen.to_string().contains("another request"), "{stolen}");
    assert_eq!(ann.request::<CallTool>(params.clone()).await.unwrap().content[0].as_text(), Some("Ada"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(bob.call("who", ()).await.unwrap().text(), "bob");
    assert_eq!(cable.connected(), 2, "two users do not share a session of the server");
}

/// A question that one replica asked is answered there: at another one the call would run a second time.
#[tokio::test]
async fn attack_10_a_call_that_waits_at_one_replica_does_not_run_at_another() {
    let (server, runs) = far();
    let mut clients = Vec::new();
    let rotated = Sealer::new([3; 32]).also_opens([1; 32]);
    for key in [Sealer::new([1; 32]), Sealer::new([1; 32]), Sealer::new([2; 32]), rotated] {
        let proxy =
            Proxy::builder(Client::new("proxy", "1")).request_state_key(key).connect(server.clone()).await.unwrap();
        clients.push(caller("Ada", STATELESS).connect(proxy.service()).await.unwrap());
    }
    let params = answered(&clients[0]).await;
    for (client, says) in [(1, "another replica"), (2, "not made here"), (3, "another replica")] {
        let refused = clients[client].request::<CallTool>(params.clone()).await.unwrap_err();
        assert!(refused.to_string().contains(says), "{client}: {refused}");
    }
    // Where it was asked, it is still open.
    assert_eq!(clients[0].request::<CallTool>(params).await.unwrap().content[0].as_text(), Some("Ada"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// The server knows the proxy as one principal: a key that two callers choose is not the same.
#[tokio::test]
async fn attack_10_callers_do_not_share_idempotency_keys() {
    for version in [SESSIONS, STATELESS] {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let pay = tool("pay", move || format!("run {}", counted.fetch_add(1, Ordering::SeqCst) + 1));
        let server = Server::<()>::new("far", "1").versions([version]).tool(pay).outcomes(MemoryOutcomes::new());
        let proxy = Proxy::connect(Client::new("proxy", "1"), server.build()).await.unwrap();
        for (name, expected) in [("ann", "run 1"), ("bob", "run 2"), ("ann", "run 1")] {
            let client = caller(name, STATELESS).connect(authenticated(name, &proxy)).await.unwrap();
            assert!(client.honours_idempotency_keys());
            let paid = client.call("pay", ()).idempotency_key("order-17").await.unwrap();
            assert_eq!(paid.text(), expected, "{version}: {name}");
        }
    }
}

/// A caller that comes back late finds its call given up, and it runs again.
#[tokio::test(start_paused = true)]
async fn attack_10_a_call_waits_for_its_caller_for_a_time() {
    let (server, runs) = far();
    let builder = Proxy::builder(Client::new("proxy", "1")).answer_timeout(Duration::from_secs(60));
    let proxy = builder.connect(server).await.unwrap();
    let client = caller("Ada", STATELESS).connect(proxy.service()).await.unwrap();
    for (pause, expected) in [(59, 1), (61, 3)] {
        let params = answered(&client).await;
        tokio::time::sleep(Duration::from_secs(pause)).await;
        client.request::<CallTool>(params).await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), expected, "after {pause} s");
    }
}
