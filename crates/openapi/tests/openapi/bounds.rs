//! What a document, a redirect or a busy API cannot do.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet_openapi::{Document, OpenApi};
use serde_json::{Map, Value, json};

use crate::kit::{Answer, Api, call, client, document, echoed};

fn one(server: &str, method: &str) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": { "title": "One", "version": "1.0" },
        "servers": [{ "url": server }],
        "paths": { "/x": { method: { "operationId": "x" } } },
    })
}

#[tokio::test]
async fn documents_and_redirects_do_not_lead_to_private_addresses() {
    let api = Api::echo().await;
    let by_document = client(OpenApi::new(document(one(&api.url(), "get")))).await;
    let refused = call(&by_document, "x", json!({})).await;
    assert!(refused.failed() && refused.all_text().contains("does not allow"), "{}", refused.all_text());
    for server in ["http://169.254.169.254", "https://10.0.0.1", "https://[::1]", "http://example.com"] {
        let client = client(OpenApi::new(document(one(server, "get")))).await;
        assert!(call(&client, "x", json!({})).await.failed(), "{server}");
    }
    let target = api.url();
    let redirecting = Api::start(move |_| Some(Answer(302, vec![("location", target.clone())], vec![]))).await;
    let built =
        OpenApi::new(document(one("https://example.com", "get"))).base_url(&redirecting.url()).expect("it is a URL");
    let refused = call(&client(built).await, "x", json!({})).await;
    assert!(refused.failed(), "{}", refused.all_text());
    assert_eq!((redirecting.seen().len(), api.seen().len()), (1, 0));
    let allowed = client(OpenApi::new(document(one(&api.url(), "get"))).allow_private()).await;
    assert_eq!(echoed(&allowed, "x", json!({})).await["target"], "/x");
}

#[tokio::test]
async fn a_request_that_changes_something_is_not_redirected_elsewhere() {
    let other = Api::echo().await;
    let target = other.url();
    let api = Api::start(move |_| Some(Answer(307, vec![("location", target.clone())], vec![]))).await;
    let built = OpenApi::new(document(one(&api.url(), "post"))).allow_private();
    let result = call(&client(built).await, "x", json!({})).await;
    assert!(result.failed() && result.all_text().contains("another origin"), "{}", result.all_text());
    assert_eq!(other.seen().len(), 0);
    let circle = Api::start(|_| Some(Answer(302, vec![("location", "/x".to_owned())], vec![]))).await;
    let built = OpenApi::new(document(one(&circle.url(), "get"))).allow_private();
    assert!(call(&client(built).await, "x", json!({})).await.all_text().contains("redirects too often"));
    assert_eq!(circle.seen().len(), 4);
}

#[tokio::test]
async fn busy_apis_are_retried_when_they_say() {
    for (status, method, retry_after, expected) in [
        (429, "get", Some("0"), 3),
        (429, "post", Some("0"), 3),
        (503, "get", Some("0"), 3),
        (503, "post", Some("0"), 1),
        (503, "get", None, 1),
        (500, "get", Some("0"), 1),
        (429, "get", Some("3600"), 1),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = count.clone();
        let api = Api::start(move |_| {
            let is_busy = counter.fetch_add(1, Ordering::SeqCst) < 2;
            let headers = retry_after.map(|value| ("retry-after", value.to_owned())).into_iter().collect();
            is_busy.then(|| Answer(status, headers, b"busy".to_vec()))
        })
        .await;
        let client = client(OpenApi::new(document(one(&api.url(), method))).allow_private()).await;
        let result = call(&client, "x", json!({})).await;
        assert_eq!(count.load(Ordering::SeqCst), expected, "{status} {method} {retry_after:?}");
        assert_eq!(result.failed(), expected == 1, "{status} {method} {retry_after:?}");
    }
}

/// A generator of JSON that is likely to be misread as a schema (xorshift).
struct Junk(u64);

impl Junk {
    const KEYS: [&'static str; 30] = [
        "type",
        "properties",
        "items",
        "required",
        "enum",
        "const",
        "default",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "maxItems",
        "uniqueItems",
        "pattern",
        "format",
        "allOf",
        "oneOf",
        "anyOf",
        "not",
        "$ref",
        "additionalProperties",
        "nullable",
        "readOnly",
        "description",
        "discriminator",
        "x-mcp-header",
        "if",
        "$schema",
        "examples",
    ];
    const WORDS: [&'static str; 14] = [
        "object",
        "array",
        "string",
        "integer",
        "number",
        "boolean",
        "null",
        "file",
        "binary",
        "#/components/schemas/A",
        "#/nowhere",
        "a b",
        "^[a-z]+$",
        "(?=x)",
    ];

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).expect("it is small")
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.next(if depth == 0 { 5 } else { 12 }) {
            0 | 1 => Self::WORDS[self.next(Self::WORDS.len())].into(),
            2 => json!(i64::try_from(self.next(20)).expect("it is small") - 10),
            3 => json!(self.next(2) == 0),
            4 => Value::Null,
            5 => (0..self.next(4)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let members = (0..self.next(6))
                    .map(|_| (Self::KEYS[self.next(Self::KEYS.len())].to_owned(), self.value(depth - 1)));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

/// Schemas of documents never break a server: `Server::tool` would panic.
#[test]
fn no_schema_breaks_a_server() {
    let (mut junk, mut refused) = (Junk(0x2545_f491_4f6c_dd1d), 0);
    for round in 0..1_500 {
        let media = if round % 2 == 0 { "application/json" } else { "multipart/form-data" };
        let value = json!({
            "openapi": "3.1.0",
            "servers": [{ "url": "https://example.com" }],
            "paths": { "/x/{id}": { "post": {
                "parameters": [
                    { "name": "id", "in": "path", "schema": junk.value(4) },
                    { "name": "q", "in": "query", "schema": junk.value(4), "description": junk.value(1) },
                    junk.value(3),
                ],
                "requestBody": { "content": { media: { "schema": junk.value(5), "encoding": junk.value(3) } } },
                "responses": { "200": { "content": { "application/json": { "schema": junk.value(5) } } }, "4XX": junk.value(2) },
                "security": junk.value(3),
                "tags": junk.value(2),
            } } },
            "components": { "schemas": { "A": junk.value(4) } },
        });
        match OpenApi::new(document(value.clone())).into_server() {
            Ok(server) => drop(server.build()),
            Err(error) if error.to_string().contains("is not in this document") => refused += 1,
            Err(error) => panic!("{error}: {value}"),
        }
    }
    assert!(refused < 300, "{refused} documents have a parameter that refers to nothing");
}

#[test]
fn documents_that_are_none_are_refused() {
    for (text, expected) in [
        ("", "empty"),
        ("{", "invalid JSON"),
        ("{}", "expected an OpenAPI document"),
        ("openapi: 4.0.0", "the version is `4.0.0`"),
        ("swagger: '1.2'", "the version is `1.2`"),
        ("a: [", "invalid YAML"),
    ] {
        let error = Document::parse(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let nowhere = json!({ "openapi": "3.0.0", "paths": { "/x": { "get": {} } } });
    let error = OpenApi::new(document(nowhere)).into_server().expect_err("it has no server").to_string();
    assert!(error.contains("set a base URL"), "{error}");
}
