//! Lines 32 to 52: `_meta`, the keywords of schemas, icons.

use std::time::Duration;

use couplet_client::Filter;
use couplet_server::{Ctx, Server, extract::RawArgs, tool};
use couplet_testing::{
    Wire, connect,
    types::{ClientCapabilities, Icon, IconTheme, Implementation, Meta, code},
};
use serde_json::{Value, json};

use crate::{
    b_schemas::Trap,
    kit::{
        RawServer, STATELESS, able, call, client, discovered, everything, example, is_refused, is_request, open,
        request, result, revisions, said, stateless_meta, text,
    },
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Line 32: keys of `_meta` have a grammar; a program can check its own, and all of ours follow it.
#[tokio::test]
async fn line_032_keys_follow_the_grammar() {
    let good = [
        "a",
        "",
        "progressToken",
        "com.example/",
        "com.example/a",
        "a/b",
        "a-b.c1/x_y-z.0",
        "io.modelcontextprotocol/x",
    ];
    let bad = [
        "-a", "a-", "_a", "a b", "ä", "/a", ".a/b", "a./b", "a..b/c", "1a/b", "a-/b", "-a/b", "a/b/c", "a/-b", "a_b/c",
    ];
    for key in good {
        assert!(Meta::is_valid_key(key), "{key:?}");
    }
    for key in bad {
        assert!(!Meta::is_valid_key(key), "{key:?}");
    }
    for version in revisions("2025-06-18"..) {
        let raw = RawServer::speaking(*version, everything(), |m| match m["method"].as_str() {
            Some("tools/call") => vec![said(m, "ok")],
            _ => vec![],
        });
        let client = client(*version).connect(raw.clone()).await.unwrap();
        client.call("a", ()).on_progress(|_| ()).await.unwrap();
        let sent = raw.seen_of("tools/call")[0]["params"]["_meta"].clone();
        let answer =
            call(&mut open(example().build(), *version, json!({})).await, "echo", json!({ "text": "a" })).await;
        let metas = [sent, answer["result"]["_meta"].clone()];
        let keys: Vec<&String> = metas.iter().filter_map(Value::as_object).flat_map(|m| m.keys()).collect();
        assert!(!keys.is_empty() && keys.iter().all(|k| Meta::is_valid_key(k)), "{version}: {keys:?}");
    }
}

/// Line 33: whatever stands under a reserved prefix and is not specified, is carried and not interpreted.
#[tokio::test]
async fn line_033_reserved_keys_are_not_interpreted() {
    let odd = json!({ "io.modelcontextprotocol/new": [1, null], "dev.mcp/x": "?", "io.modelcontextprotocol/task": 5 });
    for version in revisions("2025-06-18"..) {
        let server = Server::new("s", "1").tool(tool("keys", |meta: Meta| {
            Vec::from_iter(meta.iter().map(|(key, value)| format!("{key}={value}"))).join(" ")
        }));
        let mut wire = open(server.build(), *version, json!({})).await;
        let answer = wire.request("tools/call", json!({ "name": "keys", "_meta": odd })).await;
        let expected = "dev.mcp/x=\"?\" io.modelcontextprotocol/new=[1,null] io.modelcontextprotocol/task=5";
        assert_eq!(text(&answer), expected, "{version}");

        let (meta, sent) = (odd.clone(), odd.clone());
        let raw = RawServer::speaking(*version, everything(), move |m| match m["method"].as_str() {
            Some("tools/call") => vec![result(m, json!({ "content": [], "_meta": meta }))],
            _ => vec![],
        });
        let client = client(*version).connect(raw.clone()).await.unwrap();
        let mut notices = client.notifications();
        let got = client.call("a", ()).await.unwrap().into_inner().meta.unwrap();
        assert_eq!(serde_json::to_value(&got).unwrap(), odd, "{version}");
        // A key of the newest revision means nothing in a session.
        let mut params = json!({ "_meta": sent });
        if *version != STATELESS {
            params["_meta"][SUBSCRIPTION] = json!("x");
        }
        raw.push(&json!({ "jsonrpc": "2.0", "method": "notifications/odd", "params": params }));
        let notice = tokio::time::timeout(Duration::from_secs(10), notices.next()).await.expect("it is passed on");
        assert_eq!(notice.unwrap().method, "notifications/odd", "{version}");
    }
}

/// A client that has sent requests of every kind, and what it sent.
async fn requests_of_every_kind() -> Vec<Value> {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["method"].as_str() {
        Some("tools/call") if m["params"].get("requestState").is_none() => {
            let ask = json!({ "method": "elicitation/create",
                              "params": { "message": "?", "requestedSchema": { "type": "object", "properties": {} } } });
            vec![result(
                m,
                json!({ "resultType": "input_required", "inputRequests": { "a": ask }, "requestState": "s" }),
            )]
        }
        Some("tools/call") => vec![said(m, "ok")],
        Some("tools/list") => vec![result(m, json!({ "resultType": "complete", "tools": [] }))],
        Some("resources/list") => vec![result(m, json!({ "resultType": "complete", "resources": [] }))],
        Some("resources/read") => vec![result(m, json!({ "resultType": "complete", "contents": [] }))],
        Some("prompts/get") => vec![result(m, json!({ "resultType": "complete", "messages": [] }))],
        Some("subscriptions/listen") => {
            let meta = json!({ SUBSCRIPTION: m["id"] });
            let params = json!({ "notifications": {}, "_meta": meta });
            vec![json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params })]
        }
        _ => vec![],
    });
    let client =
        client(STATELESS).on_elicit(|ask| async move { ask.accept(json!({})) }).connect(raw.clone()).await.unwrap();
    client.call("a", ()).on_progress(|_| ()).meta(Meta::new().with("mine", json!(1))).await.unwrap();
    client.tools().await.unwrap();
    client.resources().await.unwrap();
    client.read("a://b").await.unwrap();
    client.prompt("p", ()).await.unwrap();
    client.listen(Filter::new().tools()).await.unwrap();
    let requests: Vec<Value> = raw.seen().into_iter().filter(is_request).collect();
    assert_eq!(requests.len(), 8, "{requests:#?}");
    requests
}

/// Line 34: every request says in which revision it is, and what the client can do.
#[tokio::test]
async fn line_034_requests_describe_themselves() {
    for request in requests_of_every_kind().await {
        let meta = &request["params"]["_meta"];
        assert_eq!(meta[VERSION], STATELESS.as_str(), "{request}");
        assert_eq!(meta[CAPABILITIES], json!({ "elicitation": { "form": {} } }), "{request}");
    }
}

/// Line 35: every request says who the client is.
#[tokio::test]
async fn line_035_requests_name_the_client() {
    for request in requests_of_every_kind().await {
        let info = &request["params"]["_meta"][CLIENT_INFO];
        assert_eq!(info, &json!({ "name": "check", "version": "1.0.0" }), "{request}");
    }
}

/// Line 36: a request that lacks a required key is refused, and the error names what is missing.
#[tokio::test]
async fn line_036_required_keys() {
    for method in ["tools/list", "server/discover", "subscriptions/listen"] {
        for (params, missing) in [
            (json!({ "_meta": { VERSION: STATELESS.as_str() } }), CAPABILITIES),
            (json!({ "_meta": { CAPABILITIES: {} } }), VERSION),
            (json!({ "_meta": {} }), VERSION),
            (json!({ "_meta": 5 }), VERSION),
            (json!({}), VERSION),
            (json!({ "_meta": { VERSION: 5, CAPABILITIES: {} } }), VERSION),
            (json!({ "_meta": { VERSION: STATELESS.as_str(), CAPABILITIES: 5 } }), CAPABILITIES),
        ] {
            let mut wire = Wire::new(example().build(), STATELESS);
            wire.send(&request(1, method, &params));
            let refusal = wire.response(1).await;
            assert_eq!(refusal["error"]["code"], code::INVALID_PARAMS, "{method} {params}: {refusal}");
            assert!(refusal["error"]["message"].as_str().unwrap().contains(missing), "{method} {params}: {refusal}");
        }
    }
}

/// Line 37: a request that does not name its client is served.
#[tokio::test]
async fn line_037_clients_need_no_name() {
    let mut wire = Wire::new(example().build(), STATELESS);
    let mut meta = stateless_meta(&json!({}));
    meta.as_object_mut().unwrap().remove(CLIENT_INFO);
    wire.send(&request(1, "tools/call", &json!({ "name": "echo", "arguments": { "text": "hi" }, "_meta": meta })));
    assert_eq!(text(&wire.response(1).await), "hi");
}

/// Line 38: a server does not use what the request did not declare. A tool tells the model so; one that requires a
/// capability says which one.
#[tokio::test]
async fn line_038_undeclared_capabilities_are_not_used() {
    for (name, declared, required) in [
        ("sure", json!({}), json!({ "elicitation": { "form": {} } })),
        ("sure", json!({ "elicitation": { "url": {} } }), json!({ "elicitation": { "form": {} } })),
        ("visit", json!({ "elicitation": {} }), json!({ "elicitation": { "url": {} } })),
        ("sample", json!({ "roots": {} }), json!({ "sampling": {} })),
        ("sample_tools", json!({ "sampling": {} }), json!({ "sampling": { "tools": {} } })),
        ("roots", json!({ "sampling": {} }), json!({ "roots": {} })),
    ] {
        let needed: ClientCapabilities = serde_json::from_value(required.clone()).unwrap();
        let requires = move |ctx: Ctx| std::future::ready(ctx.require(&needed).map(|()| "it is there"));
        let server = example().tool(tool("requires", requires)).build();
        let mut wire = open(server.clone(), STATELESS, declared).await;
        let told = call(&mut wire, name, json!({})).await;
        assert!(is_refused(&told), "{name}: {told}");
        let refusal = call(&mut wire, "requires", json!({})).await;
        assert_eq!(refusal["error"]["code"], code::MISSING_CLIENT_CAPABILITY, "{name}: {refusal}");
        assert_eq!(refusal["error"]["data"]["requiredCapabilities"], required, "{name}");
        let mut wire = open(server, STATELESS, required).await;
        assert_eq!(text(&call(&mut wire, "requires", json!({})).await), "it is there", "{name}");
    }
}

/// Line 39: every result says who the server is, unless it was told not to.
#[tokio::test]
async fn line_039_results_name_the_server() {
    for (server, expected) in [
        (example().build(), Some(json!({ "name": "example", "version": "1.0.0" }))),
        (example().hide_info().build(), None),
    ] {
        let mut wire = Wire::with(server, STATELESS, serde_json::from_value(able()).unwrap(), Default::default());
        let mut results = vec![wire.open().await];
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({ "name": "fail" })),
            ("tools/call", json!({ "name": "sure" })),
            ("resources/read", json!({ "uri": "note://today" })),
            ("prompts/get", json!({ "name": "about", "arguments": { "text": "a" } })),
        ] {
            results.push(wire.request(method, params).await);
        }
        let listen = wire.start("subscriptions/listen", json!({ "notifications": {} }));
        results.extend(wire.finish().await.into_iter().filter(|m| m.get("id") == Some(&json!(listen))));
        assert_eq!(results.len(), 7);
        for result in results {
            assert_eq!(result["result"]["_meta"].get(SERVER_INFO), expected.as_ref(), "{result}");
        }
    }
}

/// Line 40: the names that the sides give themselves change nothing.
#[tokio::test]
async fn line_040_names_change_nothing() {
    let infos =
        [None, Some(json!({ "name": "claude", "version": "9" })), Some(json!({ "name": "admin\n", "version": "" }))];
    let mut answers = Vec::new();
    for info in &infos {
        let mut wire = Wire::new(example().build(), STATELESS);
        let mut meta = stateless_meta(&json!({}));
        match info {
            Some(info) => meta[CLIENT_INFO] = info.clone(),
            None => drop(meta.as_object_mut().unwrap().remove(CLIENT_INFO)),
        }
        for (id, method) in ["tools/list", "resources/list", "prompts/list", "server/discover"].iter().enumerate() {
            wire.send(&request(id, method, &json!({ "_meta": meta })));
        }
        answers.push(wire.ready());
    }
    assert_eq!(answers[0].len(), 4);
    assert!(answers.iter().all(|a| *a == answers[0]), "{answers:#?}");

    let mut sent = Vec::new();
    for info in infos {
        let raw = RawServer::new(move |m| match m["method"].as_str() {
            Some("server/discover") => {
                let mut about = discovered(m, &[STATELESS], &everything());
                about["result"]["_meta"] = info.as_ref().map_or(json!({}), |info| json!({ SERVER_INFO: info }));
                vec![about]
            }
            _ => vec![said(m, "ok")],
        });
        let client = client(STATELESS).connect(raw.clone()).await.unwrap();
        assert_eq!(client.call("a", ()).await.unwrap().text(), "ok");
        sent.push(raw.seen());
    }
    assert!(sent.iter().all(|s| *s == sent[0]), "{sent:#?}");
}

/// Line 41: everything that a subscription tells names the subscription.
#[tokio::test]
async fn line_041_notifications_name_their_subscription() {
    let server = example().build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    let filter = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                         "resourceSubscriptions": ["note://today"] });
    let id = wire.start("subscriptions/listen", json!({ "notifications": filter }));
    server.remove_tool("echo");
    server.remove_prompt("about");
    server.remove_resource("note://of/{day}");
    server.updated("note://today");
    let told = wire.ready();
    assert_eq!(told.len(), 5, "{told:#?}");
    assert!(told.iter().all(|m| m["params"]["_meta"][SUBSCRIPTION] == id), "{told:#?}");
}

/// Line 42: trace context has the form of the W3C: a program can check it, it is carried as it is, and none is made up.
#[tokio::test]
async fn line_042_trace_context() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    for (key, value, valid) in [
        ("traceparent", json!(parent), true),
        ("traceparent", json!("cc-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-later"), true),
        ("traceparent", json!("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-later"), false),
        ("traceparent", json!("00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01"), false),
        ("traceparent", json!("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), false),
        ("traceparent", json!("ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"), false),
        ("traceparent", json!("abc"), false),
        ("traceparent", json!(5), false),
        ("tracestate", json!("congo=t61rcWkgMzE, rojo@x=00f0"), true),
        ("tracestate", json!("Congo=1"), false),
        ("tracestate", json!("congo"), false),
        ("baggage", json!("userId=alice;ttl=5, isProd=false"), true),
        ("baggage", json!("user id=alice"), false),
        ("baggage", json!("userId"), false),
        ("other", json!("anything"), true),
    ] {
        assert_eq!(Meta::new().with(key, value.clone()).has_valid_trace(), valid, "{key} {value}");
    }
    let server = Server::new("s", "1").tool(tool("trace", |meta: Meta| {
        meta.get("traceparent").map_or("none".to_owned(), |t| t.parse::<String>().unwrap_or_default())
    }));
    let client = connect(server.build(), STATELESS).await.unwrap();
    let traced = client.call("trace", ()).meta(Meta::new().with("traceparent", json!(parent))).await.unwrap();
    assert_eq!(traced.text(), parent);
    assert_eq!(client.call("trace", ()).await.unwrap().text(), "none");
}

/// Line 49: every keyword of a tool's schema is there at the other end, known or not.
#[tokio::test]
async fn line_049_keywords_are_kept() {
    let schema = json!({
        "type": "object", "$id": "urn:a", "$comment": "c", "vendor": { "deep": [1, 2.50, null] },
        "properties": { "h": { "type": "string", "x-mcp-header": "H" }, "a": { "type": ["string", "null"], "format": "odd", "x-order": 1, "examples": [1] } },
        "if": { "required": ["a"] }, "then": {}, "else": false, "$anchor": "b", "deprecated": true,
    });
    for version in revisions("2025-11-25"..) {
        let kept = tool("kept", |RawArgs(_): RawArgs| "a").input_schema(schema.clone()).output_schema(schema.clone());
        let client = connect(Server::new("s", "1").tool(kept).build(), *version).await.unwrap();
        let tools = client.tools().await.unwrap();
        assert_eq!(tools[0].input_schema.parse::<Value>().unwrap(), schema, "{version}");
        assert_eq!(tools[0].output_schema.as_ref().unwrap().parse::<Value>().unwrap(), schema, "{version}");
    }
}

/// Line 50: a client that shows icons gets them with everything it needs to choose one, of whatever picture type.
#[tokio::test]
async fn line_050_icons_arrive_with_their_types() {
    let types = ["image/png", "image/jpeg", "image/svg+xml", "image/webp"];
    let icons = types.map(|t| {
        let src = format!("https://example.com/{t}");
        Icon::new(src).mime_type(t).sizes(vec!["48x48".to_owned()]).theme(IconTheme::Dark)
    });
    for version in revisions("2025-11-25"..) {
        let info = Implementation::new("s", "1").icons(icons.to_vec());
        let server = Server::new("s", "1").info(info).tool(tool("a", || "a").icons(icons.to_vec()));
        let client = connect(server.build(), *version).await.unwrap();
        assert_eq!(client.tools().await.unwrap()[0].icons.as_deref(), Some(&icons[..]), "{version}");
        assert_eq!(client.server().info.clone().unwrap().icons.as_deref(), Some(&icons[..]), "{version}");
    }
    assert!(icons.iter().all(Icon::is_safe));
}

/// Line 51: an icon may come from an `https:` address or be a `data:` URI. Everything else is to be refused, and so is
/// a redirect to another place.
#[test]
fn line_051_sources_of_icons() {
    for good in ["https://example.com/a.png", "HTTPS://example.com", "data:image/png;base64,AAAA", "DATA:IMAGE/webp,a"]
    {
        assert!(Icon::new(good).is_safe(), "{good}");
    }
    for bad in [
        "http://example.com/a.png",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://example.com/a",
        "ws://example.com",
        "wss://example.com",
        "myapp://icon",
        "data:text/html,<script>",
        "data:",
        "https:",
        "https://",
        "https:///a",
        "//example.com/a.png",
        "/a.png",
        "",
        " https://example.com",
        "java\nscript:alert(1)",
        "https ://example.com",
    ] {
        assert!(!Icon::new(bad).is_safe(), "{bad:?}");
    }
    let redirected = |to: &str| Icon::new(to).is_safe() && Icon::new(to).shares_origin("https://example.com/a.png");
    assert!(redirected("https://example.com:443/b.png"));
    for elsewhere in ["https://example.org/a.png", "http://example.com/a.png", "https://example.com:8443/a.png"] {
        assert!(!redirected(elsewhere), "{elsewhere}");
    }
}

/// Line 52: icons are not trusted: nothing is fetched by the library, and a client can tell whether a picture is where
/// the server is.
#[tokio::test]
async fn line_052_icons_are_not_trusted() {
    let trap = Trap::new();
    let icons = vec![Icon::new(trap.address("https")), Icon::new(trap.address("http"))];
    for version in revisions("2025-11-25"..) {
        let info = Implementation::new("s", "1").icons(icons.clone());
        let server = Server::new("s", "1").info(info).tool(tool("a", || "a").icons(icons.clone()));
        let client = connect(server.build(), *version).await.unwrap();
        assert_eq!(client.tools().await.unwrap()[0].icons.as_ref(), Some(&icons), "{version}");
    }
    trap.assert_untouched();
    let server = "https://example.com/mcp";
    for (source, same) in [
        ("https://example.com/a.png", true),
        ("https://EXAMPLE.com:443/a.png", true),
        ("data:image/png;base64,AAAA", true),
        ("https://example.com.evil.org/a.png", false),
        ("https://example.com@evil.org/a.png", false),
        ("https://evil.org\\@example.com/a.png", false),
        ("https://cdn.example.com/a.png", false),
    ] {
        assert_eq!(Icon::new(source).shares_origin(server), same, "{source}");
    }
}
