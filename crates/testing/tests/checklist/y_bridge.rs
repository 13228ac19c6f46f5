//! Lines 451 and 452: what a host and a view say to each other, and when.

use couplet_apps::{
    AppTools, Bridge, Csp, DisplayMode, Host, InvalidState, Permission, Permissions, ServerList, ViewEvent, ViewMeta,
    sandbox,
};
use couplet_testing::types::{CallToolParams, CallToolResult, Implementation, RequestId};
use serde_json::{Value, json};

fn host() -> Host {
    let mut host = Host::new(Implementation::new("host", "1.0.0"));
    host.context.available_display_modes = vec![DisplayMode::Inline, DisplayMode::Fullscreen];
    host.context.others.insert("theme".to_owned(), json!("dark"));
    host.capabilities.insert("openLinks".to_owned(), json!({}));
    host
}

fn bridge() -> Bridge {
    Bridge::new(host(), AppTools::default())
}

fn ask(bridge: &mut Bridge, method: &str, params: Value) -> ViewEvent {
    bridge.receive(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }))
}

fn tell(bridge: &mut Bridge, method: &str, params: Value) -> ViewEvent {
    bridge.receive(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// A view that has said hello, and one that is ready.
fn greeted(capabilities: Value) -> Bridge {
    let mut bridge = bridge();
    let hello = json!({ "appInfo": { "name": "v", "version": "1" }, "appCapabilities": capabilities, "protocolVersion": "2026-01-26" });
    let ViewEvent::Answer(answer) = ask(&mut bridge, "ui/initialize", hello) else { panic!("no answer") };
    let result = &answer["result"];
    assert_eq!((&answer["id"], &result["protocolVersion"]), (&json!(7), &json!("2026-01-26")));
    assert_eq!(
        (&result["hostInfo"]["name"], &result["hostCapabilities"]),
        (&json!("host"), &json!({ "openLinks": {} }))
    );
    let context =
        json!({ "displayMode": "inline", "availableDisplayModes": ["inline", "fullscreen"], "theme": "dark" });
    assert_eq!(result["hostContext"], context);
    bridge
}

fn ready() -> Bridge {
    let mut bridge = greeted(json!({}));
    assert!(matches!(tell(&mut bridge, "ui/notifications/initialized", json!({})), ViewEvent::Initialized));
    bridge
}

/// One thing that a host can say.
type Say = fn(&mut Bridge) -> Result<Value, InvalidState>;

const SAYS: [(&str, Say); 5] = [
    ("ui/notifications/tool-input-partial", |b| b.tool_input_partial(&json!({ "a": 1 }))),
    ("ui/notifications/tool-input", |b| b.tool_input(&json!({ "a": 1 }))),
    ("ui/notifications/tool-result", |b| b.tool_result(&CallToolResult::text("done"))),
    ("ui/notifications/tool-cancelled", |b| b.tool_cancelled("stopped")),
    ("ui/notifications/host-context-changed", |b| b.context_changed(&json!({ "theme": "light" }))),
];

/// A view in every state that it can be in, and what it can be told there.
#[test]
fn line_451_everything_has_its_time() {
    type Make = fn() -> Bridge;
    let running = || {
        let mut bridge = ready();
        bridge.tool_input(&json!({})).unwrap();
        bridge
    };
    let stages: [(&str, Make, [bool; 5]); 7] = [
        ("loading", bridge, [false; 5]),
        ("greeted", || greeted(json!({})), [false; 5]),
        ("ready", ready, [true, true, false, false, true]),
        ("running", running, [false, false, true, true, true]),
        (
            "done",
            || {
                let mut bridge = ready();
                bridge.tool_input(&json!({})).unwrap();
                bridge.tool_result(&CallToolResult::text("done")).unwrap();
                bridge
            },
            [false, false, false, false, true],
        ),
        (
            "cancelled",
            || {
                let mut bridge = ready();
                bridge.tool_input(&json!({})).unwrap();
                bridge.tool_cancelled("stopped").unwrap();
                bridge
            },
            [false, false, false, false, true],
        ),
        (
            "leaving",
            || {
                let mut bridge = ready();
                bridge.teardown("bye").unwrap().unwrap();
                bridge
            },
            [false; 5],
        ),
    ];
    for (name, make, allowed) in stages {
        for ((method, say), allowed) in SAYS.iter().zip(allowed) {
            let said = say(&mut make());
            assert_eq!(said.is_ok(), allowed, "{name}: {method}");
            assert!(
                said.is_err() || said.is_ok_and(|message| message["method"] == *method && message.get("id").is_none())
            );
        }
    }
    // The view is asked before it is removed, once, and where somebody can answer.
    assert_eq!(bridge().teardown("bye"), Ok(None));
    assert_eq!(greeted(json!({})).teardown("bye"), Ok(None));
    let mut leaving = running();
    let asked = leaving.teardown("bye").unwrap().unwrap();
    assert_eq!((&asked["method"], &asked["params"]), (&json!("ui/resource-teardown"), &json!({ "reason": "bye" })));
    assert!(leaving.teardown("again").is_err());
    assert!(matches!(leaving.receive(&json!({ "jsonrpc": "2.0", "id": "other", "result": {} })), ViewEvent::Ignored));
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} });
    assert!(matches!(leaving.receive(&answer), ViewEvent::TornDown));
    assert!(matches!(leaving.receive(&answer), ViewEvent::Ignored), "once");
}

#[test]
fn line_451_a_view_is_heard_when_it_is_ready() {
    let asks = [
        ("tools/call", json!({ "name": "t" })),
        ("resources/read", json!({ "uri": "a://b" })),
        ("ui/open-link", json!({ "url": "https://example.com" })),
        ("ui/message", json!({ "role": "user", "content": [{ "type": "text", "text": "hi" }] })),
        ("ui/update-model-context", json!({ "structuredContent": { "a": 1 } })),
        ("ui/request-display-mode", json!({ "mode": "fullscreen" })),
    ];
    for (method, params) in &asks {
        for mut early in [bridge(), greeted(json!({}))] {
            let ViewEvent::Answer(refusal) = ask(&mut early, method, params.clone()) else { panic!("{method}") };
            assert_eq!(refusal["error"]["code"], -32000, "{method}");
        }
    }
    let mut bridge = ready();
    assert!(
        matches!(ask(&mut bridge, "resources/read", asks[1].1.clone()), ViewEvent::ReadResource(_, uri) if uri == "a://b")
    );
    assert!(
        matches!(ask(&mut bridge, "ui/open-link", asks[2].1.clone()), ViewEvent::OpenLink(_, url) if url == "https://example.com")
    );
    assert!(
        matches!(ask(&mut bridge, "ui/message", asks[3].1.clone()), ViewEvent::Message(_, m) if m.content.len() == 1)
    );
    assert!(
        matches!(ask(&mut bridge, "ui/update-model-context", asks[4].1.clone()), ViewEvent::UpdateContext(_, c) if c.structured_content.is_some())
    );
    assert!(matches!(ask(&mut bridge, "ping", json!({})), ViewEvent::Answer(pong) if pong["result"] == json!({})));
    for url in ["javascript:alert(1)", "file:///etc/passwd", "https://", "https://a b", "https://bank.com@evil.com", ""]
    {
        let ViewEvent::Answer(refusal) = ask(&mut bridge, "ui/open-link", json!({ "url": url })) else {
            panic!("{url}")
        };
        assert_eq!(refusal["error"]["code"], -32000, "{url}");
    }
    for (method, params) in
        [("ui/initialize", json!({})), ("ui/unknown", json!({})), ("ui/message", json!({ "role": 1 }))]
    {
        let ViewEvent::Answer(refusal) = ask(&mut bridge, method, params) else { panic!("{method}") };
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(7), &json!(-32000)), "{method}");
    }
    for odd in [json!(7), json!([]), json!({}), json!({ "id": {}, "result": 1 }), json!({ "method": 5 })] {
        assert!(matches!(bridge.receive(&odd), ViewEvent::Ignored), "{odd}");
    }
}

/// A view that is ready, with a host and a view that declare everything.
fn capable() -> Bridge {
    let mut host = host();
    for capability in ["downloadFile", "serverResources", "sampling"] {
        host.capabilities.insert(capability.to_owned(), json!({}));
    }
    let mut bridge = Bridge::new(host, AppTools::default());
    ask(&mut bridge, "ui/initialize", json!({ "appCapabilities": { "tools": { "listChanged": true } } }));
    assert!(matches!(tell(&mut bridge, "ui/notifications/initialized", json!({})), ViewEvent::Initialized));
    bridge
}

/// What a view may ask for only where the host declares that it can be asked.
#[test]
fn line_451_downloads_lists_and_sampling_need_a_capability() {
    let file = json!({ "type": "resource", "resource": { "uri": "a://b", "text": "b" } });
    let link = json!({ "type": "resource_link", "uri": "a://c", "name": "c" });
    let message = json!({ "role": "user", "content": { "type": "text", "text": "hi" } });
    let asks = [
        ("ui/download-file", json!({ "contents": [file, link] })),
        ("resources/list", json!({ "cursor": "next" })),
        ("resources/templates/list", json!({})),
        ("sampling/createMessage", json!({ "messages": [message], "maxTokens": 10 })),
    ];
    for (method, params) in &asks {
        let ViewEvent::Answer(refusal) = ask(&mut ready(), method, params.clone()) else { panic!("{method}") };
        assert_eq!(refusal["error"]["code"], -32000, "{method}");
    }
    let mut bridge = capable();
    let mut next = asks.iter().map(|(method, params)| ask(&mut bridge, method, params.clone()));
    assert!(
        matches!(next.next(), Some(ViewEvent::DownloadFile(id, files)) if files.len() == 2 && id == RequestId::from(7))
    );
    assert!(matches!(next.next(), Some(ViewEvent::List(_, ServerList::Resources, Some(at))) if at == "next"));
    assert!(matches!(next.next(), Some(ViewEvent::List(_, ServerList::ResourceTemplates, None))));
    assert!(matches!(next.next(), Some(ViewEvent::Sample(_, params)) if params.max_tokens == 10));
    assert!(matches!(ask(&mut ready(), "prompts/list", json!({})), ViewEvent::List(_, ServerList::Prompts, None)));
    let text = json!({ "type": "text", "text": "no file" });
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
    for (method, params) in [
        ("ui/download-file", json!({ "contents": [] })),
        ("ui/download-file", json!({ "contents": [text] })),
        ("ui/download-file", json!({})),
        ("prompts/list", json!({ "cursor": 7 })),
        ("sampling/createMessage", json!({ "messages": [message], "maxTokens": 10, "tools": [tool] })),
        ("sampling/createMessage", json!({ "messages": 1 })),
    ] {
        let ViewEvent::Answer(refusal) = ask(&mut bridge, method, params.clone()) else { panic!("{method} {params}") };
        assert_eq!(refusal["error"]["code"], -32000, "{method} {params}");
    }
}

/// A view with tools of its own is asked by the host.
#[test]
fn line_451_a_host_calls_the_tools_of_a_view() {
    let call = CallToolParams::new("zoom");
    let mut plain = ready();
    assert!(!plain.has_view_tools());
    assert!(plain.view_tools(None).unwrap_err().to_string().contains("declares no tools"));
    assert!(bridge().call_view_tool(&call).is_err(), "it is not initialized");
    assert!(matches!(tell(&mut plain, "notifications/tools/list_changed", json!({})), ViewEvent::Ignored));

    let mut bridge = capable();
    let list = bridge.view_tools(Some("next")).unwrap();
    assert_eq!(
        (&list.message["method"], &list.message["params"]),
        (&json!("tools/list"), &json!({ "cursor": "next" }))
    );
    let tools = json!({ "tools": [{ "name": "zoom", "inputSchema": { "type": "object" } }] });
    let answer = json!({ "jsonrpc": "2.0", "id": list.message["id"], "result": tools });
    assert!(
        matches!(bridge.receive(&answer), ViewEvent::Tools(id, tools) if id == list.id && tools.tools[0].name == "zoom")
    );
    assert!(matches!(bridge.receive(&answer), ViewEvent::Ignored), "once");

    let [done, broken, odd] = std::array::from_fn(|_| bridge.call_view_tool(&call).unwrap());
    assert_eq!((&done.message["method"], &done.message["params"]["name"]), (&json!("tools/call"), &json!("zoom")));
    let answer = |id: &Value, member: &str, value: Value| json!({ "jsonrpc": "2.0", "id": id, member: value });
    let result = json!({ "content": [{ "type": "text", "text": "closer" }] });
    let event = bridge.receive(&answer(&done.message["id"], "result", result));
    assert!(matches!(event, ViewEvent::ToolResult(id, result) if id == done.id && result.content.len() == 1));
    let event = bridge.receive(&answer(&broken.message["id"], "error", json!({ "code": 1, "message": "stuck" })));
    assert!(matches!(event, ViewEvent::Failed(id, why) if id == broken.id && why == "stuck"));
    let event = bridge.receive(&answer(&odd.message["id"], "result", json!({ "content": 7 })));
    assert!(matches!(event, ViewEvent::Failed(id, why) if id == odd.id && why.contains("invalid")));

    assert!(matches!(tell(&mut bridge, "notifications/tools/list_changed", json!({})), ViewEvent::ToolsChanged));
    let open = (0..100).take_while(|_| bridge.view_tools(None).is_ok()).count();
    assert_eq!(open, 64, "a view that never answers holds no more");
}

#[test]
fn line_451_a_view_is_notified_of_lists_and_asks_to_be_removed() {
    for (list, method) in [
        (ServerList::Tools, "notifications/tools/list_changed"),
        (ServerList::Resources, "notifications/resources/list_changed"),
        (ServerList::ResourceTemplates, "notifications/resources/list_changed"),
        (ServerList::Prompts, "notifications/prompts/list_changed"),
    ] {
        assert!(bridge().list_changed(list).is_err() && greeted(json!({})).list_changed(list).is_err(), "{method}");
        assert_eq!(ready().list_changed(list).unwrap()["method"], method);
    }
    let teardown = "ui/notifications/request-teardown";
    assert!(matches!(tell(&mut greeted(json!({})), teardown, json!({})), ViewEvent::Ignored));
    let mut ready = ready();
    assert!(matches!(tell(&mut ready, teardown, json!({})), ViewEvent::RequestTeardown));
    assert!(ready.teardown("as asked").unwrap().is_some());
}

/// The answer is how the view is shown then, and only ways that both sides have are taken.
#[test]
fn line_451_display_modes_and_sizes() {
    let mut bridge = ready();
    let ViewEvent::RequestDisplayMode(id, DisplayMode::Fullscreen) =
        ask(&mut bridge, "ui/request-display-mode", json!({ "mode": "fullscreen" }))
    else {
        panic!("the host has it")
    };
    assert_eq!(id, RequestId::from(7));
    assert_eq!(bridge.set_display_mode(&id, DisplayMode::Fullscreen)["result"], json!({ "mode": "fullscreen" }));
    for wrong in ["pip", "hologram"] {
        let ViewEvent::Answer(answer) = ask(&mut bridge, "ui/request-display-mode", json!({ "mode": wrong })) else {
            panic!("{wrong}")
        };
        assert_eq!(answer["result"], json!({ "mode": "fullscreen" }), "{wrong}");
    }
    assert_eq!(
        bridge.set_display_mode(&id, DisplayMode::Pip)["result"],
        json!({ "mode": "fullscreen" }),
        "the host has no such way"
    );

    let mut modest = greeted(json!({ "availableDisplayModes": ["inline"] }));
    tell(&mut modest, "ui/notifications/initialized", json!({}));
    let ViewEvent::Answer(answer) = ask(&mut modest, "ui/request-display-mode", json!({ "mode": "fullscreen" })) else {
        panic!("the view has not declared it")
    };
    assert_eq!(answer["result"], json!({ "mode": "inline" }));

    let size = tell(&mut bridge, "ui/notifications/size-changed", json!({ "width": 300, "height": 200.5 }));
    assert!(matches!(size, ViewEvent::SizeChanged(size) if size.width == Some(300.0) && size.height == Some(200.5)));
    for odd in [json!({ "width": -1 }), json!({ "height": "tall" })] {
        assert!(matches!(tell(&mut bridge, "ui/notifications/size-changed", odd), ViewEvent::Ignored));
    }
}

#[test]
fn line_452_a_sandbox_of_another_origin_hands_on_all_but_its_own() {
    for (host, proxy, apart) in [
        ("https://host.example", "https://sandbox.example", true),
        ("https://host.example", "https://sandbox.host.example/x", true),
        ("https://host.example", "http://host.example", true),
        ("http://localhost:3000", "http://localhost:3001/sandbox", true),
        ("https://host.example/a", "https://HOST.example:443/b", false),
        ("https://host.example", "about:blank", false),
        ("https://host.example", "", false),
    ] {
        assert_eq!(sandbox::is_cross_origin(host, proxy), apart, "{host} {proxy}");
    }
    for method in ["ui/initialize", "ui/notifications/initialized", "tools/call", "ui/notifications/tool-input", "ping"]
    {
        assert!(sandbox::is_forwarded(method), "{method}");
    }
    for method in [
        "ui/notifications/sandbox-proxy-ready",
        "ui/notifications/sandbox-resource-ready",
        "ui/notifications/sandbox-x",
    ] {
        assert!(!sandbox::is_forwarded(method), "{method}");
        assert!(matches!(tell(&mut ready(), method, json!({})), ViewEvent::Ignored), "a view cannot say it");
    }
    assert!(sandbox::is_ready(
        &json!({ "jsonrpc": "2.0", "method": "ui/notifications/sandbox-proxy-ready", "params": {} })
    ));
    assert_eq!(sandbox::FLAGS, "allow-scripts allow-same-origin");
    let mut meta = ViewMeta::default();
    meta.csp = Some(Csp::new().connect(["https://a.com", "*"]));
    meta.permissions = Some(Permissions::default().with(Permission::Camera));
    let message = sandbox::resource_ready("<!doctype html>", &meta);
    assert_eq!(message["method"], "ui/notifications/sandbox-resource-ready");
    let params = json!({ "html": "<!doctype html>", "csp": { "connectDomains": ["https://a.com"] }, "permissions": { "camera": {} } });
    assert_eq!(message["params"], params);
}
