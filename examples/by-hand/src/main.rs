//! The low-level API: `core::Service` implemented by hand, with plain JSON schemas and results, for gateways and servers
//! whose tools are known only at run time. Revisions, sessions and negotiation are still handled by the library.

use std::sync::Arc;

use couplet::{
    ProtocolVersion,
    core::{BoxFuture, Call, Description, Hub, Reply, ResultBody, Service},
    prelude::*,
    types::{Implementation, RpcError, ServerCapabilities, ToolsCapability},
};
use serde_json::{Value, json};

/// A server whose tools are rows of a table.
struct Table {
    hub: Hub,
    rows: Vec<(&'static str, f64)>,
}

impl Service for Table {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        Arc::new(Description::new(Implementation::new("table", "1.0.0"), capabilities))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let reply = match &*call.method {
            "tools/list" => Ok(self.list()),
            "tools/call" => self.convert(&call),
            method => Err(RpcError::method_not_found(method)),
        };
        Box::pin(async { reply.map_or_else(Reply::Error, |result| Reply::Complete(ResultBody::value(&result))) })
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }
}

impl Table {
    fn list(&self) -> Value {
        let schema = json!({ "type": "object", "properties": { "amount": { "type": "number" } } });
        let tools: Vec<_> = self.rows.iter().map(|(name, _)| json!({ "name": name, "inputSchema": schema })).collect();
        json!({ "tools": tools })
    }

    fn convert(&self, call: &Call) -> Result<Value, RpcError> {
        let name: String = call.params.read("name")?;
        let arguments: Value = call.params.read_opt("arguments")?.unwrap_or_default();
        let row = self.rows.iter().find(|(row, _)| *row == name);
        let (_, factor) = row.ok_or_else(|| RpcError::invalid_params(format!("there is no tool `{name}`")))?;
        let amount = arguments["amount"].as_f64().ok_or_else(|| RpcError::invalid_params("`amount` is missing"))?;
        Ok(json!({ "content": [{ "type": "text", "text": (amount * factor).to_string() }] }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        let rows = vec![("feet_to_metres", 0.3048), ("miles_to_metres", 1609.344)];
        let service: Arc<dyn Service> = Arc::new(Table { hub: Hub::new(), rows });
        let client = Client::new("demo", "1.0.0").versions([version]).connect(service).await?;
        assert_eq!(client.tools().await?.len(), 2);
        let metres = client.call("feet_to_metres", json!({ "amount": 1000 })).await?.into_result()?.text();
        println!("{version}: 1000 feet are {metres} metres");
        assert_eq!(metres, "304.8");
        let error = client.call("nothing", json!({})).await.expect_err("there is no such tool");
        assert_eq!(error.rpc().map(|e| e.code), Some(-32602));
        client.close().await?;
    }
    Ok(())
}
