//! Calls that elicit input: a round is not an outcome.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet::{
    client::Client,
    server::{Ctx, Server, ServerHandle, ToolError, outcomes::MemoryOutcomes, tool},
    types::ProtocolVersion,
};
use couplet_testing::Wire;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kit::{answer, keyed};

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

/// A tool that pays after a confirmation.
fn asking(paid: &Arc<AtomicUsize>) -> ServerHandle {
    let paid = paid.clone();
    let pay = move |ctx: Ctx| {
        let paid = paid.clone();
        async move {
            let sure = ctx.elicit::<Sure>("sure", "really?").await?.accepted()?;
            Ok::<_, ToolError>(format!("{}: paid {}", sure.yes, paid.fetch_add(1, Ordering::SeqCst) + 1))
        }
    };
    Server::<()>::new("shop", "1").tool(tool("pay", pay)).outcomes(MemoryOutcomes::new()).build()
}

#[tokio::test]
async fn a_call_goes_on_after_its_input_requests() {
    // The revisions that have elicitation.
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let paid = Arc::default();
        let client = Client::new("c", "1").versions([version]);
        let client = client.on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) });
        let client = client.connect(asking(&paid)).await.unwrap();
        for _ in 0..2 {
            let result = client.call("pay", ()).idempotency_key("k").await.unwrap();
            assert_eq!(result.text(), "true: paid 1", "{version}");
        }
    }
}

#[tokio::test]
async fn a_repeated_round_gets_the_outcome_of_the_first() {
    let paid = Arc::default();
    let capabilities = serde_json::from_value(json!({ "elicitation": { "form": {} } })).unwrap();
    let limits = couplet_core::Limits::default();
    let mut wire = Wire::with(asking(&paid), ProtocolVersion::V2026_07_28, capabilities, limits);
    wire.open().await;
    // The first round, twice: neither is an outcome.
    let _ = wire.request("tools/call", keyed("pay", "k")).await;
    let asked = wire.request("tools/call", keyed("pay", "k")).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut next = keyed("pay", "k");
    next["requestState"] = asked["result"]["requestState"].clone();
    next["inputResponses"] = json!({ "sure": { "action": "accept", "content": { "yes": true } } });
    for _ in 0..3 {
        assert_eq!(answer(&wire.request("tools/call", next.clone()).await), "true: paid 1");
    }
    // Also the first round has an outcome now.
    assert_eq!(answer(&wire.request("tools/call", keyed("pay", "k")).await), "true: paid 1");
    assert_eq!(paid.load(Ordering::SeqCst), 1);
}
