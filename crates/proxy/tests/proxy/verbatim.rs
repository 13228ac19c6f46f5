//! Where both sides speak the same revision, what the server says arrives as it was written.

use std::sync::Arc;

use couplet_client::Client;
use couplet_core::{BoxFuture, Call, Description, Hub, JsonText, Outcome, Reply, ResultBody, Service};
use couplet_proxy::Proxy;
use couplet_types::{Implementation, ProtocolVersion, ServerCapabilities, ToolsCapability};
use serde_json::{Value, json};

/// A server that knows more than this crate does.
struct Odd(ProtocolVersion, Hub);

impl Service for Odd {
    fn describe(&self) -> Arc<Description> {
        let can = ServerCapabilities::new().tools(ToolsCapability::new());
        let mut about = Description::new(Implementation::new("odd", "1"), can);
        about.versions = vec![self.0];
        Arc::new(about)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let meta = call.meta().unwrap();
        let text = json!({ "content": [], "odd": { "z": 1, "a": [1.50, null] }, "_meta": { "got": meta } });
        Box::pin(async move { Reply::Complete(ResultBody::json(&JsonText::new(text.to_string()).unwrap())) })
    }

    fn hub(&self) -> &Hub {
        &self.1
    }
}

#[tokio::test]
async fn what_is_not_known_is_kept() {
    for &version in ProtocolVersion::ALL {
        let odd: Arc<dyn Service> = Arc::new(Odd(version, Hub::new()));
        let proxy = Proxy::connect(Client::new("proxy", "1"), odd).await.unwrap();
        let client = Client::new("asker", "1").versions([version]).connect(proxy.service()).await.unwrap();
        let meta: couplet_types::Meta = serde_json::from_value(json!({ "com.example/a": [1] })).unwrap();
        let Outcome::Complete(text) = client.call_outcome("any", ()).meta(meta).await.unwrap() else {
            panic!("{version}")
        };
        let result: Value = text.parse().unwrap();
        assert_eq!(result["odd"], json!({ "z": 1, "a": [1.5, null] }), "{version}");
        assert_eq!(result["_meta"]["got"], json!({ "com.example/a": [1] }), "{version}");
        assert!(text.as_str().matches("serverInfo").count() <= 1, "{version}: {text:?}");
    }
}
