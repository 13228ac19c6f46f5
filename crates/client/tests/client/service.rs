//! A client against the core's own server side, in every revision.

use std::sync::Arc;

use couplet_client::{Change, Client, Filter};
use couplet_core::{Ask, BoxFuture, Call, Description, Hub, Inputs, Reply, ResultBody, Sealer, Service};
use couplet_types::{
    ElicitParams, ElicitSchema, Implementation, PrimitiveSchema, ProtocolVersion, ServerCapabilities, ToolsCapability,
};
use serde_json::{Value, json};

struct Asking {
    hub: Hub,
    sealer: Arc<Sealer>,
}

impl Service for Asking {
    fn describe(&self) -> Arc<Description> {
        let capabilities = ServerCapabilities::new().tools(ToolsCapability::new().list_changed(true));
        Arc::new(Description::new(Implementation::new("asking", "1"), capabilities))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let sealer = self.sealer.clone();
        Box::pin(async move { Inputs::drive(call, &sealer, || 0, handle).await })
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }
}

async fn handle(call: Call) -> Reply {
    let schema = ElicitSchema::new().required("yes", PrimitiveSchema::boolean());
    let mut said = Vec::new();
    for key in ["first", "second"] {
        call.outbox.progress(said.len() as f64 + 1.0, None, None).await;
        let ask = Ask::Elicit(Box::new(ElicitParams::form(key, &schema)));
        match call.inputs.ask(call.revision, &call.peer, key, ask).await {
            Ok(answer) => said.push(answer.parse::<Value>().unwrap()["content"]["yes"].to_string()),
            Err(e) => return e.into(),
        }
    }
    Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": said.join(",") }] })))
}

#[tokio::test]
async fn questions_progress_and_changes() {
    for &version in ProtocolVersion::ALL {
        let hub = Hub::new();
        let sealer = Arc::new(Sealer::new([7; 32]));
        let server: Arc<dyn Service> = Arc::new(Asking { hub: hub.clone(), sealer });
        let client = Client::new("test", "1")
            .versions([version])
            .on_elicit(|ask| async move { ask.accept(json!({ "yes": ask.message() == "first" })) })
            .connect(server)
            .await
            .unwrap();
        assert_eq!(client.server().version, version);
        assert_eq!(client.server().info.as_ref().unwrap().name, "asking");
        let called = client.call("t", ()).on_progress(|_| ()).await;
        let asks = !matches!(version, ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26);
        assert_eq!(called.is_ok(), asks, "{version}: {called:?}");
        if let Ok(result) = called {
            assert_eq!(result.text(), "true,false");
        }
        let mut changes = client.listen(Filter::new().tools()).await.unwrap();
        hub.send(Change::Tools);
        assert_eq!(changes.next().await, Some(Change::Tools));
        client.close().await.unwrap();
    }
}
