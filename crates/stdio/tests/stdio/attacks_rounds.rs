//! A handler that asks until the answer is good, and a client that never gives a good one.

use std::sync::Arc;

use couplet_core::{
    Ask, BoxFuture, Call, Description, Hub, Inputs, Limits, Reply, ResultBody, Sealer, Service, Transport,
};
use couplet_stdio::pipe;
use couplet_types::{ElicitParams, ElicitResult, ElicitSchema, Implementation, ServerCapabilities};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};

use crate::support::soon;

/// More often than the handler asks in one run: one that spins ends here.
const MOST: usize = 1_000;

/// A server with the tools `register`, which elicits an age until it is a good one, and `quick`.
struct Club(Hub, Sealer);

impl Service for Club {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(Default::default());
        Arc::new(Description::new(Implementation::new("club", "1.0.0"), capabilities))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let sealer = self.1.clone();
        Box::pin(async move { Inputs::drive(call, &sealer, || 0, answer).await })
    }

    fn hub(&self) -> &Hub {
        &self.0
    }
}

async fn answer(call: Call) -> Reply {
    let say =
        |text: &str| Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": text }] })));
    if call.params.read::<String>("name").unwrap() == "quick" {
        return say("quick");
    }
    for _ in 0..MOST {
        let ask = Ask::Elicit(Box::new(ElicitParams::form("How old are you?", &ElicitSchema::new())));
        let answer: ElicitResult = match call.inputs.ask(call.revision, &call.peer, "age", ask).await {
            Ok(answer) => answer.parse().unwrap(),
            Err(error) => return Reply::Error(error),
        };
        let age = answer.content.and_then(|content| content.get("age")?.parse::<u64>().ok());
        if age.is_some_and(|age| age >= 18) {
            return say("welcome");
        }
    }
    say("it spins")
}

fn request(id: u64, tool: &str, more: Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let mut params = json!({ "name": tool, "_meta": meta });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

async fn next(lines: &mut Lines<impl AsyncBufReadExt + Unpin>) -> Value {
    serde_json::from_str(&soon(lines.next_line()).await.unwrap().expect("the server goes on")).unwrap()
}

#[tokio::test]
async fn attack_01_a_handler_that_asks_in_a_loop_does_not_stop_its_connection() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(far);
    let server =
        tokio::spawn(pipe(reader, writer).serve(Arc::new(Club(Hub::new(), Sealer::random())), Limits::default()));
    let (reader, mut writer) = tokio::io::split(near);
    let mut lines = BufReader::new(reader).lines();
    let mut more = json!({});
    for round in 1..=20 {
        let (register, quick) = (2 * round, 2 * round + 1);
        let both = request(register, "register", more) + &request(quick, "quick", json!({}));
        writer.write_all(both.as_bytes()).await.unwrap();
        let (mut asked, mut other) = (next(&mut lines).await, next(&mut lines).await);
        if asked["id"] == quick {
            std::mem::swap(&mut asked, &mut other);
        }
        assert_eq!(other["result"]["content"][0]["text"], "quick", "{other}");
        let key = if round == 1 { "age".to_owned() } else { format!("age#{round}") };
        assert!(asked["result"]["inputRequests"].get(&key).is_some(), "{asked}");
        let seven = json!({ "action": "accept", "content": { "age": 7 } });
        more = json!({ "requestState": asked["result"]["requestState"], "inputResponses": { key: seven } });
    }
    writer.shutdown().await.unwrap();
    soon(server).await.unwrap().unwrap();
}
