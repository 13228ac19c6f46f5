//! Messages above the limit, in memory: the same holds as on a pipe.

use std::{future::IntoFuture, sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_core::{BoxFuture, Call, Description, ErrorKind, Hub, Limits, Reply, ResultBody, Service};
use couplet_types::{Implementation, ProtocolVersion, ServerCapabilities, ToolsCapability};
use serde_json::json;

use crate::script::{Script, settle};

/// A server whose tool answers with as many letters as it is asked for.
struct Large(Hub);

impl Service for Large {
    fn describe(&self) -> Arc<Description> {
        let capabilities = ServerCapabilities::new().tools(ToolsCapability::new());
        Arc::new(Description::new(Implementation::new("large", "1"), capabilities))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let arguments: serde_json::Value = call.params.read("arguments").unwrap();
            let text = "x".repeat(usize::try_from(arguments["size"].as_u64().unwrap()).unwrap());
            Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": text }] })))
        })
    }

    fn hub(&self) -> &Hub {
        &self.0
    }
}

#[tokio::test]
async fn attack_07_the_limits_hold_in_memory() {
    for &version in ProtocolVersion::ALL {
        let server: Arc<dyn Service> = Arc::new(Large(Hub::new()));
        let limits = Limits::default().max_message(10_000);
        let client = Client::new("test", "1").versions([version]).limits(limits).connect(server).await.unwrap();
        let error = client.call("x", json!({ "size": 10_000 })).await.unwrap_err();
        assert_eq!((error.kind(), error.rpc().unwrap().code), (ErrorKind::Rpc, -32603), "{version}");
        let what = &error.rpc().unwrap().message;
        assert!(what.starts_with("the result has 10,") && what.ends_with("a message may have 10,000"), "{what}");
        let error = client.call("x", json!({ "size": 1, "pad": "x".repeat(10_000) })).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{version}");
        assert!(error.to_string().starts_with("the request `tools/call` has 10,"), "{error}");
        assert_eq!(client.call("x", json!({ "size": 9_000 })).await.unwrap().text().len(), 9_000);
    }
}

#[tokio::test(start_paused = true)]
async fn attack_07_a_timeout_tells_of_a_message_that_was_lost() {
    let script = Script::speaking(ProtocolVersion::V2025_11_25, json!({ "tools": {} }), |_| vec![]);
    let limits = Limits::default().max_message(2_000);
    let setup = Client::new("test", "1").versions([ProtocolVersion::V2025_11_25]).limits(limits);
    let client = setup.timeout(Duration::from_secs(5)).connect(script.clone()).await.unwrap();
    let (one, two) = (client.call("a", ()).into_future(), client.call("b", ()).into_future());
    let (one, two) = (tokio::spawn(one), tokio::spawn(two));
    settle().await;
    script.push(json!(["x".repeat(3_000)]));
    for call in [one, two] {
        let error = call.await.unwrap().unwrap_err();
        assert!(error.is_timeout());
        let lost = "; a message that was dropped has 3,004 bytes; a message may have 2,000";
        assert!(error.to_string().ends_with(lost), "{error}");
    }
}
