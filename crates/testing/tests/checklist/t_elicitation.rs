//! Lines 316 to 347: elicitation. Those about visits, and whom they are for, are in `t_visits`.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use couplet::{
    client::{Client, ClientBuilder, Elicitation},
    core::Limits,
    server::{Answer, Ctx, Server, ServerHandle, ToolError, prompt, resource, tool},
    types::{
        BooleanSchema, ElicitParams, ElicitSchema, EnumSchema, MultiEnumSchema, NumberSchema, ProtocolVersion,
        RpcError, StringSchema,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{
    RawServer, STATELESS, able, ask_client, ask_tool, client, converse, everything, is_refused, open, request,
    revisions, said, settle,
};

pub(crate) const FOURTH: ProtocolVersion = ProtocolVersion::V2025_11_25;
pub(crate) const ADDRESS: &str = "https://example.com/login?id=7&next=%2Fhome";

#[derive(Deserialize, JsonSchema)]
struct Person {
    /// Your name
    name: String,
    age: Option<u8>,
}

/// A server whose tool `ask` asks this, and says what came of it.
pub(crate) fn asking(params: ElicitParams) -> ServerHandle {
    let ask = move |ctx: Ctx| {
        let params = params.clone();
        async move {
            let result = ctx.elicit_with("q", params).await?;
            Ok::<_, RpcError>(serde_json::to_string(&result).unwrap())
        }
    };
    Server::new("s", "1").tool(tool("ask", ask)).build()
}

/// A server whose tool `ask` asks for a person.
pub(crate) fn asking_person() -> ServerHandle {
    let ask = |ctx: Ctx| async move {
        Ok::<_, RpcError>(match ctx.elicit::<Person>("q", "Who are you?").await? {
            Answer::Accepted(person) => format!("{} {:?}", person.name, person.age),
            Answer::Declined => "declined".to_owned(),
            Answer::Cancelled => "cancelled".to_owned(),
        })
    };
    Server::new("s", "1").tool(tool("ask", ask)).build()
}

/// A server whose tool `ask` asks to visit an address.
pub(crate) fn asking_to_visit(url: &'static str) -> ServerHandle {
    let ask = move |ctx: Ctx| async move {
        let answer = ctx.elicit_url("q", "Sign in there", url).await?;
        Ok::<_, RpcError>(format!("{answer:?}"))
    };
    Server::new("s", "1").tool(tool("ask", ask)).build()
}

pub(crate) fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {response}"))
}

pub(crate) fn form() -> Value {
    let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"] });
    json!({ "method": "elicitation/create", "params": { "message": "Sure?", "requestedSchema": schema } })
}

pub(crate) fn visit() -> Value {
    let params = json!({ "mode": "url", "message": "Go", "url": ADDRESS, "elicitationId": "e1" });
    json!({ "method": "elicitation/create", "params": params })
}

pub(crate) fn yes() -> ClientBuilder {
    Client::new("c", "1").on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
}

pub(crate) fn visitor() -> ClientBuilder {
    Client::new("c", "1").on_elicit_url(|ask| async move { ask.accept_url() })
}

/// Keeps what the callbacks for forms and visits are asked, and declines.
pub(crate) fn hearing(heard: &Arc<Mutex<Vec<Elicitation>>>) -> ClientBuilder {
    let (forms, visits) = (heard.clone(), heard.clone());
    Client::new("c", "1")
        .on_elicit(move |ask| {
            forms.lock().unwrap().push(ask.clone());
            async move { ask.decline() }
        })
        .on_elicit_url(move |ask| {
            visits.lock().unwrap().push(ask.clone());
            async move { ask.decline() }
        })
}

/// A client declares what it has callbacks for. The third revision has forms only, said by an empty object.
#[tokio::test]
async fn line_316_declared() {
    for &version in revisions("2025-06-18"..) {
        let both = yes().on_elicit_url(|ask| async move { ask.accept_url() });
        let plain = version == ProtocolVersion::V2025_06_18;
        for (builder, later, third) in [
            (yes(), Some(json!({ "form": {} })), Some(json!({}))),
            (visitor(), Some(json!({ "url": {} })), None),
            (both, Some(json!({ "form": {}, "url": {} })), Some(json!({}))),
            (Client::new("c", "1"), None, None),
        ] {
            let raw =
                RawServer::speaking(version, everything(), |m| m.get("id").map(|_| said(m, "")).into_iter().collect());
            let client = builder.versions([version]).connect(raw.clone()).await.unwrap();
            client.call("t", ()).await.unwrap();
            let declared = match version {
                STATELESS => {
                    &raw.seen_of("tools/call")[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
                }
                _ => &raw.seen_of("initialize")[0]["params"]["capabilities"],
            };
            assert_eq!(declared.get("elicitation").cloned(), if plain { third } else { later }, "{version}");
        }
        // For a server, an empty object means forms.
        let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
        let (asked, _) = ask_tool(asking_person(), version, json!({ "elicitation": {} }), accepted).await;
        assert_eq!(asked.len(), 1, "{version}");
    }
}

/// A server asks in no way that the client did not declare.
#[tokio::test]
async fn line_317_no_undeclared_mode() {
    for &version in revisions("2025-11-25"..) {
        let nothing = json!({ "action": "cancel" });
        for (server, can, asked) in [
            (asking_person(), json!({}), 0),
            (asking_person(), json!({ "elicitation": { "url": {} } }), 0),
            (asking_person(), json!({ "elicitation": { "form": {} } }), 1),
            (asking_to_visit(ADDRESS), json!({}), 0),
            (asking_to_visit(ADDRESS), json!({ "elicitation": {} }), 0),
            (asking_to_visit(ADDRESS), json!({ "elicitation": { "form": {} } }), 0),
            (asking_to_visit(ADDRESS), json!({ "elicitation": { "url": {} } }), 1),
        ] {
            let (questions, answered) = ask_tool(server, version, can.clone(), nothing.clone()).await;
            assert_eq!(questions.len(), asked, "{version}: {can}");
            assert_eq!(is_refused(&answered), asked == 0, "{version}: {answered}");
        }
    }
}

/// A client answers a mode that it did not declare with -32602.
#[tokio::test]
async fn line_318_undeclared_mode_is_refused() {
    assert_eq!(ask_client(yes(), FOURTH, &visit()).await.unwrap_err()["code"], -32602);
    assert_eq!(ask_client(visitor(), FOURTH, &form()).await.unwrap_err()["code"], -32602);
    let mut unknown = form();
    unknown["params"]["mode"] = json!("video");
    assert_eq!(ask_client(yes(), FOURTH, &unknown).await.unwrap_err()["code"], -32602);
}

/// A question without a mode is a form.
#[tokio::test]
async fn line_319_no_mode_means_form() {
    for &version in revisions("2025-11-25"..) {
        for mode in [None, Some("form")] {
            let mut ask = form();
            if let Some(mode) = mode {
                ask["params"]["mode"] = json!(mode);
            }
            let expected = json!({ "action": "accept", "content": { "yes": true } });
            assert_eq!(ask_client(yes(), version, &ask).await.unwrap(), expected, "{version}: {mode:?}");
        }
    }
}

/// A form is a flat object of plain fields; a server does not ask with anything else.
#[tokio::test]
async fn line_320_forms_are_flat() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only asked for")]
    struct Nested {
        person: Person,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only asked for")]
    struct Listed {
        names: Vec<String>,
    }
    fn asks<T: serde::de::DeserializeOwned + JsonSchema + Send + 'static>() -> ServerHandle {
        let ask = |ctx: Ctx| async move { ctx.elicit::<T>("q", "?").await.map(|_| "asked") };
        Server::new("s", "1").tool(tool("ask", ask)).build()
    }
    let by_hand = |schema: Value| asking(ElicitParams::form("?", &ElicitSchema::new()).requested_schema(schema));
    let of = |field: Value| json!({ "type": "object", "properties": { "a": field } });
    for &version in revisions("2025-06-18"..) {
        for server in [
            asks::<Nested>(),
            asks::<Listed>(),
            asks::<String>(),
            by_hand(json!({ "type": "string" })),
            by_hand(json!({ "properties": {} })),
            by_hand(of(json!({ "type": "object", "properties": {} }))),
            by_hand(of(json!({ "type": "array", "items": { "type": "string" } }))),
            by_hand(of(json!({ "type": ["string", "null"] }))),
            by_hand(of(json!({ "$ref": "#/$defs/A" }))),
            by_hand(of(json!({}))),
        ] {
            let (asked, answered) = ask_tool(server, version, able(), json!({ "action": "cancel" })).await;
            assert!(asked.is_empty(), "{version}: {asked:?}");
            assert_eq!(answered["error"]["code"], -32603, "{version}: {answered}");
        }
        let flat = ElicitSchema::new()
            .required("text", StringSchema::new().min_length(1))
            .required("number", NumberSchema::new())
            .optional("integer", NumberSchema::integer())
            .optional("flag", BooleanSchema::new().default_value(true))
            .optional("one", EnumSchema::titled([("a", "A"), ("b", "B")]));
        let (asked, _) =
            ask_tool(asking(ElicitParams::form("?", &flat)), version, able(), json!({ "action": "cancel" })).await;
        let fields = asked[0]["params"]["requestedSchema"]["properties"].as_object().unwrap().clone();
        for (name, kind) in
            [("text", "string"), ("number", "number"), ("integer", "integer"), ("flag", "boolean"), ("one", "string")]
        {
            assert_eq!(fields[name]["type"], kind, "{version}");
        }
        // Several of a list can be asked for since 2025-11-25.
        let several = ElicitSchema::new().required("some", MultiEnumSchema::new(["a", "b"]));
        let (asked, _) =
            ask_tool(asking(ElicitParams::form("?", &several)), version, able(), json!({ "action": "cancel" })).await;
        let knows_several = version != ProtocolVersion::V2025_06_18;
        assert_eq!(asked.len(), usize::from(knows_several), "{version}");
        // What need not be filled in is left out where it cannot be asked for.
        let optional = ElicitSchema::new().required("text", StringSchema::new());
        let optional = optional.optional("some", MultiEnumSchema::new(["a", "b"]));
        let (asked, _) =
            ask_tool(asking(ElicitParams::form("?", &optional)), version, able(), json!({ "action": "cancel" })).await;
        let fields = asked[0]["params"]["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(fields.contains_key("some"), knows_several, "{version}");
    }
}

/// A form carries a message and a schema; a visit its mode, a message and an address, and in one revision an id.
#[tokio::test]
async fn line_321_what_questions_carry() {
    for &version in revisions("2025-11-25"..) {
        let (asked, _) = ask_tool(asking_person(), version, able(), json!({ "action": "cancel" })).await;
        let params = asked[0]["params"].as_object().unwrap();
        assert_eq!((&params["message"], &params["mode"]), (&json!("Who are you?"), &json!("form")), "{version}");
        assert_eq!(params["requestedSchema"]["required"], json!(["name"]));
        assert!(!params.contains_key("url") && !params.contains_key("elicitationId"), "{version}");
        let (asked, _) = ask_tool(asking_to_visit(ADDRESS), version, able(), json!({ "action": "cancel" })).await;
        let mut params = asked[0]["params"].as_object().unwrap().clone();
        assert_eq!(params.remove("elicitationId").is_some(), version == FOURTH, "{version}");
        let expected = json!({ "mode": "url", "message": "Sign in there", "url": ADDRESS });
        assert_eq!(Value::from(params), expected, "{version}");
        let empty = ElicitParams::default();
        let (asked, answered) = ask_tool(asking(empty), version, able(), json!({ "action": "cancel" })).await;
        assert!(asked.is_empty() && answered["error"]["code"] == -32603, "{version}: a form needs a schema");
    }
}

/// The library asks the person nothing by itself: what a handler does not ask is not asked, whatever the client can.
pub(crate) async fn check_nothing_is_asked(version: ProtocolVersion) {
    let server = Server::new("s", "1")
        .tool(tool("a", |_: Ctx| "done"))
        .prompt(prompt("p", || "text"))
        .resource(resource("a://b", || "text"));
    let mut wire = open(server.build(), version, able()).await;
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "a" })),
        ("prompts/get", json!({ "name": "p" })),
        ("resources/read", json!({ "uri": "a://b" })),
    ] {
        let answer = wire.request(method, params).await;
        assert_ne!(answer["result"]["resultType"], "input_required", "{version}: {method}");
    }
    assert!(wire.ready().is_empty(), "{version}");
}

/// Where there is no way for secrets, nothing turns a visit, which is made for them, into a form.
#[tokio::test]
async fn line_322_nothing_sensitive() {
    let version = ProtocolVersion::V2025_06_18;
    check_nothing_is_asked(version).await;
    let (asked, answered) = ask_tool(asking_to_visit(ADDRESS), version, able(), json!({ "action": "accept" })).await;
    assert!(asked.is_empty() && is_refused(&answered), "{asked:?}");
}

/// Secrets have a way of their own, a visit, and it never becomes a form, also not for a client that has only forms.
/// A field has no format that would hide a password while it is typed.
#[tokio::test]
async fn line_323_no_secrets_in_forms() {
    #[derive(Deserialize, JsonSchema)]
    struct Login {
        #[schemars(extend("format" = "password"))]
        #[expect(dead_code, reason = "only asked for")]
        password: String,
    }
    for &version in revisions("2025-11-25"..) {
        check_nothing_is_asked(version).await;
        let forms = json!({ "elicitation": { "form": {} } });
        let (asked, answered) = ask_tool(asking_to_visit(ADDRESS), version, forms, json!({ "action": "accept" })).await;
        assert!(asked.is_empty() && is_refused(&answered), "{version}: {asked:?}");
        let ask = |ctx: Ctx| async move { ctx.elicit::<Login>("q", "?").await.map(|_| "asked") };
        let server = Server::new("s", "1").tool(tool("ask", ask)).build();
        let (asked, _) = ask_tool(server, version, able(), json!({ "action": "cancel" })).await;
        let field = &asked[0]["params"]["requestedSchema"]["properties"]["password"];
        assert!(field.get("format").is_none(), "{version}: {field}");
    }
}

/// The callback knows which server asks, because each connection has its own; it sees the message, the form and the
/// host before anything happens, and can agree, decline, cancel, and fill in what it likes.
#[tokio::test]
async fn line_324_what_the_callback_sees() {
    for &version in revisions("2025-06-18"..) {
        for label in ["the bank", "the shop"] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let show = seen.clone();
            let builder = Client::new("c", "1").on_elicit(move |ask| {
                let fields = ask.schema().unwrap().unwrap().properties.keys().collect::<Vec<_>>().join(",");
                show.lock().unwrap().push(format!("{label} asks: {} {fields}", ask.message()));
                async move { ask.accept(json!({ "yes": false })) }
            });
            let answer = ask_client(builder, version, &form()).await.unwrap();
            assert_eq!(answer["content"]["yes"], false, "{version}: the person chooses");
            assert_eq!(*seen.lock().unwrap(), [format!("{label} asks: Sure? yes")], "{version}");
        }
        for (action, builder) in [
            ("decline", Client::new("c", "1").on_elicit(|ask| async move { ask.decline() })),
            ("cancel", Client::new("c", "1").on_elicit(|ask| async move { ask.cancel() })),
        ] {
            let answer = ask_client(builder, version, &form()).await.unwrap();
            assert_eq!(answer, json!({ "action": action }), "{version}");
        }
    }
    for &version in revisions("2025-11-25"..) {
        let heard = Arc::default();
        ask_client(hearing(&heard), version, &visit()).await.unwrap();
        let ask = heard.lock().unwrap().remove(0);
        assert_eq!((ask.url(), ask.url_host()), (Some(ADDRESS), Some("example.com")), "{version}");
    }
}

/// What is filled in beforehand is told, field by field, to be shown in the form.
#[tokio::test]
async fn line_325_defaults() {
    for &version in revisions("2025-11-25"..) {
        let mut ask = form();
        ask["params"]["requestedSchema"] = json!({ "type": "object", "properties": {
            "name": { "type": "string", "default": "Ada" },
            "age": { "type": "integer", "default": 30 },
            "ratio": { "type": "number", "default": 0.5 },
            "sure": { "type": "boolean", "default": true },
            "color": { "type": "string", "enum": ["red", "green"], "default": "green" },
            "some": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "default": ["b"] },
            "none": { "type": "string" },
        }, "required": ["name", "age"] });
        let builder = Client::new("c", "1").on_elicit(|ask| async move { ask.accept(ask.defaults()) });
        let answer = ask_client(builder, version, &ask).await.unwrap();
        let expected = json!({ "name": "Ada", "age": 30, "ratio": 0.5, "sure": true, "color": "green", "some": ["b"] });
        assert_eq!(answer["content"], expected, "{version}");
    }
}

/// What is filled in is checked against the form on both sides: the client does not send what does not fit, and the
/// server's handler does not get it.
#[tokio::test]
async fn line_326_content_is_checked() {
    let schema = ElicitSchema::new()
        .required("name", StringSchema::new().min_length(2).max_length(5))
        .optional("age", NumberSchema::integer().minimum(1.0).maximum(9.0))
        .optional("sure", BooleanSchema::new())
        .optional("color", EnumSchema::titled([("r", "Red"), ("g", "Green")]));
    let contents = [
        (json!({ "name": "Ada" }), true),
        (json!({ "name": "Ada", "age": 9, "sure": false, "color": "g" }), true),
        (json!({}), false),
        (json!({ "name": "A" }), false),
        (json!({ "name": "Adalbert" }), false),
        (json!({ "name": 5 }), false),
        (json!({ "name": "Ada", "age": 0 }), false),
        (json!({ "name": "Ada", "age": 10 }), false),
        (json!({ "name": "Ada", "age": 1.5 }), false),
        (json!({ "name": "Ada", "sure": "yes" }), false),
        (json!({ "name": "Ada", "color": "Green" }), false),
    ];
    for &version in revisions("2025-06-18"..) {
        for (content, good) in &contents {
            let answer = json!({ "action": "accept", "content": content });
            let (_, answered) = ask_tool(asking(ElicitParams::form("?", &schema)), version, able(), answer).await;
            assert_eq!(answered.get("result").is_some(), *good, "{version}: {content}: {answered}");
            assert!(*good || answered["error"]["code"] == -32602, "{version}: {answered}");
            let filled = content.clone();
            let builder = Client::new("c", "1").on_elicit(move |ask| {
                let filled = filled.clone();
                async move { ask.accept(filled) }
            });
            let mut ask = form();
            ask["params"]["requestedSchema"] = json!(schema);
            let sent = ask_client(builder, version, &ask).await;
            assert_eq!(sent.is_ok(), *good, "{version}: {content}: {sent:?}");
        }
    }
}

/// A server takes no and nothing for an answer, asks again when there is none, and believes no name that a client
/// gives itself.
#[tokio::test]
async fn line_342_no_answer_is_an_answer() {
    for (answer, expected) in [("decline", "declined"), ("cancel", "cancelled")] {
        let (_, answered) = ask_tool(asking_person(), STATELESS, able(), json!({ "action": answer })).await;
        assert_eq!(text(&answered), expected);
    }
    let mut wire = open(asking_person(), STATELESS, able()).await;
    let first = wire.request("tools/call", json!({ "name": "ask" })).await["result"].take();
    for absent in [json!({}), json!({ "other": { "action": "accept" } })] {
        let again = json!({ "name": "ask", "requestState": first["requestState"], "inputResponses": absent });
        let second = wire.request("tools/call", again).await["result"].take();
        assert_eq!(second["inputRequests"], first["inputRequests"], "the same question again");
    }
    for wrong in [json!(null), json!("yes"), json!({ "action": "maybe" }), json!({})] {
        let again = json!({ "name": "ask", "requestState": first["requestState"], "inputResponses": { "q": wrong } });
        let answer = wire.request("tools/call", again).await;
        assert_eq!(answer["error"]["code"], -32602, "{wrong}: {answer}");
    }
    let ask = |ctx: Ctx| format!("{:?}", ctx.call().principal());
    let mut wire = open(Server::new("s", "1").tool(tool("who", ask)).build(), STATELESS, able()).await;
    let root = json!({ "io.modelcontextprotocol/clientInfo": { "name": "root", "version": "1" }, "sub": "root" });
    let answer = wire.request("tools/call", json!({ "name": "who", "_meta": root })).await;
    assert_eq!(text(&answer), "None");
}

/// A callback can count and refuse, and a server cannot have more questions open than the limit.
#[tokio::test]
async fn line_343_rate_limits() {
    for &version in revisions("2025-06-18"..="2025-11-25") {
        let count = Arc::new(AtomicUsize::new(0));
        let allowed = count.clone();
        let builder = client(version).on_elicit(move |ask| {
            let late = allowed.fetch_add(1, Ordering::SeqCst) >= 2;
            async move { if late { ask.cancel() } else { ask.accept(json!({ "yes": true })) } }
        });
        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let _client = builder.connect(raw.clone()).await.unwrap();
        for n in 0..5 {
            raw.push(&request(format!("q{n}"), "elicitation/create", &form()["params"]));
        }
        settle().await;
        let actions: Vec<_> = (0..5)
            .map(|n| raw.seen().into_iter().find(|m| m["id"] == format!("q{n}")).unwrap()["result"]["action"].take())
            .collect();
        assert_eq!(actions, ["accept", "accept", "cancel", "cancel", "cancel"], "{version}");
    }
    assert!(Limits::default().questions <= 1000);
}

/// The person can say no to any question, also after having said yes to earlier ones of the same call, and is told
/// what is asked and why.
#[tokio::test]
async fn line_344_declining_at_any_time() {
    for &version in revisions("2025-06-18"..) {
        let ask = |ctx: Ctx| async move {
            let first = ctx.elicit::<Person>("first", "Who are you? It is printed on the ticket.").await?.accepted()?;
            ctx.elicit::<Person>("second", "Who travels with you?").await?.accepted()?;
            Ok::<_, ToolError>(first.name)
        };
        let server = Server::new("s", "1").tool(tool("ask", ask)).build();
        let mut wire = open(server, version, able()).await;
        let (asked, answered) = converse(&mut wire, version, ("tools/call", json!({ "name": "ask" })), |question| {
            match question["params"]["message"].as_str() {
                Some(why) if why.contains("ticket") => json!({ "action": "accept", "content": { "name": "Ada" } }),
                _ => json!({ "action": "decline" }),
            }
        })
        .await;
        assert_eq!((asked.len(), text(&answered)), (2, "the user declined"), "{version}");
        assert_eq!(answered["result"]["isError"], true, "{version}");
        let heard = Arc::default();
        ask_client(hearing(&heard), version, &form()).await.unwrap();
        assert_eq!(heard.lock().unwrap()[0].message(), "Sure?", "{version}");
    }
}

/// A handler can tell yes, no and nothing apart, and what comes with a no is not looked at.
#[tokio::test]
async fn line_346_three_answers() {
    for &version in revisions("2025-06-18"..) {
        let content = json!({ "name": "Ada", "age": 36 });
        for (action, expected) in [("accept", "Ada Some(36)"), ("decline", "declined"), ("cancel", "cancelled")] {
            let answer = json!({ "action": action, "content": content });
            let (_, answered) = ask_tool(asking_person(), version, able(), answer.clone()).await;
            assert_eq!(text(&answered), expected, "{version}");
            let schema = ElicitSchema::new().required("name", StringSchema::new());
            let (_, answered) = ask_tool(asking(ElicitParams::form("?", &schema)), version, able(), answer).await;
            assert_eq!(text(&answered).contains("Ada"), action == "accept", "{version}: {answered}");
        }
    }
}
