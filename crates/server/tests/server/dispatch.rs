//! Requests and their answers, in every revision.

use couplet_core::{Reply, ResultBody, Revision, types::ProtocolVersion};
use couplet_server::{
    Extension, NotFound, Server, ServerHandle, ToolError,
    extract::{Args, Path},
    prompt, resource,
    schemars::{self, JsonSchema},
    tool,
};
use couplet_types::{
    CallToolResult, ContentBlock, GetPromptResult, PromptArgument, PromptMessage, ResourceContents, RpcError,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::Client;

#[derive(Deserialize, JsonSchema)]
struct Count {
    n: u8,
}

fn object() -> Value {
    json!({ "type": "object" })
}

fn broken_image() -> ContentBlock {
    ContentBlock::image("!", "image/png")
}

fn tools(server: Server) -> Server {
    let structured = |fails: bool| {
        let mut result = CallToolResult::text("plain");
        result.is_error = fails.then_some(true);
        result
    };
    server
        .tool(tool("echo", |Args(count): Args<Count>| count.n.to_string()))
        .tool(tool("none", || "nothing"))
        .tool(tool("fails", || Err::<(), _>(ToolError::new("no"))))
        .tool(tool("refuses", || Err::<(), _>(RpcError::new(-5, "never"))))
        .tool(tool("panics", || -> String { panic!("at the handler") }))
        .tool(tool("unstructured", move || structured(false)).output_schema(object()))
        .tool(tool("failed", move || structured(true)).output_schema(object()))
        .tool(tool("image", broken_image))
        .tool(tool("limited", |Args(_): Args<Value>| "ok").input_schema(json!({
            "type": "object", "properties": { "n": { "type": "integer", "maximum": 3 } },
        })))
}

fn resources(server: Server) -> Server {
    let listing = || {
        let mut typed = ResourceContents::text("note://all", "typed");
        typed.mime_type = Some("text/css".to_owned());
        vec![ResourceContents::text("note://all", "plain"), typed]
    };
    server
        .resource(resource("note://{name}", |Path(name): Path<String>| name).complete_from("name", ["ada", "alan"]))
        .resource(resource("note://fixed", || "fixed"))
        .resource(resource("note://all", listing).mime_type("text/markdown"))
        .resource(resource("data://{a}/{b}", |Path((a, b)): Path<(String, String)>| a + &b).complete_from("a", ["x"]))
        .resource(resource("data://broken", || ResourceContents::blob("data://broken", "!")))
        .resource(resource("data://fails", || Err::<String, _>(RpcError::new(-5, "never"))))
        .resource(resource("data://lost", || Err::<String, _>(NotFound)))
}

fn prompts(server: Server) -> Server {
    let embedded = |contents: ResourceContents| PromptMessage::user(ContentBlock::resource(contents));
    let attached = move || {
        let mut typed = ResourceContents::text("a:b", "t");
        typed.mime_type = Some("text/css".to_owned());
        let all = [ResourceContents::text("a:b", "t"), ResourceContents::blob("a:b", "AAAA"), typed];
        all.map(embedded).to_vec()
    };
    server
        .prompt(prompt("greet", |Args(count): Args<Count>| format!("{}!", count.n)).complete_from("n", ["1", "10"]))
        .prompt(prompt("described", || "hi").description("of the prompt"))
        .prompt(
            prompt("own", || {
                let mut result = GetPromptResult::new(vec![PromptMessage::user(ContentBlock::text("hi"))]);
                result.description = Some("of the result".to_owned());
                result
            })
            .description("of the prompt"),
        )
        .prompt(prompt("attached", attached))
        .prompt(prompt("image", broken_image))
        .prompt(prompt("refuses", || Err::<String, _>(RpcError::new(-5, "never"))))
        .prompt(
            prompt("two", || "hi")
                .arguments([PromptArgument::new("plain"), PromptArgument::new("known")])
                .complete_from("known", ["k"]),
        )
}

fn server() -> ServerHandle {
    let done = |value: Value| Reply::Complete(ResultBody::value(&value));
    let clock = Extension::new("com.example/clock")
        .method("clock/now", move |_, _| async move { done(json!({ "now": 0 })) })
        .open_method("clock/zone", move |_, _| async move { done(json!({ "zone": "UTC" })) });
    let inside = Server::new("inside", "1").tool(tool("deep", || "deep"));
    prompts(resources(tools(Server::new("s", "1")))).extension(clock).mount("in", inside).build()
}

/// An answer in one line: the error, or the members that are the same in every revision.
fn shown(mut answer: Value) -> String {
    if let Some(message) = answer["message"].as_str() {
        return format!("{} {message}", answer["code"]);
    }
    for key in ["_meta", "resultType", "ttlMs", "cacheScope"] {
        answer.as_object_mut().unwrap().remove(key);
    }
    answer.to_string()
}

async fn check(client: &mut Client, version: ProtocolVersion, method: &str, params: Value, expected: &str) {
    let found = shown(client.ask(method, params.clone()).await);
    assert_eq!(found, expected, "{version}: {method} {params}");
}

fn text(text: &str) -> String {
    json!({ "content": [{ "text": text, "type": "text" }] }).to_string()
}

fn failed(text: &str) -> String {
    json!({ "content": [{ "text": text, "type": "text" }], "isError": true }).to_string()
}

#[tokio::test]
async fn tools_are_called() {
    let server = server();
    for &version in ProtocolVersion::ALL {
        let mut client = Client::speaking(&server, version, &json!({})).await;
        let wrong = |what: &str| match Revision::of(version).wrong_arguments_are_results() {
            true => failed(what),
            false => format!("-32602 {what}"),
        };
        let unstructured =
            "-32603 the result of the tool: the tool has an output schema, so there must be structured content";
        for (params, expected) in [
            (json!({ "name": "echo", "arguments": { "n": 5 } }), text("5")),
            (json!({ "name": "echo", "arguments": {} }), wrong("argument `n` is missing (required)")),
            (json!({ "name": "echo", "arguments": null }), wrong("argument `n` is missing (required)")),
            (json!({ "name": "echo" }), wrong("argument `n` is missing (required)")),
            (json!({ "name": "echo", "arguments": [5] }), "-32602 `arguments` must be an object".to_owned()),
            (json!({ "name": "none", "arguments": null }), text("nothing")),
            (json!({ "name": "none" }), text("nothing")),
            (json!({ "name": "in_deep" }), text("deep")),
            (json!({ "name": "limited", "arguments": { "n": 3 } }), text("ok")),
            (
                json!({ "name": "limited", "arguments": { "n": 4 } }),
                wrong("argument `n`: expected a number of at most 3, got the number 4"),
            ),
            (json!({ "name": "fails" }), failed("no")),
            (json!({ "name": "refuses" }), "-5 never".to_owned()),
            (json!({ "name": "panics" }), "-32603 the handler failed unexpectedly".to_owned()),
            (json!({ "name": "unstructured" }), unstructured.to_owned()),
            (json!({ "name": "failed" }), failed("plain")),
            (json!({ "name": "image" }), "-32603 the result of the tool: the data is not base64".to_owned()),
            (json!({ "name": "ech" }), "-32602 there is no tool `ech`; did you mean `echo`?".to_owned()),
            (json!({}), "-32602 `name` is missing".to_owned()),
            (json!({ "name": 7 }), "-32602 `name`: invalid type: integer `7`, expected a string".to_owned()),
        ] {
            check(&mut client, version, "tools/call", params, &expected).await;
        }
    }
}

#[tokio::test]
async fn resources_are_read() {
    let server = server();
    let contents = |uri: &str, all: &[(&str, Option<&str>)]| {
        let one = |(text, mime): &(&str, Option<&str>)| match mime {
            Some(mime) => json!({ "uri": uri, "text": text, "mimeType": mime }),
            None => json!({ "uri": uri, "text": text }),
        };
        json!({ "contents": all.iter().map(one).collect::<Vec<_>>() }).to_string()
    };
    for &version in ProtocolVersion::ALL {
        let mut client = Client::speaking(&server, version, &json!({})).await;
        let code = Revision::of(version).resource_not_found("x").code;
        let lost = |uri: &str| format!("{code} resource `{uri}` does not exist");
        for (uri, expected) in [
            (json!("note://fixed"), contents("note://fixed", &[("fixed", None)])),
            (json!("note://ada"), contents("note://ada", &[("ada", None)])),
            (
                json!("note://all"),
                contents("note://all", &[("plain", Some("text/markdown")), ("typed", Some("text/css"))]),
            ),
            (json!("data://x/y"), contents("data://x/y", &[("xy", None)])),
            (json!("data://x"), lost("data://x")),
            (json!("data://lost"), lost("data://lost")),
            (json!("data://broken"), "-32603 the contents of the resource: the data is not base64".to_owned()),
            (json!("data://fails"), "-5 never".to_owned()),
            (json!(7), "-32602 `uri`: invalid type: integer `7`, expected a string".to_owned()),
            (json!(null), "-32602 `uri` is missing".to_owned()),
        ] {
            check(&mut client, version, "resources/read", json!({ "uri": uri }), &expected).await;
        }
    }
}

#[tokio::test]
async fn prompts_are_rendered() {
    let server = server();
    let message = |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
    let embedded = |key: &str, data: &str, mime: &str| {
        let resource = json!({ "uri": "a:b", key: data, "mimeType": mime });
        json!({ "role": "user", "content": { "type": "resource", "resource": resource } })
    };
    let attached = [
        embedded("text", "t", "text/plain"),
        embedded("blob", "AAAA", "application/octet-stream"),
        embedded("text", "t", "text/css"),
    ];
    for &version in ProtocolVersion::ALL {
        let mut client = Client::speaking(&server, version, &json!({})).await;
        for (params, expected) in [
            (json!({ "name": "greet", "arguments": { "n": "5" } }), json!({ "messages": [message("5!")] }).to_string()),
            (json!({ "name": "greet" }), "-32602 argument `n` is missing (required)".to_owned()),
            (json!({ "name": "greet", "arguments": [] }), "-32602 `arguments` must be an object".to_owned()),
            (
                json!({ "name": "described" }),
                json!({ "description": "of the prompt", "messages": [message("hi")] }).to_string(),
            ),
            (
                json!({ "name": "own" }),
                json!({ "description": "of the result", "messages": [message("hi")] }).to_string(),
            ),
            (json!({ "name": "attached" }), json!({ "messages": attached }).to_string()),
            (json!({ "name": "image" }), "-32603 the messages of the prompt: the data is not base64".to_owned()),
            (json!({ "name": "refuses" }), "-5 never".to_owned()),
            (json!({ "name": "gret" }), "-32602 there is no prompt `gret`; did you mean `greet`?".to_owned()),
            (json!({}), "-32602 `name` is missing".to_owned()),
        ] {
            check(&mut client, version, "prompts/get", params, &expected).await;
        }
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    let server = server();
    let of_prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
    let of_template = |uri: &str| json!({ "type": "ref/resource", "uri": uri });
    let values = |values: &[&str]| json!({ "completion": { "values": values } });
    let none = json!({ "completion": { "values": [] } }).to_string();
    for &version in ProtocolVersion::ALL {
        let mut client = Client::speaking(&server, version, &json!({})).await;
        for (reference, argument, value, expected) in [
            (of_prompt("greet"), "n", "1", values(&["1", "10"]).to_string()),
            (of_prompt("two"), "known", "", values(&["k"]).to_string()),
            (of_prompt("two"), "plain", "", none.clone()),
            (of_prompt("two"), "plan", "", "-32602 there is no argument `plan`; did you mean `plain`?".to_owned()),
            (of_prompt("tw"), "plain", "", "-32602 there is no prompt `tw`; did you mean `two`?".to_owned()),
            (of_template("note://{name}"), "name", "al", values(&["alan"]).to_string()),
            (of_template("data://{a}/{b}"), "a", "", values(&["x"]).to_string()),
            (of_template("data://{a}/{b}"), "b", "", none.clone()),
            (of_template("data://{a}/{b}"), "long", "", "-32602 there is no argument `long`".to_owned()),
            (
                of_template("note://{nam}"),
                "name",
                "",
                "-32602 there is no resource template `note://{nam}`; did you mean `note://{name}`?".to_owned(),
            ),
            (
                json!({ "type": "x" }),
                "a",
                "",
                "-32602 `ref`: `x` reference: unknown variant `x`, expected `ref/prompt` or `ref/resource`".to_owned(),
            ),
        ] {
            let params = json!({ "ref": reference, "argument": { "name": argument, "value": value } });
            check(&mut client, version, "completion/complete", params, &expected).await;
        }
    }
}

#[tokio::test]
async fn lists_have_their_items() {
    let server = server();
    for &version in ProtocolVersion::ALL {
        let mut client = Client::speaking(&server, version, &json!({})).await;
        for (method, member, key, expected) in [
            ("tools/list", "tools", "name", &["echo", "fails", "in_deep"][..]),
            ("prompts/list", "prompts", "name", &["described", "greet", "two"]),
            ("resources/list", "resources", "uri", &["note://all", "note://fixed"]),
            ("resources/templates/list", "resourceTemplates", "uriTemplate", &["data://{a}/{b}", "note://{name}"]),
        ] {
            let list = client.ask(method, json!({})).await;
            let keys: Vec<_> = list[member].as_array().unwrap().iter().filter_map(|item| item[key].as_str()).collect();
            for item in expected {
                assert!(keys.contains(item), "{version}: {method} lacks {item}: {keys:?}");
            }
        }
        check(
            &mut client,
            version,
            "tools/list",
            json!({ "cursor": "x" }),
            "-32602 `cursor` is not one of the list of tools",
        )
        .await;
    }
}

#[tokio::test]
async fn methods_of_extensions_need_the_extension() {
    let server = server();
    for &version in ProtocolVersion::ALL {
        let declared = json!({ "extensions": { "com.example/clock": {} } });
        let lacks = Revision::of(version).missing_extension("com.example/clock");
        let lacks = format!("{} {}", lacks.code, lacks.message);
        for (capabilities, now) in [(declared, r#"{"now":0}"#), (json!({}), &lacks)] {
            let mut client = Client::speaking(&server, version, &capabilities).await;
            check(&mut client, version, "clock/now", json!({}), now).await;
            check(&mut client, version, "clock/zone", json!({}), r#"{"zone":"UTC"}"#).await;
            check(&mut client, version, "clock/set", json!({}), "-32601 method `clock/set` is not available").await;
        }
    }
}
