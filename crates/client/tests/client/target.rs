//! Targets of `connect`: everything that implements `Connect`, without a word about its kind.

use couplet_client::{Client, Reconnecting};
use couplet_core::{Connect, IntoTarget};
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::script::Script;

const VERSION: ProtocolVersion = ProtocolVersion::V2026_07_28;

async fn name<Kind>(target: impl IntoTarget<Kind>) -> String {
    let client = Client::new("test", "1").connect(target).await.unwrap();
    client.server().info.clone().unwrap().name
}

#[tokio::test]
async fn every_connect_is_a_target() {
    async fn generic(target: impl Connect) -> String {
        name(target).await
    }
    let script = || Script::speaking(VERSION, json!({}), |_| Vec::new());
    let expected = name(script()).await;
    assert_eq!(generic(script()).await, expected);
    assert_eq!(name(&mut script()).await, expected);
    assert_eq!(name(Box::new(script()) as Box<dyn Connect>).await, expected);
    assert_eq!(name(Reconnecting::new(script())).await, expected);
    // The future of a target can be sent to another thread.
    assert_eq!(tokio::spawn(name(script())).await.unwrap(), expected);
}
