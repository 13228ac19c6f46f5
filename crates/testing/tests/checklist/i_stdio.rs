//! Lines 138 to 150: stdio.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use couplet::stdio::{Command, Stderr, pipe, stdio};
use couplet_client::{Change, Client, ClientBuilder, Ended, Filter};
use couplet_core::{
    BoxFuture, ClientConnection, Connect, Connected, Error, Inbound, Limits, ServerConnection, Service, Transport,
};
use couplet_server::{Server, ServerHandle, extract::RawArgs, tool};
use couplet_testing::types::{CallToolResult, CreateMessageResult, ProtocolVersion, RawJson, Root};
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split},
    task::JoinHandle,
};

use crate::kit::{
    RawServer, STATELESS, client, everything, example, is_request, is_response, notification, request, revisions, said,
    settle,
};

/// A client that can be asked everything.
fn able_client(version: ProtocolVersion) -> ClientBuilder {
    client(version)
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .on_sample(|_| async { Ok(CreateMessageResult::new("model\nof\r\ntwo lines", "text")) })
        .roots([Root::new("file:///a")])
}

/// What went over a pipe, as bytes.
#[derive(Clone, Default)]
struct Tape(Arc<Mutex<Vec<u8>>>);

impl Tape {
    /// The lines, each of which must be one message.
    fn messages(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap().clone();
        assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "a message is cut off");
        let text = String::from_utf8(bytes).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"))).collect()
    }
}

/// A client and a server with a pipe in between, and what goes over it each way.
struct Taped {
    client: Client,
    to_server: Tape,
    to_client: Tape,
    serving: JoinHandle<Result<(), Error>>,
}

async fn taped(builder: ClientBuilder, server: ServerHandle, room: usize) -> Taped {
    let ((near, left), (right, far)) = (duplex(room), duplex(room));
    let (to_server, to_client) = (Tape::default(), Tape::default());
    let (from_client, into_client) = split(left);
    let (from_server, into_server) = split(right);
    tokio::spawn(copy(from_client, into_server, to_server.clone()));
    tokio::spawn(copy(from_server, into_client, to_client.clone()));
    let (reader, writer) = split(far);
    let serving = tokio::spawn(pipe(reader, writer).serve(Arc::new(server), Limits::default()));
    let (reader, writer) = split(near);
    let client = builder.connect(pipe(reader, writer)).await.unwrap();
    Taped { client, to_server, to_client, serving }
}

async fn copy(mut from: tokio::io::ReadHalf<DuplexStream>, mut to: tokio::io::WriteHalf<DuplexStream>, tape: Tape) {
    let mut buffer = [0; 512];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        tape.0.lock().unwrap().extend_from_slice(&buffer[..count]);
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// A conversation of everything, over a pipe; what went over it.
async fn everything_said(version: ProtocolVersion) -> (Vec<Value>, Vec<Value>) {
    let raw = || RawJson::from_text("{\n  \"a\":\r\n 1\n}").unwrap();
    let data = move || CallToolResult::text("two\nlines\r\n").structured_content(raw());
    let server =
        example().tool(tool("data", data)).tool(tool("raw", |RawArgs(args): RawArgs| args.as_str().to_owned())).build();
    let Taped { client, to_server, to_client, serving } = taped(able_client(version), server.clone(), 64).await;
    assert_eq!(client.call("data", ()).await.unwrap().text(), "two\nlines\r\n", "{version}");
    let spread = RawValue::from_string("{\n\t\"text\" :\r\n\"a\\nb\"\n}".to_owned()).unwrap();
    let raw = client.call("raw", &spread).await.unwrap().text();
    assert_eq!(serde_json::from_str::<Value>(&raw).unwrap(), json!({ "text": "a\nb" }), "{version}");
    client.call("sample", ()).await.unwrap();
    client.call("roots", ()).await.unwrap();
    client.call("talk", ()).on_progress(|_| ()).await.unwrap();
    client.call("no\nbody", ()).await.unwrap_err();
    let mut changes = client.listen(Filter::new().tools()).await.unwrap();
    server.remove_tool("echo");
    assert_eq!(changes.next().await, Some(Change::Tools), "{version}");
    drop(changes);
    client.close().await.unwrap();
    serving.await.unwrap().unwrap();
    (to_server.messages(), to_client.messages())
}

/// Line 138: a message is one line, even where somebody put line breaks between the parts of its JSON.
#[tokio::test]
async fn line_138_one_message_per_line() {
    for &version in ProtocolVersion::ALL {
        let (to_server, to_client) = everything_said(version).await;
        assert!(to_server.len() >= 9 && to_client.len() >= 9, "{version}: {to_server:#?} {to_client:#?}");
        assert!(to_server.iter().chain(&to_client).all(Value::is_object), "{version}");
    }
}

/// Whether a value is a message of the protocol.
fn is_message(message: &Value) -> bool {
    let parts = |keys: &[&str]| keys.iter().filter(|k| message.get(k).is_some()).count();
    message["jsonrpc"] == "2.0" && parts(&["method", "result", "error"]) == 1
}

/// Line 139: a server writes messages and nothing else.
#[tokio::test]
async fn line_139_servers_write_messages_only() {
    for &version in ProtocolVersion::ALL {
        let (_, to_client) = everything_said(version).await;
        assert!(to_client.iter().all(is_message), "{version}: {to_client:#?}");
    }
}

/// Line 140: so does a client.
#[tokio::test]
async fn line_140_clients_write_messages_only() {
    for &version in ProtocolVersion::ALL {
        let (to_server, _) = everything_said(version).await;
        assert!(to_server.iter().all(is_message), "{version}: {to_server:#?}");
    }
}

/// Line 141: without sessions a server writes no requests, and a client no responses.
#[tokio::test]
async fn line_141_requests_one_way_responses_the_other() {
    let (to_server, to_client) = everything_said(STATELESS).await;
    assert!(!to_client.iter().any(is_request), "{to_client:#?}");
    assert!(!to_server.iter().any(is_response), "{to_server:#?}");
}

/// A server that is a shell script: it answers the first request, and does the rest.
#[cfg(unix)]
fn script(version: ProtocolVersion, before: &str, after: &str) -> (Command, Arc<Mutex<Vec<String>>>) {
    let first = json!({ "id": 1 });
    let hello = match version {
        STATELESS => crate::kit::discovered(&first, &[version], &json!({})),
        _ => crate::kit::initialized(&first, version.as_str(), &json!({})),
    };
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = heard.clone();
    let text = format!("{before}\nread line\necho '{hello}'\n{after}\n");
    let command = Command::new("/bin/sh").arg("-c").arg(text).on_stderr(move |line| {
        hears.lock().unwrap().push(line.to_owned());
    });
    (command, heard)
}

/// Line 142: what a server writes to its standard error is no error. It can be heard, or thrown away.
#[cfg(unix)]
#[tokio::test]
async fn line_142_standard_error_is_not_an_error() {
    for version in revisions("2025-11-25"..) {
        let (command, heard) = script(*version, "echo 'ERROR: fatal' >&2", "cat > /dev/null; echo panic >&2");
        let connected = client(*version).connect(command.grace(Duration::from_secs(60))).await.unwrap();
        connected.close().await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["ERROR: fatal", "panic"], "{version}");
        let (command, heard) = script(*version, "echo 'ERROR: fatal' >&2", "cat > /dev/null");
        let connected = client(*version).connect(command.stderr(Stderr::Discard)).await.unwrap();
        connected.close().await.unwrap();
        assert_eq!(*heard.lock().unwrap(), [] as [&str; 0], "{version}");
    }
}

/// Line 143: a client ends a server by closing its input, then by asking it to end, then by force.
#[cfg(unix)]
#[tokio::test]
async fn line_143_servers_are_ended_in_steps() {
    let forever = "while :; do sleep 0.02; done";
    let cases = [
        ("", "cat > /dev/null; echo eof >&2", 60_000, "eof"),
        ("trap 'echo term >&2; exit 0' TERM", forever, 50, "term"),
        ("trap '' TERM", forever, 50, "nothing"),
    ];
    for &version in ProtocolVersion::ALL {
        // The last step takes two seconds, so it is done once.
        let cases = if version == STATELESS { &cases[..] } else { &cases[..2] };
        for (before, after, grace, expected) in cases {
            let (command, heard) = script(version, &format!("echo $$ >&2\n{before}"), after);
            let connected = client(version).connect(command.grace(Duration::from_millis(*grace))).await.unwrap();
            connected.close().await.unwrap();
            let heard = heard.lock().unwrap().clone();
            let said = heard.iter().find(|line| ["eof", "term"].contains(&line.as_str()));
            assert_eq!(said.map_or("nothing", String::as_str), *expected, "{version}");
            let alive = std::process::Command::new("kill").args(["-0", &heard[0]]).output().unwrap().status;
            assert!(!alive.success(), "{version}: {expected}: process {} is still there", heard[0]);
        }
    }
}

/// Line 144: a server ends when its input does, after it has answered what was asked.
#[tokio::test]
async fn line_144_servers_end_with_their_input() {
    for &version in ProtocolVersion::ALL {
        for asked in [false, true] {
            let (near, far) = duplex(1 << 16);
            let (reader, writer) = split(far);
            let serving = tokio::spawn(pipe(reader, writer).serve(Arc::new(example().build()), Limits::default()));
            let (mut reader, mut writer) = split(near);
            if asked {
                let hello = request(1, "ping", &json!({}));
                writer.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
            }
            writer.shutdown().await.unwrap();
            let mut rest = String::new();
            reader.read_to_string(&mut rest).await.unwrap();
            serving.await.unwrap().unwrap();
            assert_eq!(rest.lines().count(), usize::from(asked), "{version}: {rest}");
        }
        let Taped { client, serving, .. } = taped(client(version), example().build(), 64).await;
        let _open = client.listen(Filter::new().tools()).await.unwrap();
        client.close().await.unwrap();
        // It still had something to say, and nobody was there to hear it.
        assert!(serving.await.unwrap().err().is_none_or(|e| e.is_closed()), "{version}");
    }
}

/// Line 145: a server that crashed can be started again from the same target, and subscriptions be made again. When is
/// for the program to say: whatever waited fails, and says that the connection is gone.
#[tokio::test]
async fn line_145_crashed_servers_can_be_started_again() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["method"].as_str() {
        Some("tools/call") if m["params"]["name"] == "good" => vec![said(m, "ok")],
        Some("subscriptions/listen") => {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": m["id"] });
            let params = json!({ "notifications": m["params"]["notifications"], "_meta": meta });
            vec![notification("notifications/subscriptions/acknowledged", &params)]
        }
        _ => vec![],
    });
    let first = client(STATELESS).connect(raw.clone()).await.unwrap();
    let mut changes = first.listen(Filter::new().tools().resource("a://b")).await.unwrap();
    let waiting = tokio::spawn(first.call("never", ()).into_future());
    raw.expect("tools/call", 1).await;
    raw.hang_up();
    assert!(waiting.await.unwrap().unwrap_err().is_closed());
    assert_eq!(changes.next().await, None);
    assert!(matches!(changes.ended(), Some(Ended::Failed(_))));

    let second = client(STATELESS).connect(raw.clone()).await.unwrap();
    second.listen(changes.honoured().clone()).await.unwrap();
    assert_eq!(second.call("good", ()).await.unwrap().text(), "ok");
    let listens = raw.seen_of("subscriptions/listen");
    assert_eq!((listens.len(), raw.connections()), (2, 2));
    assert_eq!(listens[0]["params"]["notifications"], listens[1]["params"]["notifications"]);
}

/// Not a test of its own: with the variable set, this is the server that the next test starts.
#[tokio::test]
async fn server_on_standard_input_and_output() {
    if std::env::var_os("COUPLET_CHECKLIST_SERVER").is_some() {
        let served = stdio().serve(Arc::new(example().build()), Limits::default()).await;
        std::process::exit(i32::from(served.is_err()));
    }
}

/// Line 146: a client can start a server and speak to it over its standard input and output, in every revision.
#[tokio::test]
async fn line_146_standard_input_and_output() {
    for &version in ProtocolVersion::ALL {
        let command = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "i_stdio::server_on_standard_input_and_output", "--nocapture"])
            .env("COUPLET_CHECKLIST_SERVER", "1")
            .env("RUST_TEST_THREADS", "2");
        let client = able_client(version).connect(command).await.unwrap();
        assert_eq!(client.server().version, version);
        assert_eq!(client.call("echo", json!({ "text": "ä\n" })).await.unwrap().text(), "ä\n", "{version}");
        assert_eq!(client.call("roots", ()).await.unwrap().text(), "1", "{version}");
        client.close().await.unwrap();
    }
}

/// Line 147: on a pipe nobody is authorized by OAuth; a server finds its credentials in its environment.
#[cfg(unix)]
#[tokio::test]
async fn line_147_no_oauth_on_a_pipe() {
    for &version in ProtocolVersion::ALL {
        let (command, heard) = script(version, "echo \"key: $API_KEY\" >&2", "cat > /dev/null");
        let connected = client(version).connect(command.env("API_KEY", "s3cret")).await.unwrap();
        connected.close().await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["key: s3cret"], "{version}");
        let (to_server, to_client) = everything_said(version).await;
        let said = format!("{to_server:?} {to_client:?}").to_lowercase();
        for word in ["authorization", "access_token", "bearer", "oauth", "s3cret"] {
            assert!(!said.contains(word), "{version}: {word}");
        }
    }
}

/// Line 148: the same framing works on any other stream of bytes, however it cuts them, with cancellation and end.
#[tokio::test]
async fn line_148_any_stream_of_bytes() {
    for room in [1, 7, 1 << 16] {
        let Taped { client, to_server, serving, .. } = taped(able_client(STATELESS), example().build(), room).await;
        assert_eq!(client.call("echo", json!({ "text": "hi" })).await.unwrap().text(), "hi");
        assert_eq!(client.call("two", ()).await.unwrap().text(), "a: true b: true");
        let stuck = tokio::spawn(client.call("stuck", ()).into_future());
        while !to_server.0.lock().unwrap().ends_with(b"\n")
            || !to_server.messages().iter().any(|m| m["params"]["name"] == "stuck")
        {
            tokio::task::yield_now().await;
        }
        stuck.abort();
        assert_eq!(client.call("echo", json!({ "text": "still" })).await.unwrap().text(), "still");
        client.close().await.unwrap();
        serving.await.unwrap().unwrap();
        let cancelled = to_server.messages().iter().filter(|m| m["method"] == "notifications/cancelled").count();
        assert_eq!(cancelled, 1);
    }
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Client,
    Server,
}

/// A transport of our own: each message after its length, as bytes.
#[derive(Clone)]
struct Framed {
    service: Arc<dyn Service>,
    said: Arc<Mutex<Vec<(By, Value)>>>,
}

impl Framed {
    fn new(server: Server) -> Self {
        Self { service: Arc::new(server.build()), said: Arc::default() }
    }

    /// There and back again.
    fn carry(&self, by: By, text: &Bytes) -> Bytes {
        let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(text);
        let (length, rest) = bytes.split_first_chunk::<4>().unwrap();
        let frame = Bytes::copy_from_slice(&rest[..u32::from_be_bytes(*length) as usize]);
        self.said.lock().unwrap().push((by, serde_json::from_slice(&frame).unwrap()));
        frame
    }

    fn poll(
        &self,
        link: &mut ClientConnection,
        server: &mut ServerConnection,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        loop {
            match (link.poll_send(cx), server.poll_send(cx)) {
                (Poll::Ready(None), _) | (_, Poll::Ready(None)) => return Poll::Ready(Ok(())),
                (Poll::Pending, Poll::Pending) => return Poll::Pending,
                (there, back) => {
                    if let Poll::Ready(Some(text)) = there {
                        server.receive(self.carry(By::Client, &text.into_bytes()));
                    }
                    if let Poll::Ready(Some(text)) = back {
                        link.receive(self.carry(By::Server, &text.into_bytes()));
                    }
                }
            }
        }
    }

    /// What one side said.
    fn by(&self, by: By) -> Vec<Value> {
        self.said.lock().unwrap().iter().filter(|(b, _)| *b == by).map(|(_, m)| m.clone()).collect()
    }
}

impl Connect for Framed {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let (mut link, handle) = ClientConnection::new(inbound, limits.clone());
        let mut server = ServerConnection::new(self.service.clone(), limits);
        let framed = self.clone();
        let driver = Box::pin(poll_fn(move |cx| framed.poll(&mut link, &mut server, cx)));
        Box::pin(async move { Ok(Connected { channel: Arc::new(handle), driver }) })
    }
}

/// Line 149: a transport of one's own carries the same messages: the lifecycle of a session, and without one requests
/// that describe themselves and all three patterns.
#[tokio::test]
async fn line_149_transports_of_your_own() {
    for &version in ProtocolVersion::ALL {
        let framed = Framed::new(example());
        let client = able_client(version).connect(framed.clone()).await.unwrap();
        assert_eq!(client.call("echo", json!({ "text": "hi" })).await.unwrap().text(), "hi", "{version}");
        client.call("sample", ()).await.unwrap();
        drop(client.listen(Filter::new().tools()).await.unwrap());
        settle().await;
        let (asked, answered) = (framed.by(By::Client), framed.by(By::Server));
        assert!(asked.iter().chain(&answered).all(is_message), "{version}");
        if version == STATELESS {
            let meta = |m: &Value| m["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == version.as_str();
            assert!(asked.iter().filter(|m| is_request(m)).all(meta), "{asked:#?}");
            assert!(answered.iter().any(|m| m["result"]["resultType"] == "input_required"));
            assert!(answered.iter().any(|m| m["method"] == "notifications/subscriptions/acknowledged"));
        } else {
            assert_eq!(asked[0]["method"], "initialize", "{version}");
            assert_eq!(asked[1]["method"], "notifications/initialized", "{version}");
            assert_eq!(answered[0]["result"]["protocolVersion"], version.as_str());
        }
    }
}

/// Line 150: without sessions a transport has requests and notifications to carry one way, responses and notifications
/// the other, and nothing else.
#[tokio::test]
async fn line_150_what_a_transport_carries() {
    let framed = Framed::new(example());
    let client = able_client(STATELESS).connect(framed.clone()).await.unwrap();
    for tool in ["echo", "fail", "sure", "two", "sample", "roots", "nobody"] {
        let _ = client.call(tool, json!({})).await;
    }
    client.call("talk", ()).on_progress(|_| ()).await.unwrap();
    drop(client.listen(Filter::new().tools()).await.unwrap());
    settle().await;
    let (asked, answered) = (framed.by(By::Client), framed.by(By::Server));
    assert!(asked.len() > 10 && asked.iter().all(|m| m.get("method").is_some()), "{asked:#?}");
    assert!(answered.len() > 10 && !answered.iter().any(is_request), "{answered:#?}");
    let ids: Vec<&Value> = asked.iter().filter(|m| is_request(m)).map(|m| &m["id"]).collect();
    assert!(answered.iter().filter(|m| is_response(m)).all(|m| ids.contains(&&m["id"])), "{answered:#?}");
}
