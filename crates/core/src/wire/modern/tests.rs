//! The stateless era as tables: results, outcomes, requests, and what a server makes of their `_meta`.

use couplet_types::{CallTool, CallToolParams, ElicitParams, ListTools, PaginatedParams, ServerCapabilities};
use serde_json::Value;

use super::*;
use crate::{Dialect, ExtensionEvent, ExtensionSpec, Reply, RequestOptions, service::CacheHint, wire};

fn latest() -> Revision {
    Revision::of(ProtocolVersion::V2026_07_28)
}

fn about() -> Description {
    let mut about = Description::new(Implementation::new("s", "1"), ServerCapabilities::default());
    about.versions = vec![ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25];
    about.extensions = vec![ExtensionSpec::new("com.example/clock").result_type("ticket").filter("zones")];
    about
}

fn params(value: &Value) -> Params {
    Params::from_text(text(value)).unwrap()
}

fn text(value: &Value) -> JsonText {
    JsonText::new(value.to_string()).unwrap()
}

/// The result in the answer of a server that shows its name or does not; or the error.
fn answered(reply: &Reply, show_info: bool) -> Result<Value, String> {
    let mut about = about();
    about.show_info = show_info;
    about.cache = CachePolicy { ttl_ms: 60, scope: CacheScope::Public };
    let (message, code) = wire::answer(latest(), &RequestId::Number(1), reply, &about);
    let mut message: Value = serde_json::from_slice(&message.into_bytes()).unwrap();
    assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!(1)));
    match code {
        None => Ok(message["result"].take()),
        Some(code) => Err(format!("{code} {}", message["error"]["message"].as_str().unwrap())),
    }
}

#[test]
fn results_have_their_type_and_the_server() {
    let info = json!({ "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" } });
    let plain = |members: Value| Reply::Complete(ResultBody::value(&members));
    let hint = |ttl_ms, scope| {
        let mut done = ResultBody::empty();
        done.cache = Some(CacheHint { ttl_ms, scope });
        Reply::Complete(done)
    };
    let ticket = || Reply::Extension { kind: "ticket".into(), done: ResultBody::value(&json!({ "a": 1 })) };
    let both = json!({ "b": 2, "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" } });
    for (reply, show_info, expected) in [
        (plain(json!({ "a": 1 })), true, json!({ "resultType": "complete", "_meta": info, "a": 1 })),
        (plain(json!({ "a": 1 })), false, json!({ "resultType": "complete", "a": 1 })),
        (plain(json!({})), false, json!({ "resultType": "complete" })),
        (plain(json!({ "_meta": { "b": 2 } })), true, json!({ "resultType": "complete", "_meta": both })),
        (plain(json!({ "_meta": { "b": 2 } })), false, json!({ "resultType": "complete", "_meta": { "b": 2 } })),
        (plain(json!({ "_meta": {} })), false, json!({ "resultType": "complete" })),
        (plain(json!({ "resultType": "x", "a": 1 })), false, json!({ "resultType": "complete", "a": 1 })),
        (hint(None, None), false, json!({ "resultType": "complete", "ttlMs": 60, "cacheScope": "public" })),
        (
            hint(Some(7), Some(CacheScope::Private)),
            false,
            json!({ "resultType": "complete", "ttlMs": 7, "cacheScope": "private" }),
        ),
        (ticket(), true, json!({ "resultType": "ticket", "_meta": info, "a": 1 })),
        (ticket(), false, json!({ "resultType": "ticket", "a": 1 })),
    ] {
        assert_eq!(answered(&reply, show_info), Ok(expected), "{reply:?}");
    }
    let unknown = Reply::Extension { kind: "x".into(), done: ResultBody::empty() };
    let error = "-32603 no extension of this server has results of the kind `x`";
    assert_eq!(answered(&unknown, true), Err(error.to_owned()));
}

#[test]
fn results_ask_for_input() {
    let ask = |key: &str, method: &str| (key.to_owned(), InputRequest::raw(method, json!({}).into()));
    let roots = json!({ "method": "roots/list", "params": {} });
    for (asks, state, expected) in [
        (vec![ask("a", "roots/list")], None, Ok(json!({ "inputRequests": { "a": roots } }))),
        (
            vec![ask("a", "roots/list"), ask("b", "roots/list")],
            Some("s"),
            Ok(json!({ "inputRequests": { "a": roots, "b": roots }, "requestState": "s" })),
        ),
        (vec![], Some("s"), Ok(json!({ "requestState": "s" }))),
        (vec![], None, Err("-32603 a request for input had neither questions nor state")),
        (vec![ask("a", "tools/call")], None, Err("-32603 a result cannot ask for `tools/call`")),
        (vec![ask("a", "x")], None, Err("-32603 a result cannot ask for `x`")),
        (vec![ask("a", "roots/list"), ask("a", "roots/list")], None, Err("-32603 a result asks twice under `a`")),
    ] {
        let reply = Reply::InputRequired { asks, state: state.map(str::to_owned) };
        let expected = expected.map_err(str::to_owned).map(|mut expected| {
            expected["resultType"] = json!("input_required");
            expected
        });
        assert_eq!(answered(&reply, false), expected, "{reply:?}");
    }
}

fn dialect() -> Dialect {
    let mut capabilities = ClientCapabilities::default();
    capabilities.roots = Some(Default::default());
    Dialect::new(ProtocolVersion::V2026_07_28, Implementation::new("c", "1"), capabilities)
}

#[test]
fn clients_parse_results_by_their_type() {
    let form = ElicitParams::visit("m", "https://a.b");
    let ask = InputRequest::new::<couplet_types::Elicit>(&form).unwrap();
    for (result, expected) in [
        (r#"{"a":1}"#.to_owned(), "complete"),
        (r#"{"resultType":"complete","a":1}"#.to_owned(), "complete"),
        (r#"{"a":1,"resultType":"complete"}"#.to_owned(), "complete"),
        (r#"{"resultType":null}"#.to_owned(), "complete"),
        (r#"{"resultType":"complete","a":"\n"}"#.to_owned(), "complete"),
        (r#"{"a":"\"resultType\":\"x\""}"#.to_owned(), "complete"),
        // The member twice, plainly and in disguise.
        (
            r#"{"resultType":"complete","resultType":"x"}"#.to_owned(),
            "the result is not an object: `resultType` appears twice at byte 0",
        ),
        (
            r#"{"resultType":"complete","\u0072esultType":"x"}"#.to_owned(),
            "the result is not an object: `resultType` appears twice at byte 0",
        ),
        (r#"{"resultType":"completed"}"#.to_owned(), "the result is of the unknown type `completed`"),
        (r#"{"resultType":"ticket","a":1}"#.to_owned(), "ticket"),
        (r#"{"resultType":7}"#.to_owned(), "`resultType`: invalid type: integer `7`, expected a string"),
        ("[]".to_owned(), "the result is not an object: expected an object at byte 0"),
        (r#"{"resultType":"input_required"}"#.to_owned(), "asks {} None"),
        (r#"{"resultType":"input_required","requestState":"s"}"#.to_owned(), r#"asks {} Some("s")"#),
        (
            json!({ "resultType": "input_required", "inputRequests": { "a": ask }, "requestState": "s" }).to_string(),
            r#"asks {"a":"elicitation/create"} Some("s")"#,
        ),
        (r#"{"resultType":"input_required","inputRequests":[]}"#.to_owned(), "expected an object at byte 0"),
    ] {
        let outcome = dialect().outcome_with(JsonText::new(result.clone()).unwrap(), |kind| kind == "ticket");
        let found = match outcome {
            Ok(Outcome::Complete(text)) => {
                assert_eq!(text.as_str(), result);
                "complete".to_owned()
            }
            Ok(Outcome::InputRequired { asks, state }) => {
                let asks: serde_json::Map<_, _> = asks.into_iter().map(|(key, ask)| (key, json!(ask.method))).collect();
                format!("asks {} {state:?}", Value::Object(asks))
            }
            Ok(Outcome::Extension { kind, result: text }) => {
                assert_eq!(text.as_str(), result);
                kind
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{result}");
    }
}

#[test]
fn requests_carry_the_client() {
    let mut identity = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" },
    });
    for level in [None, Some(LoggingLevel::Warning)] {
        let mut dialect = dialect();
        dialect.set_log_level(level);
        if level.is_some() {
            identity["io.modelcontextprotocol/logLevel"] = json!("warning");
        }
        for (meta, progress) in [(None, false), (Some(("a", 1)), false), (None, true), (Some(("a", 1)), true)] {
            let mut params = CallToolParams::new("t");
            params.meta = meta.map(|(key, value)| Meta::new().with(key, json!(value)));
            let options = RequestOptions { progress, ..Default::default() };
            let sent = dialect.request::<CallTool>(RequestId::Number(5), params, &options).unwrap();
            let mut expected = identity.clone();
            if let Some((key, value)) = meta {
                expected[key] = json!(value);
            }
            if progress {
                expected["progressToken"] = json!(5);
            }
            let found: Value = serde_json::from_slice(&sent.params).unwrap();
            assert_eq!(found, json!({ "_meta": expected, "name": "t" }), "{meta:?} {progress}");
        }
    }
}

#[test]
fn members_of_rounds_are_not_of_the_request() {
    for (key, part) in
        [("name", true), ("cursor", true), ("_meta", false), ("inputResponses", false), ("requestState", false)]
    {
        assert_eq!(describes(key), part, "{key}");
    }
    // So a request with answers is not cached.
    let key = dialect().cache_key::<ListTools>(&PaginatedParams::default());
    assert_eq!(key.as_deref(), Some(&b"{}"[..]));
    let kept = Meta::new().with("a", json!(1));
    let all = RESERVED.iter().fold(kept.clone(), |meta, key| meta.with(*key, json!(1)));
    assert_eq!(without_reserved(all), kept);
}

/// A `_meta` with these members, of those that mark a request.
fn marks(version: Option<Value>, capabilities: Option<Value>) -> Value {
    let mut meta = json!({});
    version.into_iter().for_each(|version| meta[VERSION] = version);
    capabilities.into_iter().for_each(|capabilities| meta[CAPABILITIES] = capabilities);
    json!({ "_meta": meta })
}

#[test]
fn stateless_requests_name_their_revision() {
    let (version, lacks) = ("`_meta` lacks `io.modelcontextprotocol/protocolVersion`", CAPABILITIES);
    let lacks = format!("`_meta` lacks `{lacks}`");
    let wrong = "`io.modelcontextprotocol/protocolVersion`: invalid type: integer `7`, expected a string";
    for (all, is_stateless, expected) in [
        (json!({}), false, Err(version)),
        (json!({ "_meta": 7 }), false, Err(version)),
        (marks(None, Some(json!({}))), false, Err(version)),
        (marks(Some(json!("x")), None), true, Err(&*lacks)),
        (marks(Some(json!(7)), Some(json!({}))), true, Err(wrong)),
        (marks(Some(json!("x")), Some(json!({}))), true, Ok("x")),
    ] {
        let all = params(&all);
        assert_eq!(
            marked(&all).map(Params::text),
            all.valid_meta().filter(|_| is_stateless).map(Params::text),
            "{all:?}"
        );
        assert_eq!(marked(&all).is_some(), is_stateless, "{all:?}");
        let found = required(all.valid_meta()).map_err(|e| e.message);
        assert_eq!(found.as_deref().map_err(|e| &**e), expected, "{all:?}");
    }
    for (requested, expected) in [
        ("2026-07-28", Ok("2026-07-28")),
        ("2025-11-25", Err("protocol version `2025-11-25` is not supported")),
        ("2025-06-18", Err("protocol version `2025-06-18` is not supported")),
        ("x", Err("protocol version `x` is not supported")),
    ] {
        let found = supported(requested, &about());
        if let Err(error) = &found {
            let data: Value = error.data.as_ref().unwrap().parse().unwrap();
            assert_eq!(data, json!({ "supported": ["2026-07-28", "2025-11-25"], "requested": requested }));
            assert_eq!(error.code, -32022);
        }
        let found = found.map(|revision| revision.version().as_str()).map_err(|e| e.message);
        assert_eq!(found, expected.map_err(str::to_owned), "{requested}");
    }
}

#[test]
fn requests_are_lifted() {
    let lifted = |meta: Value, more: Value| {
        let mut all = more;
        all["_meta"] = meta;
        let all = params(&all);
        lift(latest(), &all, modern_meta(&all), &PeerCache::default()).map_err(|e| format!("{} {}", e.code, e.message))
    };
    let found = lifted(
        json!({ CAPABILITIES: { "roots": {} }, CLIENT_INFO: { "name": "c", "version": "1" }, LOG_LEVEL: "error", "progressToken": "p" }),
        json!({ "inputResponses": { "a": {} }, "requestState": "s" }),
    )
    .unwrap();
    assert!(found.peer.capabilities.roots.is_some() && found.peer.capabilities.sampling.is_none());
    assert_eq!(found.peer.info.as_ref().map(|info| &*info.name), Some("c"));
    assert_eq!((found.log_level, found.token), (Some(LoggingLevel::Error), Some(ProgressToken::from("p"))));
    for (meta, more, error) in [
        (json!({}), json!({}), format!("-32602 `_meta` lacks `{CAPABILITIES}`")),
        (json!({ CAPABILITIES: 7 }), json!({}), format!("-32602 `{CAPABILITIES}`: invalid type: integer `7`")),
        (
            json!({ CAPABILITIES: {}, CLIENT_INFO: 7 }),
            json!({}),
            format!("-32602 `{CLIENT_INFO}`: invalid type: integer `7`"),
        ),
        (json!({ CAPABILITIES: {}, LOG_LEVEL: "x" }), json!({}), format!("-32602 `{LOG_LEVEL}`: unknown variant `x`")),
        (
            json!({ CAPABILITIES: {} }),
            json!({ "inputResponses": [] }),
            "-32602 `inputResponses`: expected an object".to_owned(),
        ),
        (json!({ CAPABILITIES: {} }), json!({ "requestState": 7 }), "-32602 `requestState`: invalid type".to_owned()),
    ] {
        let found = lifted(meta, more).map(drop).unwrap_err();
        assert!(found.starts_with(&error), "{found} is not {error}");
    }
}

fn modern_meta(params: &Params) -> &Params {
    params.valid_meta().unwrap()
}

#[test]
fn clients_are_cached() {
    let cache = PeerCache::default();
    assert!(cache.revision().is_none());
    let peer = |version, capabilities: &Value, info: Option<&Value>| {
        cache.peer(version, &text(capabilities), info.map(text).as_ref()).unwrap()
    };
    let (new, old) = (ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25);
    let (empty, roots) = (json!({}), json!({ "roots": {} }));
    let (ann, bob) = (json!({ "name": "ann", "version": "1" }), json!({ "name": "bob", "version": "1" }));
    let clients = [
        (new, &empty, None),
        (old, &empty, None),
        (new, &roots, None),
        (new, &empty, Some(&ann)),
        (new, &empty, Some(&bob)),
    ];
    let peers = clients.map(|(version, capabilities, info)| {
        let found = peer(version, capabilities, info);
        assert_eq!(cache.revision().map(Revision::version), Some(version), "the last one");
        assert_eq!((found.version, found.capabilities.roots.is_some()), (version, capabilities == &roots));
        assert_eq!(found.info.is_some(), info.is_some());
        found
    });
    for ((version, capabilities, info), known) in clients.into_iter().zip(&peers) {
        assert!(Arc::ptr_eq(&peer(version, capabilities, info), known), "{version} {capabilities} {info:?}");
    }
    // Eight clients are cached, and the oldest one leaves.
    let name = |at: usize| json!({ "name": at.to_string(), "version": "1" });
    let others: Vec<_> = (0..8).map(|at| peer(new, &empty, Some(&name(at)))).collect();
    for (at, known) in others.iter().enumerate() {
        assert!(Arc::ptr_eq(&peer(new, &empty, Some(&name(at))), known), "{at}");
    }
    assert!(!Arc::ptr_eq(&peer(new, &empty, None), &peers[0]), "it left");
    assert!(!Arc::ptr_eq(&peer(new, &empty, Some(&name(0))), &others[0]), "it left for that one");
}

#[test]
fn only_small_clients_are_cached() {
    let name = |length: usize| json!({ "name": "x".repeat(length), "version": "1" });
    let (capabilities, rest) = (json!({ "roots": {} }), name(0).to_string().len());
    let room = 4096 - capabilities.to_string().len() - rest;
    for (length, cached) in [(room, true), (room + 1, false), (0, true)] {
        let cache = PeerCache::default();
        let peer =
            || cache.peer(ProtocolVersion::V2026_07_28, &text(&capabilities), Some(&text(&name(length)))).unwrap();
        assert_eq!(Arc::ptr_eq(&peer(), &peer()), cached, "{length}");
    }
}

#[test]
fn a_server_is_discovered() {
    let mut about = about();
    about.instructions = Some("i".to_owned());
    let found: Value = discover(latest(), &about).text().parse().unwrap();
    let versions = json!(["2026-07-28", "2025-11-25"]);
    assert_eq!(found, json!({ "supportedVersions": versions, "capabilities": {}, "instructions": "i" }));
}

fn listened(wanted: &Value, capabilities: &Value, client: &Value) -> Result<(Value, Filter), String> {
    let mut about = about();
    about.capabilities = serde_json::from_value(capabilities.clone()).unwrap();
    let peer = PeerCache::default().peer(ProtocolVersion::V2026_07_28, &text(client), None).unwrap();
    let found = listen(&params(&json!({ "notifications": wanted })), latest(), &peer, &about, 2);
    found.map(|(honoured, filter)| (json!(honoured), filter)).map_err(|e| format!("{} {}", e.code, e.message))
}

#[test]
fn a_server_honours_what_it_advertises() {
    type Turn = fn(Filter) -> Filter;
    let (tools, prompts, resources): (Turn, Turn, Turn) = (Filter::tools, Filter::prompts, Filter::resources);
    for (member, capability, turn) in [
        ("toolsListChanged", "tools", tools),
        ("promptsListChanged", "prompts", prompts),
        ("resourcesListChanged", "resources", resources),
    ] {
        for (wanted, advertised, honoured) in [
            (json!({ member: true }), json!({ capability: { "listChanged": true } }), true),
            (json!({ member: false }), json!({ capability: { "listChanged": true } }), false),
            (json!({}), json!({ capability: { "listChanged": true } }), false),
            (json!({ member: true }), json!({ capability: { "listChanged": false } }), false),
            (json!({ member: true }), json!({ capability: {} }), false),
            (json!({ member: true }), json!({}), false),
        ] {
            let expected =
                if honoured { (json!({ member: true }), turn(Filter::new())) } else { (json!({}), Filter::new()) };
            assert_eq!(listened(&wanted, &advertised, &json!({})), Ok(expected), "{wanted} {advertised}");
        }
    }
}

#[test]
fn subscriptions_name_few_resources_and_topics() {
    let subscribe = json!({ "resources": { "subscribe": true } });
    for (uris, advertised, expected) in [
        (json!(["a:a", "a:b"]), &subscribe, Ok(true)),
        (json!(["a:a", "a:b", "a:c"]), &subscribe, Err("-32602 more than 2 resources in one subscription")),
        (json!(["a:a"]), &json!({ "resources": {} }), Ok(false)),
        (json!(["a:a"]), &json!({ "resources": { "subscribe": false } }), Ok(false)),
        (json!(["a:a"]), &json!({}), Ok(false)),
    ] {
        let wanted = json!({ "resourceSubscriptions": uris });
        let expected = expected.map_err(str::to_owned).map(|honoured| match honoured {
            true => {
                let filter = uris.as_array().unwrap().iter().map(|uri| uri.as_str().unwrap());
                (wanted.clone(), filter.fold(Filter::new(), Filter::resource))
            }
            false => (json!({}), Filter::new()),
        });
        assert_eq!(listened(&wanted, advertised, &json!({})), expected, "{wanted} {advertised}");
    }
    let declared = json!({ "extensions": { "com.example/clock": {} } });
    for (zones, client, expected) in [
        (json!(["a", "b"]), &declared, Ok(())),
        (json!([]), &declared, Ok(())),
        (json!(["a", "b", "c"]), &declared, Err("-32602 more than 2 in `zones`")),
        (json!(7), &declared, Err("-32602 `zones`: invalid type: integer `7`, expected a sequence at line 1 column 1")),
        (json!(["a"]), &json!({}), Err("-32021 the client does not support the extension `com.example/clock`")),
    ] {
        let found = listened(&json!({ "zones": zones }), &json!({}), client);
        let expected = expected.map_err(str::to_owned).map(|()| {
            let mut filter = Filter::new();
            let keys = zones.as_array().unwrap().iter().map(|key| key.as_str().unwrap());
            filter.topics = keys.map(|key| ("zones".to_owned(), key.to_owned())).collect();
            (json!({ "zones": zones }), filter)
        });
        assert_eq!(found, expected, "{zones}");
    }
    assert_eq!(listened(&json!({ "others": ["a"] }), &json!({}), &declared), Ok((json!({}), Filter::new())));
}

#[test]
fn notifications_name_their_subscription() {
    let id = RequestId::from("l");
    let meta = json!({ SUBSCRIPTION: "l" });
    let event = ExtensionEvent::new("zones", "a", "notifications/clock", json!({ "zone": "a" }));
    for (news, method, expected) in [
        (Change::Tools, "notifications/tools/list_changed", json!({ "_meta": meta })),
        (Change::Prompts, "notifications/prompts/list_changed", json!({ "_meta": meta })),
        (Change::Resources, "notifications/resources/list_changed", json!({ "_meta": meta })),
        (Change::Updated("a:b".into()), "notifications/resources/updated", json!({ "_meta": meta, "uri": "a:b" })),
        (event.into(), "notifications/clock", json!({ "_meta": meta, "zone": "a" })),
    ] {
        let (found, encoded) = change(&id, &news);
        let encoded: Value = serde_json::from_slice(&encoded).unwrap();
        assert_eq!((found, &encoded), (method, &expected));
        assert_eq!(subscription_of(&params(&encoded)), Some(id.clone()));
    }
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let first: Value = serde_json::from_slice(&acknowledged(&id, &filter)).unwrap();
    assert_eq!(first, json!({ "notifications": { "toolsListChanged": true }, "_meta": meta }));
    let last: Value = listen_ended(&id).text().parse().unwrap();
    assert_eq!(last, json!({ "_meta": meta }));
    for other in [json!({}), json!({ "_meta": {} }), json!({ "_meta": 7 })] {
        assert_eq!(subscription_of(&params(&other)), None, "{other}");
    }
}

#[test]
fn results_name_the_server() {
    let named = json!({ "_meta": { SERVER_INFO: { "name": "s", "version": "1" } } });
    for (result, expected) in [
        (named, Some(Implementation::new("s", "1"))),
        (json!({ "_meta": { SERVER_INFO: 7 } }), None),
        (json!({ "_meta": {} }), None),
        (json!({}), None),
        (json!([]), None),
    ] {
        assert_eq!(server_info(&text(&result)), expected, "{result}");
    }
}

#[test]
fn a_level_is_asked_for_on_behalf_of_callers_at_once() {
    let mut dialect = dialect();
    let extras = RequestOptions { capabilities: Some(Arc::default()), ..RequestOptions::default() };
    for level in [LoggingLevel::Debug, LoggingLevel::Error] {
        dialect.set_log_level(Some(level));
        let request =
            dialect.forward(RequestId::from(1), "tools/list", &params(&json!({})), &extras).expect("it is known");
        let text = String::from_utf8_lossy(&request.params).into_owned();
        assert!(text.contains(&format!("\"{LOG_LEVEL}\":\"{level}\"")), "{level}: {text}");
    }
}
