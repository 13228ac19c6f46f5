//! Lines 296 to 309: sampling.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use couplet::{
    client::{Client, ClientBuilder},
    server::{Ctx, Server, ServerHandle, tool},
    types::{
        ContentBlock, CreateMessageParams, CreateMessageResult, IncludeContext, Meta, ModelHint, ModelPreferences,
        ProtocolVersion, RpcError, SamplingContent, SamplingMessage, StopReason, Tool, ToolChoice, ToolChoiceMode,
        ToolResultContent, ToolUseContent, code,
    },
};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, STATELESS, able, ask_client, ask_tool, client, everything, is_refused, open, result, revisions, said,
};

fn answer() -> Value {
    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hello" } })
}

/// A server whose tool `ask` asks the model this.
fn asking(params: CreateMessageParams) -> ServerHandle {
    let ask = move |ctx: Ctx| {
        let params = params.clone();
        async move { ctx.sample("q", params).await.map(|said| said.content.all_text()) }
    };
    Server::new("s", "1").tool(tool("ask", ask)).build()
}

fn plain() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user("hi")], 100)
}

fn using(id: &str) -> ContentBlock {
    ContentBlock::ToolUse(ToolUseContent::new(id, "look", json!({ "n": 1 })))
}

fn answering(id: &str) -> ContentBlock {
    ContentBlock::ToolResult(ToolResultContent::new(id, vec![ContentBlock::text("seen")]))
}

/// A question about sampling, as it is on the wire.
fn question(messages: Value) -> Value {
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 9 } })
}

fn hi() -> Value {
    json!([{ "role": "user", "content": { "type": "text", "text": "hi" } }])
}

fn sampler() -> ClientBuilder {
    Client::new("c", "1").on_sample(|_| async { Ok(CreateMessageResult::new("m", "hello")) })
}

/// What a client in a revision declares.
async fn declared(builder: ClientBuilder, version: ProtocolVersion) -> Value {
    let raw = RawServer::speaking(version, everything(), |m| match m.get("id") {
        Some(_) => vec![said(m, "done")],
        None => vec![],
    });
    let client = builder.versions([version]).connect(raw.clone()).await.unwrap();
    client.call("t", ()).await.unwrap();
    match version {
        STATELESS => {
            raw.seen_of("tools/call")[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].take()
        }
        _ => raw.seen_of("initialize")[0]["params"]["capabilities"].take(),
    }
}

/// A client that samples says so, and one that does not neither says so nor answers.
#[tokio::test]
async fn line_296_declared() {
    for &version in revisions(..) {
        assert_eq!(declared(sampler(), version).await["sampling"], json!({}), "{version}");
        assert!(declared(Client::new("c", "1"), version).await.get("sampling").is_none(), "{version}");
        assert_eq!(ask_client(sampler(), version, &question(hi())).await.unwrap()["content"]["text"], "hello");
        let refused = ask_client(Client::new("c", "1"), version, &question(hi())).await.unwrap_err();
        assert!(version == STATELESS || refused["code"] == -32601, "{version}: {refused}");
        let (asked, refused) = ask_tool(asking(plain()), version, json!({}), answer()).await;
        assert!(asked.is_empty() && is_refused(&refused), "{version}: a server does not ask such a client");
    }
}

/// A server hands no tools to a client that did not say that it takes them.
#[tokio::test]
async fn line_297_no_tools_unless_declared() {
    let look = || Tool::new("look", json!({ "type": "object" }));
    let with = [plain().tools(vec![look()]), plain().tool_choice(ToolChoice::new(ToolChoiceMode::None))];
    for &version in revisions("2025-11-25"..) {
        for params in with.clone() {
            let sampling = json!({ "sampling": {} });
            let (asked, answered) = ask_tool(asking(params.clone()), version, sampling, answer()).await;
            assert!(asked.is_empty(), "{version}: {asked:?}");
            let told = answered["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(is_refused(&answered) && told.contains("sampling with tools"), "{version}: {answered}");
            let (asked, answered) = ask_tool(asking(params), version, able(), answer()).await;
            assert_eq!(answered["result"]["content"][0]["text"], "hello", "{version}");
            assert!(asked[0]["params"].get("tools").or(asked[0]["params"].get("toolChoice")).is_some());
        }
    }
}

/// A client that did not declare tools refuses a question that brings some, without asking its model.
#[tokio::test]
async fn line_298_tools_are_refused_unless_declared() {
    for &version in revisions("2025-11-25"..) {
        for (key, value) in [("tools", json!([])), ("toolChoice", json!({ "mode": "auto" }))] {
            let mut ask = question(hi());
            ask["params"][key] = value;
            let asked = Arc::new(AtomicUsize::new(0));
            let count = asked.clone();
            let sampler = Client::new("c", "1").on_sample(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                async { Ok(CreateMessageResult::new("m", "hello")) }
            });
            let refused = ask_client(sampler, version, &ask).await.unwrap_err();
            assert!(refused["message"].as_str().unwrap().contains("tools"), "{version}: {refused}");
            assert!(version == STATELESS || refused["code"] == -32602, "{version}: {refused}");
            assert_eq!(asked.load(Ordering::SeqCst), 0);
            let able = self::sampler().sampling_tools(true);
            assert!(ask_client(able, version, &ask).await.is_ok(), "{version}");
        }
    }
}

/// The context of servers is asked for only where the client declared that it gives it.
#[tokio::test]
async fn line_299_no_context_unless_declared() {
    for &version in revisions("2025-11-25"..) {
        for (wanted, can, expected) in [
            (IncludeContext::ThisServer, json!({ "sampling": {} }), None),
            (IncludeContext::AllServers, json!({ "sampling": {} }), None),
            (IncludeContext::None, json!({ "sampling": {} }), Some("none")),
            (IncludeContext::ThisServer, json!({ "sampling": { "context": {} } }), Some("thisServer")),
        ] {
            let (asked, _) = ask_tool(asking(plain().include_context(wanted)), version, can, answer()).await;
            assert_eq!(asked[0]["params"].get("includeContext"), expected.map(Value::from).as_ref(), "{version}");
        }
    }
}

/// Conversations in which tools are used, and whether they may be sent.
fn conversations() -> Vec<(bool, Vec<SamplingMessage>)> {
    let user = |blocks: Vec<ContentBlock>| SamplingMessage::user(blocks);
    let model = |blocks: Vec<ContentBlock>| SamplingMessage::assistant(blocks);
    let hi = || SamplingMessage::user("hi");
    vec![
        (true, vec![hi(), model(vec![using("1")]), user(vec![answering("1")])]),
        (
            true,
            vec![
                hi(),
                model(vec!["let me see".into(), using("1"), using("2")]),
                user(vec![answering("2"), answering("1")]),
            ],
        ),
        (false, vec![hi(), model(vec![using("1")]), user(vec![answering("1"), "and?".into()])]),
        (false, vec![hi(), model(vec![using("1"), using("2")]), user(vec![answering("1")])]),
        (false, vec![hi(), model(vec![using("1")]), user(vec![answering("2")])]),
        (false, vec![hi(), model(vec![using("1")]), user(vec![answering("1"), answering("1")])]),
        (false, vec![hi(), model(vec![using("1")]), hi(), user(vec![answering("1")])]),
        (false, vec![hi(), model(vec![using("1")])]),
        (false, vec![user(vec![answering("1")])]),
        (false, vec![hi(), user(vec![using("1")]), user(vec![answering("1")])]),
        (false, vec![hi(), model(vec![using("1")]), model(vec![answering("1")])]),
    ]
}

/// A server asks only with conversations in which each use of a tool is answered at once and by nothing else.
#[tokio::test]
async fn line_300_balanced_tools_of_the_server() {
    for &version in revisions("2025-11-25"..) {
        for (good, messages) in conversations() {
            let params = CreateMessageParams::new(messages, 10).tools(vec![]);
            let shown = format!("{version}: {params:?}");
            let (asked, answered) = ask_tool(asking(params), version, able(), answer()).await;
            assert_eq!(asked.len(), usize::from(good), "{shown}");
            assert_eq!(answered.get("error").is_none(), good, "{shown}: {answered}");
        }
    }
}

/// A client refuses conversations that are not like that, and says in the agreed way that its user said no.
#[tokio::test]
async fn line_301_errors_of_the_client() {
    for (good, messages) in conversations() {
        let ask = question(json!(messages));
        let answered = ask_client(sampler().sampling_tools(true), ProtocolVersion::V2025_11_25, &ask).await;
        match answered {
            Ok(_) => assert!(good, "{ask}"),
            Err(refused) => assert!(!good && refused["code"] == -32602, "{ask}: {refused}"),
        }
    }
    for &version in revisions(..="2025-11-25") {
        let no = || async { Err(RpcError::new(code::USER_REJECTED, "the user said no")) };
        let refused = ask_client(Client::new("c", "1").on_sample(move |_| no()), version, &question(hi())).await;
        assert_eq!(refused.unwrap_err()["code"], -1, "{version}");
    }
}

/// What the callback was given.
async fn heard(version: ProtocolVersion, ask: &Value) -> CreateMessageParams {
    let heard = Arc::new(Mutex::new(None));
    let hear = heard.clone();
    let sampler = Client::new("c", "1").sampling_tools(true).on_sample(move |params| {
        *hear.lock().unwrap() = Some(params);
        async { Ok(CreateMessageResult::new("m", "hello").stop_reason(StopReason::MaxTokens)) }
    });
    let answered = ask_client(sampler, version, ask).await.unwrap();
    assert_eq!(answered["stopReason"], "maxTokens", "{version}");
    let params = heard.lock().unwrap().take();
    params.expect("the callback was asked")
}

/// The callback is told how many tokens the model may write, and can say that it stopped there; a question without a
/// limit is refused.
#[tokio::test]
async fn line_302_max_tokens() {
    let mut ask = question(hi());
    ask["params"]["systemPrompt"] = json!("Be short.");
    ask["params"]["temperature"] = json!(0.5);
    ask["params"]["stopSequences"] = json!(["END"]);
    let params = heard(STATELESS, &ask).await;
    assert_eq!(params.max_tokens, 9);
    assert_eq!((params.system_prompt.as_deref(), params.temperature), (Some("Be short."), Some(0.5)));
    assert_eq!(params.stop_sequences.as_deref(), Some(&["END".to_owned()][..]));
    ask["params"].as_object_mut().unwrap().remove("maxTokens");
    let refused = ask_client(sampler(), STATELESS, &ask).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("maxTokens"), "{refused}");
}

/// Hints arrive in their order, and picking a model tries them in that order, each as a part of a name.
#[tokio::test]
async fn line_303_hints_in_order() {
    for &version in revisions(..) {
        let mut ask = question(hi());
        let hints = json!([{ "name": "opus" }, {}, { "name": "sonnet" }, { "name": "" }]);
        ask["params"]["modelPreferences"] = json!({ "hints": hints, "costPriority": 1, "speedPriority": 0.5 });
        let wanted = heard(version, &ask).await.model_preferences.unwrap();
        let names: Vec<_> = wanted.hints.iter().flatten().filter_map(|h| h.name.as_deref()).collect();
        assert_eq!(names, ["opus", "sonnet", ""], "{version}");
        assert_eq!((wanted.cost_priority, wanted.speed_priority), (Some(1.0), Some(0.5)));
        assert_eq!(wanted.pick(["cheap-mini", "x-sonnet-4", "x-opus-4"]), Some("x-opus-4"), "the first hint first");
        assert_eq!(wanted.pick(["cheap-mini", "x-sonnet-4"]), Some("x-sonnet-4"), "then the next");
    }
    let named = ModelPreferences::new().hints(vec![ModelHint::new("opus")]).cost_priority(1.0);
    assert_eq!(named.pick(["cheap-mini"]), None, "where no hint fits, the priorities decide");
}

/// The callback sees the whole question before any model does, can change or refuse it, and count; its answer is what
/// the server gets, and without it nothing is.
#[tokio::test]
async fn line_304_approval() {
    for &version in revisions(..) {
        let budget = Arc::new(AtomicUsize::new(1));
        let approve = move |params: CreateMessageParams| {
            let allowed = budget.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
            async move {
                assert_eq!(params.messages[0].content.all_text(), "hi");
                match allowed {
                    true => Ok(CreateMessageResult::new("m", "reviewed")),
                    false => Err(RpcError::new(code::USER_REJECTED, "too often")),
                }
            }
        };
        let approve = Arc::new(approve);
        let builder = || {
            let approve = approve.clone();
            Client::new("c", "1").on_sample(move |params| approve(params))
        };
        assert_eq!(ask_client(builder(), version, &question(hi())).await.unwrap()["content"]["text"], "reviewed");
        let refused = ask_client(builder(), version, &question(hi())).await.unwrap_err();
        assert!(refused["message"].as_str().unwrap().contains("too often"), "{version}: {refused}");
        // Content that is none is refused before anybody looks at it.
        for wrong in
            [json!([{ "role": "user" }]), json!([{ "role": "user", "content": { "type": "video" } }]), json!({})]
        {
            let refused = ask_client(sampler(), version, &question(wrong.clone())).await;
            assert!(refused.is_err(), "{version}: {wrong}");
        }
    }
}

/// A server that asks for ever is stopped, and `_meta` of tool uses and results arrives in both directions.
#[tokio::test]
async fn line_305_loops_end_and_meta_is_kept() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| {
        let ask =
            json!({ "resultType": "input_required", "inputRequests": { "q": question(hi()) }, "requestState": "s" });
        vec![result(m, ask)]
    });
    let client = sampler().max_rounds(4).versions([STATELESS]).connect(raw.clone()).await.unwrap();
    assert!(client.call("loop", ()).await.unwrap_err().to_string().contains("4 rounds"));
    assert_eq!(raw.seen_of("tools/call").len(), 5);

    let mark = || Meta::new().with("example.com/cache", json!("k1"));
    for &version in revisions("2025-11-25"..) {
        let mut tool_use = ToolUseContent::new("1", "look", json!({}));
        tool_use.meta = Some(mark());
        let mut tool_result = ToolResultContent::new("1", vec![]);
        tool_result.meta = Some(mark());
        let messages = vec![
            SamplingMessage::user("hi"),
            SamplingMessage::assistant(ContentBlock::ToolUse(tool_use.clone())),
            SamplingMessage::user(ContentBlock::ToolResult(tool_result)),
        ];
        let params = heard(version, &question(json!(messages))).await;
        assert_eq!(params.messages, messages, "{version}: the callback gets all of it");
        let (asked, _) =
            ask_tool(asking(CreateMessageParams::new(messages.clone(), 9)), version, able(), answer()).await;
        assert_eq!(asked[0]["params"]["messages"], json!(messages), "{version}: the server sends all of it");
        let block = ContentBlock::ToolUse(tool_use);
        let said = block.clone();
        let builder = Client::new("c", "1").sampling_tools(true).on_sample(move |_| {
            let said = said.clone();
            async { Ok(CreateMessageResult::new("m", said)) }
        });
        assert_eq!(ask_client(builder, version, &question(hi())).await.unwrap()["content"], json!(block), "{version}");
    }
}

/// The callback learns whether the model may, must or must not use tools; nothing said means that it may.
#[tokio::test]
async fn line_306_tool_choice() {
    for &version in revisions("2025-11-25"..) {
        for (choice, expected) in [
            (Some(json!({ "mode": "auto" })), Some(ToolChoiceMode::Auto)),
            (Some(json!({ "mode": "required" })), Some(ToolChoiceMode::Required)),
            (Some(json!({ "mode": "none" })), Some(ToolChoiceMode::None)),
            (Some(json!({})), None),
            (None, None),
        ] {
            let mut ask = question(hi());
            ask["params"]["tools"] = json!([{ "name": "look", "inputSchema": { "type": "object" } }]);
            if let Some(choice) = &choice {
                ask["params"]["toolChoice"] = choice.clone();
            }
            let params = heard(version, &ask).await;
            assert_eq!(params.tool_choice.and_then(|c| c.mode), expected, "{version}: {choice:?}");
            assert_eq!(params.tools.unwrap()[0].name, "look");
        }
        let mut ask = question(hi());
        ask["params"]["toolChoice"] = json!({ "mode": "maybe" });
        assert!(ask_client(sampler().sampling_tools(true), version, &ask).await.is_err(), "{version}");
    }
}

/// Messages have a role and content, binary content is base64 with a MIME type; nobody sends or takes others.
#[tokio::test]
async fn line_307_messages() {
    for &version in revisions(..) {
        for (block, good) in [
            (ContentBlock::image("AAEC", "image/png"), true),
            (ContentBlock::image("%%%%", "image/png"), false),
            (ContentBlock::image("AAEC", ""), false),
        ] {
            let ask = CreateMessageParams::new(vec![SamplingMessage::user(block.clone())], 9);
            let (asked, _) = ask_tool(asking(ask), version, able(), answer()).await;
            assert_eq!(asked.len(), usize::from(good), "{version}: {block:?}");
            if good {
                let expected = json!({ "role": "user", "content": block });
                assert_eq!(asked[0]["params"]["messages"][0], expected, "{version}");
            }
        }
        let text = json!({ "type": "text", "text": "hi" });
        for wrong in
            [json!({ "role": "system", "content": text }), json!({ "content": text }), json!({ "role": "user" })]
        {
            let refused = ask_client(sampler(), version, &question(json!([wrong]))).await;
            assert!(refused.is_err(), "{version}: {wrong}");
        }
        // A server does not take an answer without a role or a model.
        for wrong in [json!({ "role": "assistant", "content": text }), json!({ "model": "m", "content": text })] {
            let (_, answered) = ask_tool(asking(plain()), version, able(), wrong.clone()).await;
            assert!(answered.get("error").is_some(), "{version}: {wrong}");
        }
    }
}

/// Content may be one block or a list since 2025-11-25, in questions and answers. Before, there is one block, and a
/// list of several is sent by neither side.
#[tokio::test]
async fn line_308_one_block_or_many() {
    let text = |t: &str| json!({ "type": "text", "text": t });
    let two = json!([text("a"), text("b")]);
    for &version in revisions(..) {
        let many = revisions("2025-11-25"..).contains(&version);
        for (content, blocks) in [(text("a"), 1), (json!([text("a")]), 1), (two.clone(), 2)] {
            let params = heard(version, &question(json!([{ "role": "user", "content": content }]))).await;
            assert_eq!(params.messages[0].content.blocks().len(), blocks, "{version}: {content}");
            let answer = json!({ "role": "assistant", "model": "m", "content": content });
            let (_, answered) = ask_tool(asking(plain()), version, able(), answer).await;
            assert!(answered["result"]["content"][0]["text"].as_str().unwrap().starts_with('a'), "{version}");
        }
        let blocks = vec![ContentBlock::text("a"), ContentBlock::text("b")];
        let ask = CreateMessageParams::new(vec![SamplingMessage::user(blocks.clone())], 9);
        let (asked, _) = ask_tool(asking(ask), version, able(), answer()).await;
        assert_eq!(asked.len(), usize::from(many), "{version}");
        for content in [SamplingContent::from(blocks), SamplingContent::from(using("1"))] {
            let expected = json!(content);
            let builder = client(version).on_sample(move |_| {
                let content = content.clone();
                async move {
                    let mut result = CreateMessageResult::new("m", "");
                    result.content = content;
                    Ok(result)
                }
            });
            let answered = ask_client(builder, version, &question(hi())).await;
            assert_eq!(answered.ok().map(|a| a["content"].clone()), many.then_some(expected), "{version}");
        }
    }
}

/// A server that waits for a sample keeps nothing of the conversation: neither in memory, nor in what it hands out.
#[tokio::test]
async fn line_309_nothing_is_retained() {
    let alive = Arc::new(());
    let held = alive.clone();
    let ask = move |ctx: Ctx| {
        let held = held.clone();
        async move {
            let messages = vec![SamplingMessage::user("a very private thought")];
            let said = ctx.sample("q", CreateMessageParams::new(messages, 9)).await.map(|s| s.model);
            drop(held);
            said
        }
    };
    let server = Server::new("s", "1").tool(tool("ask", ask)).build();
    let before = Arc::strong_count(&alive);
    let mut wire = open(server, STATELESS, able()).await;
    let asked = wire.request("tools/call", json!({ "name": "ask" })).await["result"].take();
    assert_eq!(Arc::strong_count(&alive), before, "the handler is gone between the rounds");
    let state = asked["requestState"].as_str().unwrap();
    let bytes = base64_text(state);
    assert!(bytes.contains("asked") && !bytes.contains("private"), "{bytes}");
}

/// What a text in base64 for URLs says.
fn base64_text(text: &str) -> String {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'-' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for c in text.bytes() {
        (bits, count) = ((bits << 6 | u32::from(digit(c))) & 0xFFFF, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
