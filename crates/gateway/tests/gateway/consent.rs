//! Consent of a person on this machine, over the control socket of a gateway.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::PathBuf,
    sync::Arc,
};

use couplet_client::{Client, ToolResult};
use couplet_core::{Error, Limits, Transport};
use couplet_gateway::{Control, ControlSocket, Gateway, controls, runtime_folder};
use couplet_host::consent::Answer;
use couplet_http::server::HttpTransport;
use couplet_server::{Ctx, Server, tool};
use couplet_types::{ElicitParams, ElicitSchema, ProgressParams, ProtocolVersion, RpcError, StringSchema};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

use crate::kit::{File, SHORT, Upstream};

/// A gateway over HTTP with its control socket, and a server with the tools `write` and `read`.
struct Running {
    gateway: Gateway,
    control: Control,
    folder: PathBuf,
    file: File,
    url: String,
    upstream: Upstream,
    tasks: JoinSet<()>,
}

/// A configuration that asks about `write`.
fn text(upstream: &Upstream, more: &str) -> String {
    let entry = upstream.entry("");
    format!(
        r#"{{ "mcpServers": {{ "one": {entry} }}, "policy": [{{ "ask": {{ "tool": "one/write" }}, "name": "writes" }}, {{ "allow": {{}} }}],
             "audit": {{ "file": "audit.jsonl" }}{more} }}"#
    )
}

impl Running {
    async fn start(more: &str) -> Self {
        Self::over(Upstream::start(&["write", "read"]).await, more).await
    }

    async fn over(upstream: Upstream, more: &str) -> Self {
        let file = File::new(&text(&upstream, more));
        let gateway = file.start().await.unwrap();
        gateway.ready(SHORT).await;
        let folder = runtime_folder(&file.env());
        let socket = ControlSocket::bind(&folder).unwrap();
        let [control] = controls(&folder).unwrap().try_into().unwrap();
        assert_eq!(control.process(), std::process::id());
        let mut tasks = JoinSet::new();
        let served = gateway.clone();
        tasks.spawn(async move { socket.serve(&served).await });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (transport, service) = (HttpTransport::from_listener(listener), gateway.service(None).unwrap());
        tasks.spawn(async move { transport.serve(service, Limits::default()).await.unwrap() });
        Self { gateway, control, folder, file, url, upstream, tasks }
    }

    /// A client with a session.
    async fn client(&self) -> Client {
        let client = Client::new("test", "1.0.0").versions([ProtocolVersion::V2025_11_25]);
        client.connect(couplet_http::connect(&*self.url)).await.unwrap()
    }

    /// Uses the control socket, which blocks.
    async fn control<T: Send + 'static>(&self, with: impl FnOnce(Control) -> T + Send + 'static) -> T {
        let control = self.control.clone();
        tokio::task::spawn_blocking(move || with(control)).await.unwrap()
    }

    /// Waits until this number of questions wait, and returns them.
    async fn questions(&self, number: usize) -> Vec<Value> {
        loop {
            let listed = self.control(|control| control.questions()).await.unwrap();
            let questions = listed["questions"].as_array().unwrap();
            if questions.len() == number {
                return questions.clone();
            }
            tokio::task::yield_now().await;
        }
    }

    async fn answer(&self, question: &Value, answer: Answer) -> Result<(), String> {
        let id = question["id"].as_u64().unwrap();
        self.control(move |control| control.answer(id, answer)).await.map_err(|error| error.to_string())
    }

    async fn grants(&self) -> Vec<Value> {
        let listed = self.control(|control| control.grants()).await.unwrap();
        listed["grants"].as_array().unwrap().clone()
    }

    /// The consents in the audit file, after the gateway has ended.
    async fn end(mut self) -> Vec<Value> {
        self.tasks.shutdown().await;
        self.gateway.close().await;
        assert_eq!(controls(&self.folder).unwrap(), [], "the file of the socket is removed");
        let audit = fs::read_to_string(self.file.path().with_file_name("audit.jsonl")).unwrap();
        let records = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|record| record["name"] == "write").map(|record| record["consent"].clone()).collect()
    }
}

/// Calls a tool in the background.
fn call(client: &Client) -> JoinHandle<Result<ToolResult, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.call("one__write", json!({ "path": "a\u{202e}" })).await })
}

/// Progress extends the timeouts of many clients.
#[tokio::test]
async fn a_caller_learns_that_its_call_waits() {
    let running = Running::start(r#", "consent": "local""#).await;
    let client = running.client().await;
    let (sender, mut reports) = tokio::sync::mpsc::channel(8);
    let calling = tokio::spawn(async move {
        let reported = move |progress: ProgressParams| sender.try_send(progress).unwrap();
        client.call("one__write", json!({ "path": "a" })).on_progress(reported).await
    });
    let question = running.questions(1).await.remove(0);
    let report = reports.recv().await.unwrap();
    assert!(report.message.unwrap().contains("`couplet gateway consent`"));
    assert!((0.0..1e-6).contains(&report.progress), "what the server reports is more");
    running.answer(&question, Answer::Once).await.unwrap();
    assert_eq!(calling.await.unwrap().unwrap().text(), "write");
    assert_eq!(running.end().await, ["once"]);
}

#[tokio::test]
async fn a_call_waits_for_an_answer_which_is_a_grant_until_it_is_revoked() {
    let running = Running::start(r#", "consent": "local""#).await;
    let client = running.client().await;
    assert_eq!(client.call("one__read", json!({})).await.unwrap().text(), "read", "no rule asks about it");
    let calling = call(&client);
    let question = running.questions(1).await.remove(0);
    for (key, value) in [
        ("answers", json!(["once", "session", "always", "deny"])),
        ("principal", Value::Null),
        ("profile", json!("default")),
        ("server", json!("one")),
        ("kind", json!("tool")),
        ("name", json!("write")),
        ("arguments", json!({ "path": "a\u{202e}" })),
    ] {
        assert_eq!(question[key], value, "{key}");
    }
    let shown = question["text"].as_str().unwrap();
    assert!(shown.contains("the rule `writes`") && shown.contains(r#"{"path":"a\u{202e}"}"#), "{shown}");
    assert!(question["left"].as_u64().is_some_and(|left| (200..=300).contains(&left)), "{question}");
    assert_eq!(running.gateway.status()["questions"], 1);

    assert_eq!(running.answer(&question, Answer::Session).await, Ok(()));
    assert_eq!(calling.await.unwrap().unwrap().text(), "write");
    let late = running.answer(&question, Answer::Deny).await.unwrap_err();
    assert!(late.starts_with(&format!("no question `{}` waits", question["id"])), "{late}");
    let grant = running.grants().await.remove(0);
    for (key, value) in [("answer", json!("session")), ("server", json!("one")), ("name", json!("write"))] {
        assert_eq!(grant[key], value, "{key}");
    }
    assert_eq!(call(&client).await.unwrap().unwrap().text(), "write", "the grant covers it");

    // Another session is asked, and so is this one once the grant is revoked.
    let other = running.client().await;
    let (calling, id) = (call(&other), grant["id"].as_u64().unwrap());
    assert_eq!(running.answer(&running.questions(1).await[0], Answer::Deny).await, Ok(()));
    let denied = calling.await.unwrap().unwrap();
    assert!(denied.is_error() && denied.text().contains("needs the consent of a person"), "{}", denied.text());
    assert_eq!(running.control(move |control| control.revoke(id)).await, Ok(()));
    let error = running.control(move |control| control.revoke(id)).await.unwrap_err().to_string();
    assert_eq!((error, running.grants().await), (format!("there is no grant `{id}`"), Vec::new()));
    let calling = call(&client);
    assert_eq!(running.answer(&running.questions(1).await[0], Answer::Once).await, Ok(()));
    assert_eq!(calling.await.unwrap().unwrap().text(), "write");
    let consents = running.end().await;
    assert_eq!(consents, ["session", &format!("grant {id}"), "deny", "once"]);
}

#[tokio::test]
async fn a_question_ends_with_its_call_or_its_time() {
    let running = Running::start(r#", "consent": "local""#).await;
    let client = running.client().await;
    let calling = call(&client);
    let question = running.questions(1).await.remove(0);
    calling.abort();
    running.questions(0).await;
    assert!(running.answer(&question, Answer::Once).await.is_err());

    // The timeout is that of the file when the question is asked.
    let waiting = call(&client);
    let kept = running.questions(1).await.remove(0);
    running.file.write(&text(&running.upstream, r#", "consent": "local", "consentTimeout": "1ms""#));
    running.gateway.reload().await.unwrap();
    let denied = call(&client).await.unwrap().unwrap();
    assert!(denied.is_error(), "{}", denied.text());
    assert_eq!(running.questions(1).await[0]["id"], kept["id"], "a reload does not touch what waits");
    assert_eq!(running.answer(&kept, Answer::Always).await, Ok(()));
    assert_eq!(waiting.await.unwrap().unwrap().text(), "write");
    running.gateway.reload().await.unwrap();
    assert_eq!(running.grants().await[0]["answer"], "always", "nor grants");
    assert_eq!(call(&client).await.unwrap().unwrap().text(), "write");
    let consents = running.end().await;
    assert!(consents.contains(&json!("deny")), "a timeout is recorded as deny: {consents:?}");
}

/// A caller without a session has no answer for one, and a caller with forms is asked itself.
#[tokio::test]
async fn a_caller_with_forms_is_asked_itself() {
    let running = Running::start(r#", "consent": "elicit-or-local""#).await;
    let service = || running.gateway.service(None).unwrap();
    let plain = Client::new("test", "1.0.0").connect(service()).await.unwrap();
    let calling = call(&plain);
    let question = running.questions(1).await.remove(0);
    assert_eq!(question["answers"], json!(["once", "always", "deny"]));
    let error = running.answer(&question, Answer::Session).await.unwrap_err();
    assert!(error.ends_with("expected one of `once`, `always`, `deny`"), "{error}");
    assert_eq!(running.answer(&question, Answer::Once).await, Ok(()));
    assert_eq!(calling.await.unwrap().unwrap().text(), "write");
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        for (said, works) in [("once", true), ("deny", false)] {
            let asked = Client::new("test", "1.0.0")
                .versions([version])
                .on_elicit(move |ask| async move { ask.accept(json!({ "answer": said })) });
            let asked = asked.connect(service()).await.unwrap();
            let done = call(&asked).await.unwrap().unwrap();
            assert_eq!(!done.is_error(), works, "{version} {said}: {}", done.text());
        }
    }
    assert!(running.gateway.questions().is_empty());
    running.end().await;
}

/// A stateless call runs again when its caller has answered a request of the server; the person is not asked again.
#[tokio::test]
async fn a_person_is_asked_once_for_a_call_of_several_rounds() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let order = tool("write", |ctx: Ctx| async move {
            let schema = ElicitSchema::new().required("size", StringSchema::new());
            let form = ctx.elicit_with("size", ElicitParams::form("Which size?", &schema)).await?;
            Ok::<_, RpcError>(form.parse::<Value>().map(|form| form["size"].to_string()).unwrap_or_default())
        });
        let upstream = Upstream::serve(Server::new("upstream", "1.0.0").versions([version]).tool(order)).await;
        let running = Running::over(upstream, r#", "consent": "local""#).await;
        let caller = Client::new("test", "1.0.0").versions([ProtocolVersion::V2026_07_28]);
        let caller = caller.on_elicit(|ask| async move { ask.accept(json!({ "size": "large" })) });
        let caller = caller.connect(couplet_http::connect(&*running.url)).await.unwrap();
        let mut calling = call(&caller);
        let question = running.questions(1).await.remove(0);
        assert_eq!(running.answer(&question, Answer::Once).await, Ok(()));
        tokio::select! {
            done = &mut calling => assert_eq!(done.unwrap().unwrap().text(), "\"large\"", "{version}"),
            again = running.questions(1) => panic!("{version}: asked again: {again:?}"),
        }
        running.end().await;
    }
}

/// Requests are bounded, a client that is slow does not hold up others, and the socket is the user's own.
#[tokio::test]
async fn the_socket_is_private_and_answers_one_line_for_each_line() {
    let running = Running::start(r#", "consent": "local""#).await;
    let mode = fs::metadata(&running.folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let path = Arc::new(running.folder.join(format!("control-{}.sock", std::process::id())));
    let silent: Vec<_> = (0..15).map(|_| UnixStream::connect(&*path).unwrap()).collect();
    let send = |text: String| {
        let path = path.clone();
        tokio::task::spawn_blocking(move || {
            let mut stream = UnixStream::connect(&*path).unwrap();
            // The other side may stop reading.
            let _ = stream.write_all(text.as_bytes());
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        })
    };
    let questions = send("{\"op\":\"questions\"}\n{\"op\":\"grants\"}\n".to_owned()).await.unwrap();
    assert_eq!(questions, "{\"ok\":{\"asksHere\":true,\"questions\":[]}}\n");
    for (text, says) in [
        ("{\"op\":\"stop\"}", "unknown variant `stop`"),
        ("{\"op\":\"answer\",\"id\":1,\"answer\":\"yes\"}", "unknown variant `yes`"),
        ("{\"op\":\"answer\",\"id\":1,\"answer\":\"once\",\"all\":true}", "unknown field `all`"),
        ("{\"op\":\"revoke\",\"id\":-1}", "invalid value"),
        ("\u{1b}[2J", "expected value"),
    ] {
        let answer: Value = serde_json::from_str(&send(format!("{text}\n")).await.unwrap()).unwrap();
        let error = answer["error"].as_str().unwrap();
        assert!(error.starts_with("the request of the control socket: ") && error.contains(says), "{text}: {error}");
    }
    // At the limit the request ends, although its line does not.
    let answer = send(format!("{{\"op\":\"{}", "x".repeat((64 << 10) - 7))).await.unwrap();
    assert!(answer.contains("EOF while parsing a string"), "{answer}");
    drop(silent);
    running.end().await;
}
