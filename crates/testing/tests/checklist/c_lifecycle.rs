//! Lines 53 to 67: the handshake.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{
    BoxFuture, Channel, ClientConnection, Dialect, ErrorKind, Inbound, JsonText, Limits, Project, RequestOptions,
    message::Params,
};
use couplet_server::{Ctx, Server, prompt, resource, tool};
use couplet_testing::{
    Wire,
    types::{
        ClientCapabilities, CreateMessageResult, Implementation, Initialize, InitializeParams, Ping, PingParams,
        ProtocolVersion, Request, Root, RpcError, code,
    },
};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, SESSIONS, Yes, able, capabilities, client, error, everything, example, initialized, is_refused,
    is_request, notification, open, request, result, settle, text,
};

/// Opens a session by hand, without saying that it is open.
async fn half_open(wire: &mut Wire, version: &str) -> Value {
    let params =
        json!({ "protocolVersion": version, "capabilities": able(), "clientInfo": { "name": "n", "version": "1" } });
    wire.send(&request("init", "initialize", &params));
    wire.response("init").await
}

/// A client that can be asked everything.
fn able_client(version: ProtocolVersion) -> ClientBuilder {
    client(version)
        .on_elicit(|ask| async move { ask.decline() })
        .on_sample(|_| async { Ok(CreateMessageResult::new("m", "text")) })
        .roots([Root::new("file:///a")])
}

/// Line 53: a client opens with `initialize`: the revision, what it can do, who it is.
#[tokio::test]
async fn line_053_clients_open_with_initialize() {
    for version in SESSIONS {
        let raw = RawServer::speaking(version, json!({}), |_| vec![]);
        let _client = client(version).connect(raw.clone()).await.unwrap();
        let first = &raw.seen()[0];
        assert_eq!(first["method"], "initialize", "{version}");
        assert_eq!(first["params"]["protocolVersion"], version.as_str());
        assert!(first["params"]["capabilities"].is_object(), "{version}: {first}");
        assert_eq!(first["params"]["clientInfo"], json!({ "name": "check", "version": "1.0.0" }));
    }
}

/// Line 54: a server answers with the revision, what it can do, who it is.
#[tokio::test]
async fn line_054_servers_answer_initialize() {
    for version in SESSIONS {
        let mut wire = Wire::new(example().instructions("Ask.").build(), version);
        let answer = half_open(&mut wire, version.as_str()).await;
        assert_eq!(answer["result"]["protocolVersion"], version.as_str());
        assert!(answer["result"]["capabilities"]["tools"].is_object(), "{version}: {answer}");
        assert_eq!(answer["result"]["serverInfo"], json!({ "name": "example", "version": "1.0.0" }));
        assert_eq!(answer["result"]["instructions"], "Ask.");
    }
}

/// Line 55: after a good answer, and only then, the client says that the session is open.
#[tokio::test]
async fn line_055_clients_say_initialized() {
    for version in SESSIONS {
        let raw = RawServer::speaking(version, json!({}), |_| vec![]);
        let _client = client(version).connect(raw.clone()).await.unwrap();
        raw.expect("notifications/initialized", 1).await;
        assert_eq!(raw.seen()[1]["method"], "notifications/initialized", "{version}");
        let raw = RawServer::new(|m| if is_request(m) { vec![error(m, -32603, "no")] } else { vec![] });
        client(version).connect(raw.clone()).await.unwrap_err();
        assert_eq!(raw.seen_of("notifications/initialized").len(), 0, "{version}");
    }
}

/// Line 56: until that answer is there, the client sends nothing else.
#[tokio::test]
async fn line_056_clients_wait_for_the_answer() {
    for version in SESSIONS {
        let raw = RawServer::new(|m| match m["method"].as_str() {
            Some("logging/setLevel") => vec![result(m, json!({}))],
            _ => vec![],
        });
        let builder = able_client(version).log_level(couplet_testing::types::LoggingLevel::Debug);
        let connecting = tokio::spawn(builder.connect(raw.clone()));
        let first = raw.expect("initialize", 1).await;
        raw.push(&notification("notifications/message", &json!({ "level": "info", "data": "starting" })));
        settle().await;
        assert_eq!(raw.seen().len(), 1, "{version}: {:?}", raw.seen());
        raw.push(&initialized(&first, version.as_str(), &everything()));
        connecting.await.unwrap().unwrap();
        assert_eq!(raw.seen()[1]["method"], "notifications/initialized", "{version}");
        assert_eq!(raw.seen()[2]["method"], "logging/setLevel", "{version}");
    }
}

/// Line 57: until the client says that the session is open, the server sends nothing on its own but log messages.
#[tokio::test]
async fn line_057_servers_wait_for_initialized() {
    for version in SESSIONS {
        let server = example().build();
        let mut wire = Wire::new(server.clone(), version);
        half_open(&mut wire, version.as_str()).await;
        wire.send(&request(1, "resources/subscribe", &json!({ "uri": "note://today" })));
        wire.response(1).await;
        server.remove_tool("echo");
        server.updated("note://today");
        let early = wire.ready();
        assert!(early.iter().all(|m| m["method"] == "notifications/message"), "{version}: {early:?}");
        wire.send(&notification("notifications/initialized", &json!({})));
        server.remove_tool("fail");
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/tools/list_changed", "{version}");
    }
}

/// Line 58: a client asks for a revision that it speaks, the latest one.
#[tokio::test]
async fn line_058_clients_ask_for_their_latest() {
    use ProtocolVersion::{V2024_11_05 as R1, V2025_03_26 as R2, V2025_06_18 as R3, V2025_11_25 as R4};
    for (speaks, asked) in
        [(vec![R1], R1), (vec![R2, R1], R2), (vec![R1, R3], R3), (vec![R4, R1, R2], R4), (SESSIONS.to_vec(), R4)]
    {
        let raw = RawServer::new(|m| match m["method"].as_str() {
            Some("initialize") => vec![initialized(m, m["params"]["protocolVersion"].as_str().unwrap(), &json!({}))],
            _ => vec![],
        });
        let client = Client::new("c", "1").versions(speaks).connect(raw.clone()).await.unwrap();
        assert_eq!(raw.seen()[0]["params"]["protocolVersion"], asked.as_str());
        assert_eq!(client.server().version, asked);
    }
}

/// Line 59: a server agrees to a revision that it speaks, and otherwise names its latest one.
#[tokio::test]
async fn line_059_servers_choose_the_revision() {
    use ProtocolVersion::{V2024_11_05 as R1, V2025_03_26 as R2, V2025_11_25 as R4};
    let all: Vec<_> = ProtocolVersion::ALL.iter().copied().rev().collect();
    for (speaks, asked, chosen) in [
        (all.clone(), "2024-11-05", R1),
        (all.clone(), "2025-03-26", R2),
        (all.clone(), "2025-11-25", R4),
        (all.clone(), "1999-01-01", R4),
        (all.clone(), "2026-07-28", R4),
        (all, "", R4),
        (vec![R2, R1], "2025-11-25", R2),
        (vec![R2, R1], "2024-11-05", R1),
    ] {
        let mut wire = Wire::new(example().versions(speaks).build(), R1);
        let answer = half_open(&mut wire, asked).await;
        assert_eq!(answer["result"]["protocolVersion"], chosen.as_str(), "{asked}: {answer}");
    }
}

/// Line 60: a client that does not speak the revision which the server names hangs up.
#[tokio::test]
async fn line_060_clients_hang_up() {
    for version in SESSIONS {
        for theirs in ["1999-01-01", "2026-07-28", "", "2025-06-18", "2024-11-05"] {
            if theirs == version.as_str() {
                continue;
            }
            let raw = RawServer::new(move |m| match m["method"].as_str() {
                Some("initialize") => vec![initialized(m, theirs, &json!({}))],
                _ => vec![],
            });
            let failure = client(version).connect(raw.clone()).await.unwrap_err();
            assert_eq!(failure.kind(), ErrorKind::Version, "{version}: {failure}");
            assert_eq!((raw.closed(), raw.seen().len()), (1, 1), "{version}: {:?}", raw.seen());
        }
    }
}

/// Line 61: both sides keep to the revision and the capabilities that were agreed on.
#[tokio::test]
async fn line_061_what_was_agreed_on_counts() {
    for version in SESSIONS {
        // The server: no methods of other revisions, no questions that the client did not offer to answer.
        let mut wire = open(example().build(), version, json!({})).await;
        for method in ["server/discover", "subscriptions/listen", "tasks/list"] {
            assert_eq!(wire.request(method, json!({})).await["error"]["code"], code::METHOD_NOT_FOUND, "{version}");
        }
        for tool in ["sure", "visit", "sample", "sample_tools", "roots"] {
            let refused = wire.request("tools/call", json!({ "name": tool })).await;
            assert!(is_refused(&refused), "{version} {tool}: {refused}");
        }
        assert!(!wire.ready().iter().any(is_request), "{version}");
        // Declared, but not in this revision.
        let forms = [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25].contains(&version);
        let mut wire = open(example().build(), version, able()).await;
        let id = wire.start("tools/call", json!({ "name": "sure" }));
        let first = wire.next().await.unwrap();
        assert_eq!(first["method"] == "elicitation/create", forms, "{version}: {first}");
        assert_eq!(first["id"] == id, !forms, "{version}: {first}");

        // The client: nothing that the server does not serve goes out, nothing that was not offered is answered.
        let raw = RawServer::speaking(version, json!({ "tools": {} }), |_| vec![]);
        let client = client(version).connect(raw.clone()).await.unwrap();
        settle().await;
        let before = raw.seen().len();
        assert_eq!(client.read("a://b").await.unwrap_err().kind(), ErrorKind::Unsupported, "{version}");
        assert_eq!(client.prompt("p", ()).await.unwrap_err().kind(), ErrorKind::Unsupported, "{version}");
        let level = couplet_testing::types::LoggingLevel::Info;
        assert_eq!(client.set_log_level(level).await.unwrap_err().kind(), ErrorKind::Unsupported, "{version}");
        assert_eq!(raw.seen().len(), before, "{version}");
        for method in ["sampling/createMessage", "roots/list", "elicitation/create"] {
            raw.push(&request(method, method, &json!({ "messages": [], "maxTokens": 1, "message": "?" })));
            settle().await;
            assert_eq!(raw.seen().last().unwrap()["error"]["code"], code::METHOD_NOT_FOUND, "{version} {method}");
        }
    }
}

/// Line 63: the handshake is never cancelled, neither after a timeout nor when the program has lost interest.
#[tokio::test(start_paused = true)]
async fn line_063_initialize_is_not_cancelled() {
    for version in SESSIONS {
        let raw = RawServer::new(|_| vec![]);
        let failure = client(version).timeout(Duration::from_secs(5)).connect(raw.clone()).await.unwrap_err();
        assert!(failure.is_timeout(), "{version}: {failure}");
        let connecting = tokio::spawn(client(version).connect(raw.clone()));
        raw.expect("initialize", 2).await;
        connecting.abort();
        settle().await;
        assert_eq!(raw.seen().len(), 2, "{version}: {:?}", raw.seen());
        assert_eq!(raw.closed(), 2);
        assert_eq!(sent_when_dropped::<Initialize>(version, InitializeParams::default()), ["initialize"], "{version}");
        let ping = sent_when_dropped::<Ping>(version, PingParams::new());
        assert_eq!(ping, ["ping", "notifications/cancelled"], "{version}: any other request is");
    }
}

/// The methods that go out when a request is sent and then dropped, while the connection goes on.
fn sent_when_dropped<R: Request>(version: ProtocolVersion, params: R::Params) -> Vec<String>
where
    R::Params: Project,
{
    struct Deaf;
    impl Inbound for Deaf {
        fn request(&self, method: &str, _: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
            let refusal = RpcError::method_not_found(method);
            Box::pin(async { Err(refusal) })
        }
        fn notification(&self, _: &str, _: Params) {}
    }
    let (mut link, handle) = ClientConnection::new(Arc::new(Deaf), Limits::default());
    let dialect = Dialect::new(version, Implementation::new("c", "1"), ClientCapabilities::new());
    let request = dialect.request::<R>(handle.next_id(), params, &RequestOptions::default()).unwrap();
    let mut exchange = Some(handle.open(request));
    let mut methods = Vec::new();
    while let Poll::Ready(Some(text)) = link.poll_send(&mut Context::from_waker(Waker::noop())) {
        let message: Value = serde_json::from_slice(&text.into_bytes()).unwrap();
        methods.push(message["method"].as_str().unwrap().to_owned());
        exchange.take();
    }
    methods
}

/// Line 64: every request has a timeout that can be set for each, after which it is cancelled. Progress gives it more
/// time, up to a maximum.
#[tokio::test(start_paused = true)]
async fn line_064_requests_time_out() {
    for &version in ProtocolVersion::ALL {
        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let client = client(version)
            .timeout(Duration::from_secs(10))
            .max_timeout(Duration::from_secs(60))
            .connect(raw.clone())
            .await
            .unwrap();
        let took = |limit: Option<u64>| {
            let call = client.call("never", ());
            let call = limit.map_or_else(|| client.call("never", ()), |s| call.timeout(Duration::from_secs(s)));
            async move {
                let start = tokio::time::Instant::now();
                assert!(call.await.unwrap_err().is_timeout());
                start.elapsed().as_secs()
            }
        };
        assert_eq!((took(None).await, took(Some(3)).await), (10, 3), "{version}");
        let cancelled = raw.expect("notifications/cancelled", 2).await;
        assert_eq!(cancelled["params"]["requestId"], raw.seen_of("tools/call")[1]["id"], "{version}");

        let call = client.call("slow", ()).on_progress(|_| ());
        let waiting = tokio::spawn(async move {
            let start = tokio::time::Instant::now();
            assert!(call.await.unwrap_err().is_timeout());
            start.elapsed().as_secs()
        });
        let token = raw.expect("tools/call", 3).await["params"]["_meta"]["progressToken"].clone();
        for step in 1..20 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            raw.push(&notification("notifications/progress", &json!({ "progressToken": token, "progress": step })));
        }
        assert_eq!(waiting.await.unwrap(), 60, "{version}: progress gave it more time, and not for ever");
        raw.expect("notifications/cancelled", 3).await;
    }
    // A server's own questions can be given up as well, and the client is told.
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25] {
        let impatient = |ctx: Ctx| async move {
            let asking = ctx.elicit::<Yes>("sure", "Sure?");
            tokio::time::timeout(Duration::from_secs(5), asking).await.map_or("gave up", |_| "answered")
        };
        let mut wire = open(Server::new("s", "1").tool(tool("ask", impatient)).build(), version, able()).await;
        let id = wire.start("tools/call", json!({ "name": "ask" }));
        let question = wire.next().await.unwrap();
        assert_eq!(text(&wire.response(id).await), "gave up", "{version}");
        let cancelled = &wire.ready()[0];
        assert_eq!(cancelled["method"], "notifications/cancelled", "{version}");
        assert_eq!(cancelled["params"]["requestId"], question["id"], "{version}");
    }
}

/// Line 65: no revision in common, capabilities that are missing and a server that does not answer end in an error
/// that says so, and in nothing that is left open.
#[tokio::test(start_paused = true)]
async fn line_065_failures_of_the_handshake() {
    for version in SESSIONS {
        let refusing = RawServer::new(|m| {
            let mut refusal = error(m, code::INVALID_PARAMS, "unsupported protocol version");
            refusal["error"]["data"] = json!({ "supported": ["1999-01-01"], "requested": "?" });
            if is_request(m) { vec![refusal] } else { vec![] }
        });
        let failure = client(version).connect(refusing.clone()).await.unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::Version, "{version}: {failure}");
        assert!(failure.to_string().contains("1999-01-01"), "{version}: {failure}");
        let silent = RawServer::new(|_| vec![]);
        let failure = client(version).connect(silent.clone()).await.unwrap_err();
        assert!(failure.is_timeout() && failure.to_string().contains("initialize"), "{version}: {failure}");
        let broken = RawServer::new(|m| vec![result(m, json!({ "capabilities": 5 }))]);
        let failure = client(version).connect(broken.clone()).await.unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::Protocol, "{version}: {failure}");
        assert_eq!((refusing.closed(), silent.closed(), broken.closed()), (1, 1, 1), "{version}");

        let bare = RawServer::speaking(version, json!({}), |_| vec![]);
        let client = client(version).connect(bare).await.unwrap();
        let failure = client.call("a", ()).await.unwrap_err();
        assert!(failure.to_string().contains("`tools`"), "{version}: {failure}");

        // A server refuses a handshake that it cannot read, and takes the next one.
        let mut wire = Wire::new(example().build(), version);
        wire.send(&request(1, "initialize", &json!({ "protocolVersion": version.as_str() })));
        assert_eq!(wire.response(1).await["error"]["code"], code::INVALID_PARAMS, "{version}");
        assert!(half_open(&mut wire, version.as_str()).await.get("result").is_some(), "{version}");
    }
}

/// Line 66: a server declares each feature that it has, and none that it has not.
#[tokio::test]
async fn line_066_servers_declare_their_features() {
    let bare = || Server::new("s", "1");
    let list = json!({ "listChanged": true });
    for version in SESSIONS {
        let first = version == ProtocolVersion::V2024_11_05;
        let completions = if first { json!(null) } else { json!({}) };
        let subscribable = json!({ "listChanged": true, "subscribe": true });
        let completing = prompt("p", || "p").arguments(vec![couplet_testing::types::PromptArgument::new("a")]);
        for (server, declared) in [
            (bare(), json!({})),
            (bare().tool(tool("t", || "t")), json!({ "tools": list })),
            (bare().resource(resource("a://b", || "r")), json!({ "resources": list })),
            (bare().resource(resource("a://b", || "r").subscribable()), json!({ "resources": subscribable })),
            (bare().prompt(prompt("p", || "p")), json!({ "prompts": list })),
            (bare().tool(tool("t", |_: Ctx| "t")), json!({ "tools": list, "logging": {} })),
            (
                bare().prompt(completing.complete_from("a", ["b"])),
                json!({ "prompts": list, "completions": completions }),
            ),
            (bare().advertise_empty_lists(), json!({ "tools": list, "resources": list, "prompts": list })),
        ] {
            let mut declared = declared;
            declared.as_object_mut().unwrap().retain(|_, v| !v.is_null());
            assert_eq!(capabilities(server.build(), version).await, declared, "{version}");
        }
    }
}

/// Line 67: a client declares roots, sampling and elicitation if it was set up for them, as far as the revision goes.
#[tokio::test]
async fn line_067_clients_declare_their_features() {
    for version in SESSIONS {
        let forms = match version {
            ProtocolVersion::V2025_06_18 => Some(json!({})),
            ProtocolVersion::V2025_11_25 => Some(json!({ "form": {} })),
            _ => None,
        };
        for (builder, able) in [(able_client(version), true), (client(version), false)] {
            let raw = RawServer::speaking(version, json!({}), |_| vec![]);
            let _client = builder.connect(raw.clone()).await.unwrap();
            let declared = raw.seen()[0]["params"]["capabilities"].clone();
            assert_eq!(declared.get("roots").is_some_and(|r| r["listChanged"] == true), able, "{version}: {declared}");
            assert_eq!(declared.get("sampling").is_some(), able, "{version}: {declared}");
            assert_eq!(declared.get("elicitation"), forms.as_ref().filter(|_| able), "{version}: {declared}");
        }
    }
}
