//! A server that is nothing but lines, so that what reaches it can be compared.

use std::sync::{Arc, Mutex};

use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, Limits};
use couplet_stdio::pipe;
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use crate::kit::{SESSIONS, STATELESS};

/// A server with the tools `echo`, which answers at once, `hang`, which never does, and `die`, which ends the connection.
/// Clones are the same.
#[derive(Clone)]
pub(crate) struct Raw {
    version: ProtocolVersion,
    received: Arc<Mutex<Vec<Value>>>,
}

impl Raw {
    pub(crate) fn new(version: ProtocolVersion) -> Self {
        Self { version, received: Arc::default() }
    }

    /// The messages of a method so far.
    pub(crate) fn received(&self, method: &str) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    async fn serve(self, stream: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let result = self.result(&message);
            self.received.lock().unwrap().push(message.clone());
            if message["params"]["name"] == "die" {
                return;
            }
            let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
            match result {
                Some(Ok(result)) => answer["result"] = result,
                Some(Err(error)) => answer["error"] = error,
                None => continue,
            }
            if writer.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn result(&self, message: &Value) -> Option<Result<Value, Value>> {
        message.get("id")?;
        let can = json!({ "tools": {} });
        let tools: Value =
            ["echo", "hang", "die"].iter().map(|tool| json!({ "name": tool, "inputSchema": {} })).collect();
        let mut result = match (message["method"].as_str()?, self.version) {
            ("initialize", SESSIONS) => {
                let info = json!({ "name": "raw", "version": "1" });
                json!({ "protocolVersion": SESSIONS.as_str(), "capabilities": can, "serverInfo": info })
            }
            ("server/discover", STATELESS) => {
                json!({ "supportedVersions": [STATELESS.as_str()], "capabilities": can })
            }
            ("tools/list", _) => json!({ "tools": tools }),
            ("tools/call", _) if message["params"]["name"] == "hang" => return None,
            ("tools/call", _) => json!({ "content": [{ "type": "text", "text": "echo" }] }),
            _ => return Some(Err(json!({ "code": -32601, "message": "there is no such method" }))),
        };
        if self.version == STATELESS {
            result["resultType"] = json!("complete");
        }
        Some(Ok(result))
    }
}

impl Connect for Raw {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(self.clone().serve(far));
            let (reader, writer) = tokio::io::split(near);
            pipe(reader, writer).connect(inbound, limits).await
        })
    }
}
