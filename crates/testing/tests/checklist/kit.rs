//! What the tests of several sections share.

use std::{
    collections::VecDeque,
    future::poll_fn,
    ops::{Bound, RangeBounds},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{BoxFuture, ClientConnection, Connect, Connected, Error, Inbound, Limits, Service};
use couplet_server::{
    Answer, Ctx, Server, ToolError,
    extract::{Args, Path},
    prompt, resource, tool,
};
use couplet_testing::{
    Wire,
    types::{CreateMessageParams, ProtocolVersion, RpcError, SamplingMessage, Tool},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The revisions that begin with a handshake.
pub(crate) const SESSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
];

/// The revision without one.
pub(crate) const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// What negotiates and answers in a [`RawServer`].
type Script = Arc<dyn Fn(&Value) -> Vec<Value> + Send + Sync>;

/// A server by hand, for duties of the client: it keeps every message that the client sends, and answers by a script.
/// Clones are the same server.
#[derive(Clone)]
pub(crate) struct RawServer {
    script: Script,
    shared: Arc<Mutex<RawState>>,
}

#[derive(Default)]
struct RawState {
    seen: Vec<Value>,
    pushed: VecDeque<String>,
    /// How many connections were opened, and how many of them are gone.
    opened: usize,
    gone: usize,
    hang_up: bool,
    waker: Option<Waker>,
}

impl RawServer {
    /// A server that says for each message which messages come back.
    pub(crate) fn new(script: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), shared: Arc::default() }
    }

    /// A server that speaks one revision and negotiates well; the script answers everything else.
    pub(crate) fn speaking(
        version: ProtocolVersion,
        capabilities: Value,
        script: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |message| match message["method"].as_str() {
            Some("server/discover") if version == STATELESS => vec![discovered(message, &[version], &capabilities)],
            Some("server/discover") => vec![error(message, -32601, "what?")],
            Some("initialize") => vec![initialized(message, version.as_str(), &capabilities)],
            _ => script(message),
        })
    }

    /// Sends a message that nobody asked for.
    pub(crate) fn push(&self, message: &Value) {
        self.push_text(message.to_string());
    }

    /// Sends a text as it is.
    pub(crate) fn push_text(&self, text: impl Into<String>) {
        self.change(|state| state.pushed.push_back(text.into()));
    }

    /// Goes away, as a process that crashed.
    pub(crate) fn hang_up(&self) {
        self.change(|state| state.hang_up = true);
    }

    /// Every message that came, on all connections.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.shared.lock().unwrap().seen.clone()
    }

    /// The messages of one method.
    pub(crate) fn seen_of(&self, method: &str) -> Vec<Value> {
        self.seen().into_iter().filter(|m| m["method"] == method).collect()
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.shared.lock().unwrap().opened
    }

    /// How many of them are over.
    pub(crate) fn closed(&self) -> usize {
        self.shared.lock().unwrap().gone
    }

    /// Lets everything run until the client has sent so many messages of a method, and returns the last one.
    pub(crate) async fn expect(&self, method: &str, count: usize) -> Value {
        for _ in 0..1000 {
            if let Some(message) = self.seen_of(method).get(count - 1) {
                return message.clone();
            }
            tokio::task::yield_now().await;
        }
        panic!("the client did not send `{method}` {count} times: {:#?}", self.seen());
    }

    fn change(&self, change: impl FnOnce(&mut RawState)) {
        let waker = {
            let mut state = self.shared.lock().unwrap();
            change(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, link: &mut ClientConnection, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            let pushed = {
                let mut state = self.shared.lock().unwrap();
                state.waker = Some(cx.waker().clone());
                if std::mem::take(&mut state.hang_up) {
                    link.end_input("the server crashed");
                    return Poll::Ready(Ok(()));
                }
                state.pushed.pop_front()
            };
            if let Some(text) = pushed {
                link.receive(text.into());
                continue;
            }
            let message: Value = match link.poll_send(cx) {
                Poll::Ready(Some(text)) => serde_json::from_slice(&text.into_bytes()).expect("a client sends JSON"),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            };
            self.shared.lock().unwrap().seen.push(message.clone());
            (self.script)(&message).iter().for_each(|m| link.receive(m.to_string().into()));
        }
    }
}

impl Connect for RawServer {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        /// Notes that the connection is over, also when it was dropped.
        struct Gone(RawServer);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.shared.lock().unwrap().gone += 1;
            }
        }
        self.shared.lock().unwrap().opened += 1;
        let (mut link, handle) = ClientConnection::new(inbound, limits);
        let gone = Gone(self.clone());
        let driver = Box::pin(poll_fn(move |cx| gone.0.poll(&mut link, cx)));
        Box::pin(async move { Ok(Connected { channel: Arc::new(handle), driver }) })
    }
}

/// A client of one revision, to be set up further.
pub(crate) fn client(version: ProtocolVersion) -> ClientBuilder {
    Client::new("check", "1.0.0").versions([version])
}

/// An open connection to a server, in one revision, of a client that can do what is said.
pub(crate) async fn open(server: impl Service, version: ProtocolVersion, capabilities: Value) -> Wire {
    let capabilities = serde_json::from_value(capabilities).expect("capabilities");
    let mut wire = Wire::with(server, version, capabilities, Limits::default());
    let greeting = wire.open().await;
    assert!(greeting.get("result").is_some(), "{version}: {greeting}");
    wire
}

/// Whether a tool told the model that the client cannot be asked, and nothing was asked.
pub(crate) fn is_refused(answer: &Value) -> bool {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    answer["result"]["isError"] == true && text.contains("it does not support")
}

/// The answer to `server/discover`.
pub(crate) fn discovered(request: &Value, versions: &[ProtocolVersion], capabilities: &Value) -> Value {
    let versions: Vec<&str> = versions.iter().map(|v| v.as_str()).collect();
    let info = json!({ "io.modelcontextprotocol/serverInfo": { "name": "raw", "version": "1" } });
    let about = json!({ "supportedVersions": versions, "capabilities": capabilities, "resultType": "complete",
                        "ttlMs": 0, "cacheScope": "private", "_meta": info });
    result(request, about)
}

/// The answer to `initialize`.
pub(crate) fn initialized(request: &Value, version: &str, capabilities: &Value) -> Value {
    let info = json!({ "name": "raw", "version": "1" });
    result(request, json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": info }))
}

/// The answer to a request.
pub(crate) fn result(request: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })
}

/// The answer of a tool that says a text.
pub(crate) fn said(request: &Value, text: &str) -> Value {
    result(request, json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
}

/// The refusal of a request.
pub(crate) fn error(request: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": code, "message": message } })
}

/// A message that wants no answer.
pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A message that wants one.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// Lets everything run that can, on a runtime with one thread.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Whether a message is a request, which has a method and an id.
pub(crate) fn is_request(message: &Value) -> bool {
    message.get("method").is_some() && message.get("id").is_some()
}

/// Whether a message is a response, which has an id and no method.
pub(crate) fn is_response(message: &Value) -> bool {
    message.get("method").is_none()
}

/// What a stateless request says about itself, for requests that are written by hand.
pub(crate) fn stateless_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS.as_str(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "by hand", "version": "1.0.0" },
    })
}

/// Some revisions in a row, by date: `revisions("2025-06-18"..)` is that one and every later one.
pub(crate) fn revisions(range: impl RangeBounds<&'static str>) -> &'static [ProtocolVersion] {
    let all = ProtocolVersion::ALL;
    let at = |date: &str| {
        all.iter().position(|v| v.as_str() == date).unwrap_or_else(|| panic!("`{date}` is not a revision"))
    };
    let first = if let Bound::Included(date) = range.start_bound() { at(date) } else { 0 };
    let end = if let Bound::Included(date) = range.end_bound() { at(date) + 1 } else { all.len() };
    &all[first..end]
}

/// A new revision has to be put into one of the two lists.
#[test]
fn every_revision_is_in_a_list() {
    assert_eq!(revisions(..), [&SESSIONS[..], &[STATELESS]].concat());
}

/// What a client that can be asked everything declares, as far as the revision knows it.
pub(crate) fn able() -> Value {
    json!({ "roots": {}, "sampling": { "tools": {} }, "elicitation": { "form": {}, "url": {} } })
}

/// What a server declares that offers everything.
pub(crate) fn everything() -> Value {
    let list = json!({ "listChanged": true });
    let resources = json!({ "listChanged": true, "subscribe": true });
    json!({ "tools": list, "prompts": list, "resources": resources, "completions": {}, "logging": {} })
}

/// What a server says about its capabilities.
pub(crate) async fn capabilities(server: impl Service, version: ProtocolVersion) -> Value {
    let mut wire = Wire::new(server, version);
    wire.open().await["result"]["capabilities"].clone()
}

/// Calls a tool and returns the whole response.
pub(crate) async fn call(wire: &mut Wire, tool: &str, arguments: Value) -> Value {
    wire.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
}

/// Sends a request, answers every question of the server in whichever way it comes, and returns the questions and the
/// response. An answer with the member `error` is an error, where there is a session.
pub(crate) async fn converse(
    wire: &mut Wire,
    version: ProtocolVersion,
    (method, params): (&str, Value),
    mut answer: impl FnMut(&Value) -> Value,
) -> (Vec<Value>, Value) {
    let mut questions = Vec::new();
    let mut id = wire.start(method, params.clone());
    loop {
        let message = wire.next().await.expect("the server has not ended");
        if version != STATELESS {
            if is_response(&message) {
                return (questions, message);
            }
            if is_request(&message) {
                let mut said = answer(&message);
                let member = if said.get("error").is_some() { "error" } else { "result" };
                let body = if member == "error" { said["error"].take() } else { said };
                wire.send(&json!({ "jsonrpc": "2.0", "id": message["id"], member: body }));
                questions.push(message);
            }
            continue;
        }
        if message.get("id") != Some(&json!(id)) {
            continue;
        }
        if message["result"]["resultType"] != "input_required" {
            return (questions, message);
        }
        let mut again = params.clone();
        again["requestState"] = message["result"]["requestState"].clone();
        for (key, question) in message["result"]["inputRequests"].as_object().expect("questions") {
            again["inputResponses"][key] = answer(question);
            questions.push(question.clone());
        }
        id = wire.start(method, again);
    }
}

/// Calls the tool `ask` of a server, with one answer for every question.
pub(crate) async fn ask_tool(
    server: impl Service,
    version: ProtocolVersion,
    capabilities: Value,
    answer: Value,
) -> (Vec<Value>, Value) {
    let mut wire = open(server, version, capabilities).await;
    converse(&mut wire, version, ("tools/call", json!({ "name": "ask" })), |_| answer.clone()).await
}

/// Asks a client one question, `{ method, params }`, in the way of the revision. The error is the one that the server
/// is told, or where questions are in results, what the program is told: `{ message, kind }`.
pub(crate) async fn ask_client(
    builder: ClientBuilder,
    version: ProtocolVersion,
    question: &Value,
) -> Result<Value, Value> {
    let asks = question.clone();
    let raw = RawServer::speaking(version, everything(), move |m| match m["params"].get("requestState") {
        _ if !is_request(m) => vec![],
        Some(_) => vec![said(m, "done")],
        None => {
            let ask = json!({ "resultType": "input_required", "inputRequests": { "q": asks }, "requestState": "s" });
            vec![result(m, ask)]
        }
    });
    let client = builder.versions([version]).connect(raw.clone()).await.unwrap();
    if version == STATELESS {
        let called = client.call("ask", ()).await;
        called.map_err(|e| json!({ "message": e.to_string(), "kind": format!("{:?}", e.kind()) }))?;
        return Ok(raw.seen_of("tools/call")[1]["params"]["inputResponses"]["q"].clone());
    }
    let params = question.get("params").cloned().unwrap_or(json!({}));
    raw.push(&request("q", question["method"].as_str().unwrap(), &params));
    for _ in 0..1000 {
        if let Some(mut answer) = raw.seen().into_iter().find(|m| m["id"] == "q") {
            return if answer.get("error").is_some() {
                Err(answer["error"].take())
            } else {
                Ok(answer["result"].take())
            };
        }
        tokio::task::yield_now().await;
    }
    panic!("the client does not answer {question}");
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Yes {
    pub(crate) yes: bool,
}

/// A server with a little of everything, to be set up further.
pub(crate) fn example() -> Server {
    Server::new("example", "1.0.0")
        .timeout(None)
        .tool(tool("echo", |Args(args): Args<Text>| args.text))
        .tool(tool("stuck", || async { std::future::pending::<String>().await }))
        .tool(tool("fail", || Err::<String, _>(ToolError::new("it failed"))))
        .tool(tool("talk", talk))
        .tool(tool("sure", |ctx: Ctx| async move { sure(&ctx, "sure").await }))
        .tool(tool("two", two))
        .tool(tool("twice", twice))
        .tool(tool("visit", |ctx: Ctx| async move {
            ctx.elicit_url("visit", "Look.", "https://example.com").await.map(|_| "visited")
        }))
        .tool(tool("sample", |ctx: Ctx| async move { ctx.sample("model", prompt_for_model()).await.map(|a| a.model) }))
        .tool(tool("sample_tools", sample_tools))
        .tool(tool("roots", |ctx: Ctx| async move { ctx.roots().await.map(|r| r.len().to_string()) }))
        .resource(resource("note://today", || "today").subscribable())
        .resource(resource("note://of/{day}", |Path(day): Path<String>| day))
        .prompt(prompt("about", |Args(args): Args<Text>| args.text).complete_from("text", ["cats", "dogs"]))
}

async fn talk(ctx: Ctx) -> &'static str {
    for step in 1..=3 {
        ctx.progress_with(f64::from(step), Some(3.0), Some(format!("step {step}"))).await;
        ctx.info(format!("step {step}")).await;
    }
    "said"
}

async fn sure(ctx: &Ctx, key: &str) -> Result<String, RpcError> {
    Ok(match ctx.elicit::<Yes>(key, format!("{key}?")).await? {
        Answer::Accepted(answer) => format!("{key}: {}", answer.yes),
        Answer::Declined | Answer::Cancelled => format!("{key}: no answer"),
    })
}

/// Asks two things at the same time.
async fn two(ctx: Ctx) -> Result<String, RpcError> {
    let (a, b) = tokio::join!(sure(&ctx, "a"), sure(&ctx, "b"));
    Ok(format!("{} {}", a?, b?))
}

/// Asks one thing after the other.
async fn twice(ctx: Ctx) -> Result<String, RpcError> {
    let first = sure(&ctx, "first").await?;
    Ok(format!("{first} {}", sure(&ctx, "second").await?))
}

fn prompt_for_model() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user("What is it?")], 100)
}

async fn sample_tools(ctx: Ctx) -> Result<String, RpcError> {
    let look = Tool::new("look", json!({ "type": "object" }));
    ctx.sample("model", prompt_for_model().tools(vec![look])).await.map(|answer| answer.model)
}

/// The answer of a person who says yes.
pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": { "yes": true } })
}

/// The text of a tool's answer.
pub(crate) fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {response}"))
}
