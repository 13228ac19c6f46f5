//! Calls: every parameter style, body kind and kind of response, through a client and a real HTTP API.

use couplet_openapi::{Document, OpenApi};
use serde_json::{Value, json};

use crate::kit::{Answer, Api, call, client, document, echoed};

/// The document of the API: an operation for each place, style and body.
const SHAPES: &str = include_str!("shapes.yaml");

async fn shapes(api: &Api) -> couplet_client::Client {
    let document = Document::parse(SHAPES.as_bytes()).expect("it is a document");
    client(OpenApi::new(document).base_url(&format!("{}/api", api.url())).expect("it is a URL")).await
}

#[tokio::test]
async fn every_parameter_style_reaches_the_api() {
    let api = Api::echo().await;
    let client = shapes(&api).await;
    let (list, object) = (json!(["a b", "c/d"]), json!({ "x": "1&2", "y": "3" }));
    for (tool, arguments, expected) in [
        ("pathSimple", json!({ "value": list }), "/api/simple/a%20b,c%2Fd"),
        ("pathLabel", json!({ "value": list }), "/api/label/.a%20b.c%2Fd"),
        ("pathMatrix", json!({ "value": list }), "/api/matrix/;value=a%20b;value=c%2Fd"),
        ("queryForm", json!({ "list": list, "flat": list }), "/api/form?list=a%20b&list=c%2Fd&flat=a%20b,c%2Fd"),
        ("querySpace", json!({ "list": list }), "/api/space?list=a%20b%20c%2Fd"),
        ("queryPipe", json!({ "list": list }), "/api/pipe?list=a%20b%7Cc%2Fd"),
        ("queryDeep", json!({ "filter": object }), "/api/deep?filter%5Bx%5D=1%262&filter%5By%5D=3"),
        ("queryJson", json!({ "filter": { "x": 1 } }), "/api/json?filter=%7B%22x%22%3A1%7D"),
    ] {
        let seen = echoed(&client, tool, arguments.clone()).await;
        assert_eq!(
            (seen["method"].as_str(), seen["target"].as_str()),
            (Some("GET"), Some(expected)),
            "{tool} {arguments}"
        );
    }
    let seen =
        echoed(&client, "headersAndCookies", json!({ "X-List": list, "theme": "dark; admin=1", "count": 2 })).await;
    assert_eq!(seen["headers"]["x-list"], "a b,c/d");
    assert_eq!(seen["headers"]["cookie"], "theme=dark%3B%20admin%3D1; count=2");
}

#[tokio::test]
async fn every_kind_of_body_reaches_the_api() {
    let api = Api::echo().await;
    let client = shapes(&api).await;
    for (tool, arguments, media_type, expected) in [
        ("bodyJson", json!({ "name": "Rex", "age": 3 }), "application/json", r#"{"age":3,"name":"Rex"}"#),
        ("bodyList", json!({ "body": [1, 2] }), "application/json", "[1,2]"),
        (
            "bodyForm",
            json!({ "name": "a&b", "tags": ["x", "y"] }),
            "application/x-www-form-urlencoded",
            "name=a%26b&tags=x&tags=y",
        ),
        ("bodyText", json!({ "body": "hello" }), "text/plain", "hello"),
        ("bodyBytes", json!({ "body": { "base64": "aGVsbG8=" } }), "application/octet-stream", "hello"),
    ] {
        let seen = echoed(&client, tool, arguments).await;
        assert_eq!((seen["method"].as_str(), seen["target"].as_str()), (Some("POST"), Some("/api/body")), "{tool}");
        assert_eq!(seen["headers"]["content-type"], media_type, "{tool}");
        assert_eq!(seen["body"], expected, "{tool}");
    }
    let file = json!({ "text": "data", "filename": "a.txt", "media_type": "text/plain" });
    let seen = echoed(&client, "bodyParts", json!({ "note": "n", "file": file })).await;
    let media_type = seen["headers"]["content-type"].as_str().unwrap_or_default();
    assert!(media_type.starts_with("multipart/form-data; boundary="), "{media_type}");
    let body = seen["body"].as_str().unwrap_or_default();
    assert!(body.contains("name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\ndata"), "{body}");
    // An optional body that is left out is not sent.
    let seen = echoed(&client, "bodyOptional", json!({})).await;
    assert_eq!((seen["body"].as_str(), seen["headers"].get("content-type")), (Some(""), None));
}

#[tokio::test]
async fn arguments_are_checked_before_a_request_is_sent() {
    let api = Api::echo().await;
    let client = shapes(&api).await;
    for (tool, arguments, expected) in [
        ("bodyJson", json!({ "age": 3 }), "name"),
        ("bodyJson", json!({ "name": "Rex", "unknown": 1 }), "unknown"),
        ("pathSimple", json!({ "value": [".."] }), "`.` and `..`"),
        ("pathSimple", json!({ "value": [""] }), "must not be empty"),
        ("bodyBytes", json!({ "body": {} }), "`text` or `base64`"),
    ] {
        let result = call(&client, tool, arguments.clone()).await;
        assert!(result.failed() && result.all_text().contains(expected), "{tool} {arguments}: {}", result.all_text());
    }
    assert_eq!(api.seen().len(), 0);
}

fn responding() -> Value {
    let response =
        |schema: Value| json!({ "description": "ok", "content": { "application/json": { "schema": schema } } });
    let operation = |id: &str, ok: Value| json!({ "get": { "operationId": id, "responses": { "200": ok, "404": { "description": "There is no such pet." } } } });
    let pet = json!({ "type": "object", "properties": { "id": { "type": "integer" }, "name": { "type": "string" } } });
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Pets", "version": "1.0" },
        "paths": {
            "/pet": operation("getPet", response(pet.clone())),
            "/pets": operation("listPets", response(json!({ "type": "array", "items": pet }))),
            "/text": operation("getText", json!({ "description": "ok", "content": { "text/plain": {} } })),
            "/image": operation("getImage", json!({ "description": "ok", "content": { "image/png": {} } })),
            "/wrong": operation("getWrong", response(json!({ "type": "object", "properties": { "id": { "type": "integer" } } }))),
            "/empty": operation("getEmpty", response(json!({ "type": "object", "properties": { "id": { "type": "integer" } } }))),
            "/missing": operation("getMissing", response(json!({ "type": "object" }))),
            "/large": operation("getLarge", json!({ "description": "ok" })),
        },
    })
}

#[tokio::test]
async fn responses_become_structured_content_or_explained_errors() {
    let api = Api::start(|seen| {
        Some(match seen.target.as_str() {
            "/pet" => Answer::json(200, &json!({ "id": 1, "name": null, "more": [] })),
            "/pets" => {
                let text = br#" [{"id":12345678901234567890123}] "#.to_vec();
                Answer(200, vec![("content-type", "application/json; charset=utf-8".to_owned())], text)
            }
            "/text" => Answer(200, vec![("content-type", "text/plain".to_owned())], b"hello".to_vec()),
            "/image" => Answer(200, vec![("content-type", "image/png".to_owned())], vec![0x89, b'P']),
            "/wrong" => Answer::json(200, &json!({ "id": "one" })),
            "/empty" => Answer(204, vec![], vec![]),
            "/large" => Answer(200, vec![], vec![b'x'; 3_000]),
            _ => Answer::json(404, &json!({ "error": "gone" })),
        })
    })
    .await;
    let built = OpenApi::new(document(responding())).base_url(&api.url()).expect("it is a URL").max_response(2_000);
    let client = client(built).await;
    let structured = |result: &couplet_types::CallToolResult| {
        result.structured_content.as_ref().map(|raw| raw.parse::<Value>().expect("it is JSON"))
    };
    let pet = call(&client, "getPet", json!({})).await;
    assert_eq!(structured(&pet), Some(json!({ "id": 1, "name": null, "more": [] })));
    let pets = call(&client, "listPets", json!({})).await;
    // Numbers are those that the API wrote.
    let expected = r#"[{"id":12345678901234567890123}]"#;
    assert_eq!(pets.all_text(), expected);
    assert_eq!(pets.structured_content.map(|raw| raw.get().to_owned()), Some(format!(r#"{{"result":{expected}}}"#)));
    assert_eq!(call(&client, "getText", json!({})).await.all_text(), "hello");
    let image = serde_json::to_value(call(&client, "getImage", json!({})).await.content).expect("it is JSON");
    assert_eq!(image, json!([{ "type": "image", "data": "iVA=", "mimeType": "image/png" }]));
    assert_eq!(structured(&call(&client, "getEmpty", json!({})).await), Some(json!({})));
    for (tool, expected) in [
        ("getWrong", &["do not repeat it", "`/id` is not of the type `integer`", r#"{"id":"one"}"#][..]),
        ("getMissing", &["404", "There is no such pet.", r#"{"error":"gone"}"#]),
        ("getLarge", &["more than 2000 bytes", "ask for less"]),
    ] {
        let result = call(&client, tool, json!({})).await;
        assert!(result.failed(), "{tool}");
        for text in expected {
            assert!(result.all_text().contains(text), "{tool}: {}", result.all_text());
        }
    }
}

#[tokio::test]
async fn tools_say_what_they_are() {
    let built = OpenApi::new(Document::parse(SHAPES.as_bytes()).expect("it is a document"));
    let client = client(built.base_url("http://localhost:1").expect("it is a URL")).await;
    let tools = client.tools().await.expect("they are listed");
    let named = |name: &str| tools.iter().find(|tool| tool.name == name).expect("there is one");
    let hints = |name: &str| serde_json::to_value(named(name).annotations.clone()).expect("it is JSON");
    assert_eq!(hints("pathSimple"), json!({ "readOnlyHint": true, "openWorldHint": true }));
    assert_eq!(hints("bodyJson"), json!({ "destructiveHint": false, "openWorldHint": true }));
    assert_eq!(hints("removeAll"), json!({ "destructiveHint": true, "idempotentHint": true, "openWorldHint": true }));
    let paged = named("queryPaged").description.clone().unwrap_or_default();
    assert!(paged.ends_with("Returns one page: `per_page` sets its size, `page` selects the next one."), "{paged}");
    assert_eq!(named("queryPaged").title.as_deref(), Some("List things"));
    assert!(named("removeAll").description.as_deref().is_some_and(|text| text == "Deprecated. Remove all things"));
    assert!(tools.iter().any(|tool| tool.name == "get_unnamed_id"), "the method and the path are its name");
}
