//! Each style, body and hostile value.

use serde_json::json;

use super::*;
use crate::{Document, OpenApi};

/// The only operation of a document with this path item.
fn operation_of(path: &str, method: &str, operation: Value) -> Operation {
    let document = json!({
        "openapi": "3.0.3",
        "servers": [{ "url": "https://api.example.com/v1" }],
        "paths": { path: { method: operation } },
        "components": { "securitySchemes": {
            "key": { "type": "apiKey", "in": "query", "name": "api_key" },
            "session": { "type": "apiKey", "in": "cookie", "name": "session" },
        } },
    });
    let document = Document::from_value(document).expect("it is a document");
    let (mut operations, skipped) = OpenApi::new(document).operations();
    assert_eq!((operations.len(), skipped), (1, vec![]));
    operations.remove(0)
}

fn parameter(place: &str, style: &str, explode: bool) -> Operation {
    let path = if place == "path" { "/x/{color}/y" } else { "/x" };
    let parameter = json!({
        "name": "color", "in": place, "style": style, "explode": explode, "required": place == "path", "schema": {},
    });
    operation_of(path, "get", json!({ "parameters": [parameter] }))
}

fn build(operation: &Operation, arguments: Value) -> Result<ApiRequest, ArgumentError> {
    operation.request(arguments.as_object().expect("arguments are an object"))
}

/// The table of the specification, with `blue,black,brown` and `R=100,G=200,B=150` (members are sorted here).
#[test]
fn each_style_is_written_as_specified() {
    let list = json!(["blue", "black", "brown"]);
    let object = json!({ "R": 100, "G": 200, "B": 150 });
    for (place, style, explode, one, list_text, object_text) in [
        ("path", "simple", false, "blue", "blue,black,brown", "B,150,G,200,R,100"),
        ("path", "simple", true, "blue", "blue,black,brown", "B=150,G=200,R=100"),
        ("path", "label", false, ".blue", ".blue,black,brown", ".B,150,G,200,R,100"),
        ("path", "label", true, ".blue", ".blue.black.brown", ".B=150.G=200.R=100"),
        ("path", "matrix", false, ";color=blue", ";color=blue,black,brown", ";color=B,150,G,200,R,100"),
        ("path", "matrix", true, ";color=blue", ";color=blue;color=black;color=brown", ";B=150;G=200;R=100"),
        ("query", "form", false, "color=blue", "color=blue,black,brown", "color=B,150,G,200,R,100"),
        ("query", "form", true, "color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"),
        (
            "query",
            "spaceDelimited",
            false,
            "color=blue",
            "color=blue%20black%20brown",
            "color=B%20150%20G%20200%20R%20100",
        ),
        ("query", "spaceDelimited", true, "color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"),
        (
            "query",
            "pipeDelimited",
            false,
            "color=blue",
            "color=blue%7Cblack%7Cbrown",
            "color=B%7C150%7CG%7C200%7CR%7C100",
        ),
        ("query", "pipeDelimited", true, "color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"),
        (
            "query",
            "deepObject",
            true,
            "color=blue",
            "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
            "color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100",
        ),
        ("header", "simple", false, "blue", "blue,black,brown", "B,150,G,200,R,100"),
        ("header", "simple", true, "blue", "blue,black,brown", "B=150,G=200,R=100"),
        ("cookie", "form", false, "color=blue", "color=blue,black,brown", "color=B,150,G,200,R,100"),
        ("cookie", "form", true, "color=blue", "color=blue,black,brown", "color=B,150,G,200,R,100"),
    ] {
        let operation = parameter(place, style, explode);
        for (value, expected) in [(json!("blue"), one), (list.clone(), list_text), (object.clone(), object_text)] {
            let request = build(&operation, json!({ "color": value })).expect("it can be built");
            let found = match place {
                "path" => request.path.trim_start_matches("/v1/x/").trim_end_matches("/y").to_owned(),
                "query" => request.query.clone(),
                "header" => request.headers["color"].to_str().expect("it is text").to_owned(),
                _ => request.cookies.join("; "),
            };
            assert_eq!(found, expected, "{place} {style} {explode} {value}");
        }
    }
}

#[test]
fn values_are_encoded_for_their_place() {
    let reserved = operation_of(
        "/x",
        "get",
        json!({ "parameters": [{ "name": "q", "in": "query", "allowReserved": true, "schema": { "type": "string" } }] }),
    );
    let request = build(&reserved, json!({ "q": "a/b?c:d&e=f#g+h;i%" })).expect("it can be built");
    assert_eq!(request.query, "q=a/b?c:d%26e%3Df%23g%2Bh%3Bi%25");
    let json = operation_of(
        "/x",
        "get",
        json!({ "parameters": [{ "name": "q", "in": "query", "content": { "application/json": { "schema": {} } } }] }),
    );
    assert_eq!(build(&json, json!({ "q": { "a": [1] } })).expect("it can be built").query, "q=%7B%22a%22%3A%5B1%5D%7D");
    let absent = build(&parameter("query", "form", true), json!({ "color": null })).expect("it can be built");
    assert_eq!(absent.url(), "https://api.example.com/v1/x");
    let fixed = operation_of(
        "/#Action=Run",
        "get",
        json!({ "parameters": [
            { "name": "Action", "in": "query", "required": true, "schema": { "type": "string", "enum": ["Run"] } },
        ] }),
    );
    assert_eq!(fixed.input_schema["properties"], json!({}));
    assert_eq!(build(&fixed, json!({})).expect("it can be built").url(), "https://api.example.com/v1/?Action=Run");
}

#[test]
fn content_that_is_not_json_is_text() {
    let operation = operation_of(
        "/x",
        "get",
        json!({ "parameters": [
            { "name": "q", "in": "query", "content": { "text/plain": { "schema": { "type": "string" } } } },
        ] }),
    );
    assert_eq!(build(&operation, json!({ "q": "a b" })).expect("it can be built").query, "q=a%20b");
}

#[test]
fn multipart_bodies_have_the_subtype_and_the_encoding_of_the_document() {
    let schema = json!({ "type": "object", "properties": {
        "picture": { "type": "string", "contentMediaType": "image/png", "contentEncoding": "base64" },
        "sound": { "contentMediaType": "audio/ogg" },
    } });
    let operation = body_of("multipart/related; type=text/plain", schema, json!({}));
    assert_eq!(operation.input_schema["properties"]["picture"]["type"], "string");
    assert_eq!(operation.input_schema["properties"]["sound"]["type"], "object");
    let (media_type, body) = text_body(&operation, json!({ "picture": "aGk=", "sound": { "base64": "aGk=" } }));
    assert!(media_type.starts_with("multipart/related; boundary=couplet-"), "{media_type}");
    assert!(body.contains("name=\"picture\"\r\n\r\naGk=\r\n"), "{body}");
    assert!(body.contains("\r\n\r\nhi\r\n"), "{body}");
}

#[test]
fn paths_stay_the_same_for_hostile_values() {
    let operation = parameter("path", "simple", false);
    for value in [
        json!(""),
        json!([]),
        json!([""]),
        json!({}),
        json!("."),
        json!(".."),
        json!("../admin"),
        json!("a/../b"),
        json!("..\\x"),
        json!("%2e%2e"),
        json!("a%2F..%2Fb"),
        json!("%252e%252e%252fadmin"),
        json!("%25252E%25252e"),
        json!([".."]),
        json!(null),
    ] {
        assert!(build(&operation, json!({ "color": value })).is_err(), "{value}");
    }
    assert!(build(&parameter("path", "label", false), json!({ "color": "." })).is_err());
    for (value, expected) in [
        ("a/b", "a%2Fb"),
        ("?x=1", "%3Fx%3D1"),
        ("#f", "%23f"),
        ("a b", "a%20b"),
        ("é", "%C3%A9"),
        ("...", "..."),
        ("a;b", "a%3Bb"),
        ("//evil.org", "%2F%2Fevil.org"),
        ("@evil.org", "%40evil.org"),
        ("\r\nHost: evil", "%0D%0AHost%3A%20evil"),
        ("%", "%25"),
    ] {
        let request = build(&operation, json!({ "color": value })).expect("it can be built");
        assert_eq!(request.path, format!("/v1/x/{expected}/y"));
    }
}

#[test]
fn headers_cookies_and_members_cannot_become_others() {
    let header = parameter("header", "simple", false);
    for value in ["a\r\nX-Other: b", "a\nb", "a\0b", "\u{7f}"] {
        assert!(build(&header, json!({ "color": value })).is_err(), "{value:?}");
    }
    let cookie = build(&parameter("cookie", "form", true), json!({ "color": { "session": "x; session=y" } }));
    assert_eq!(cookie.expect("it can be built").cookies, ["color=session,x%3B%20session%3Dy"]);
    let spread = operation_of(
        "/x",
        "get",
        json!({ "parameters": [
            { "name": "filter", "in": "query", "schema": { "type": "object" } },
            { "name": "page", "in": "query", "schema": { "type": "integer" } },
        ] }),
    );
    for member in ["api_key", "page"] {
        assert!(build(&spread, json!({ "filter": { member: "1" } })).is_err(), "{member}");
    }
    let request = build(&spread, json!({ "filter": { "a&page=2": "b&c" } })).expect("it can be built");
    assert_eq!(request.query, "a%26page%3D2=b%26c");
    // In the other styles that write members under their own names, and under composed ones; also a query of the path.
    for (style, name) in [("spaceDelimited", "api_key"), ("pipeDelimited", "page"), ("form", "action")] {
        let spread = operation_of(
            "/x?action=list",
            "get",
            json!({ "parameters": [
                { "name": "filter", "in": "query", "style": style, "explode": true, "schema": { "type": "object" } },
                { "name": "page", "in": "query", "schema": { "type": "integer" } },
            ] }),
        );
        assert!(build(&spread, json!({ "filter": { name: "1" } })).is_err(), "{style} {name}");
        let request = build(&spread, json!({ "filter": { "other": "1" } })).expect("it can be built");
        assert_eq!(request.query, "action=list&other=1", "{style}");
    }
    let deep = operation_of(
        "/x",
        "get",
        json!({ "parameters": [
            { "name": "filter", "in": "query", "style": "deepObject", "schema": { "type": "object" } },
            { "name": "filter[owner]", "in": "query", "schema": { "type": "string" } },
        ] }),
    );
    assert!(build(&deep, json!({ "filter": { "owner": "1" } })).is_err());
    assert!(build(&deep, json!({ "filter": { "name": "1" } })).is_ok());
    for name in ["Authorization", "cookie", "HOST", "Content-Length", "Transfer-Encoding"] {
        let operation = operation_of(
            "/x",
            "get",
            json!({ "parameters": [{ "name": name, "in": "header", "required": true, "schema": { "type": "string" } }] }),
        );
        assert_eq!(operation.input_schema["properties"], json!({}), "{name}");
    }
    let secret = operation_of(
        "/x",
        "get",
        json!({ "parameters": [{ "name": "api_key", "in": "query", "required": true, "schema": { "type": "string" } }] }),
    );
    assert_eq!(secret.input_schema["properties"], json!({}));
}

/// A generator of texts that are likely to break something (xorshift).
struct Hostile(u64);

impl Hostile {
    const PIECES: [&'static str; 28] = [
        "/",
        "\\",
        "..",
        ".",
        "%2e",
        "%2F",
        "?",
        "#",
        "&",
        "=",
        ";",
        ",",
        "\r\n",
        "\n",
        "\0",
        " ",
        "@",
        ":",
        "//",
        "http://evil.org",
        "[",
        "]",
        "\"",
        "é",
        "\u{202e}",
        "%",
        "a",
        "X-Evil: 1",
    ];

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).expect("it is small")
    }

    fn text(&mut self) -> String {
        (0..self.next(5)).map(|_| Self::PIECES[self.next(Self::PIECES.len())]).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.next(if depth == 0 { 4 } else { 7 }) {
            0..=2 => self.text().into(),
            3 => json!(self.next(100)),
            4 => (0..self.next(4)).map(|_| self.value(depth - 1)).collect(),
            5 => Value::Object((0..self.next(4)).map(|_| (self.text(), self.value(depth - 1))).collect()),
            _ => json!(self.next(2) == 0),
        }
    }
}

#[test]
fn no_argument_changes_anything_but_its_place() {
    let mut hostile = Hostile(0x9e37_79b9_7f4a_7c15);
    let styles = [
        ("path", "simple"),
        ("path", "label"),
        ("path", "matrix"),
        ("query", "form"),
        ("query", "spaceDelimited"),
        ("query", "pipeDelimited"),
        ("query", "deepObject"),
        ("header", "simple"),
        ("cookie", "form"),
    ];
    let mut built = 0;
    for round in 0..6_000 {
        let (place, style) = styles[round % styles.len()];
        let operation = parameter(place, style, round % 2 == 0);
        let value = hostile.value(2);
        let Ok(request) = build(&operation, json!({ "color": value })) else { continue };
        built += 1;
        let uri: http::Uri = request.url().parse().unwrap_or_else(|e| panic!("{value}: {e}"));
        assert_eq!(uri.scheme_str(), Some("https"), "{value}");
        assert_eq!(uri.authority().map(|a| a.as_str()), Some("api.example.com"), "{value}");
        assert!(!request.url().contains('#'), "{value}");
        let segments: Vec<&str> = uri.path().split('/').collect();
        match place {
            "path" => {
                assert_eq!(segments.len(), 5, "{value}: {}", uri.path());
                assert_eq!((segments[1], segments[2], segments[4]), ("v1", "x", "y"), "{value}");
                assert!(!matches!(segments[3], "" | "." | ".."), "{value}");
            }
            _ => assert_eq!(uri.path(), "/v1/x", "{value}"),
        }
        assert_eq!(uri.query().is_some(), !request.query.is_empty() && place == "query", "{value}");
        let others = request.headers.keys().filter(|name| !["accept", "color"].contains(&name.as_str())).count();
        assert_eq!(others, 0, "{value}");
        for cookie in &request.cookies {
            let (name, rest) = cookie.split_once('=').expect("a cookie has a value");
            assert_eq!(name, "color", "{value}");
            assert!(rest.bytes().all(|b| b.is_ascii_graphic() && b != b';'), "{value}");
        }
        let names = request.query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name);
        assert!(names.into_iter().all(|name| name != "api_key"), "{value}");
    }
    assert!(built > 2_000, "only {built} were built");
}

fn body_of(media_type: &str, schema: Value, encoding: Value) -> Operation {
    let content = json!({ media_type: { "schema": schema, "encoding": encoding } });
    operation_of("/x", "post", json!({ "requestBody": { "required": true, "content": content } }))
}

fn text_body(operation: &Operation, arguments: Value) -> (String, String) {
    let request = build(operation, arguments).expect("it can be built");
    let media_type = request.headers[CONTENT_TYPE].to_str().expect("it is text").to_owned();
    let body = String::from_utf8(request.body.expect("it has a body").to_vec()).expect("it is text");
    (media_type, body)
}

#[test]
fn each_kind_of_body_is_written() {
    let pet = json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } },
        "owner": { "type": "object", "properties": { "id": { "type": "integer" } } },
        "id": { "type": "integer", "readOnly": true },
    } });
    let arguments = json!({ "name": "a & b", "tags": ["x", "y"], "owner": { "id": 1 } });
    let json_body = body_of("application/json", pet.clone(), json!({}));
    assert_eq!(json_body.input_schema["required"], json!(["name"]));
    assert!(json_body.input_schema["properties"].get("id").is_none());
    let (media_type, body) = text_body(&json_body, arguments.clone());
    assert_eq!(
        (media_type.as_str(), serde_json::from_str::<Value>(&body).ok()),
        ("application/json", Some(arguments.clone()))
    );

    let form = "application/x-www-form-urlencoded";
    let (media_type, body) = text_body(&body_of(form, pet.clone(), json!({})), arguments.clone());
    assert_eq!((media_type.as_str(), body.as_str()), (form, "name=a%20%26%20b&owner=%7B%22id%22%3A1%7D&tags=x&tags=y"));
    let deep =
        json!({ "owner": { "style": "deepObject", "explode": true }, "tags": { "style": "form", "explode": false } });
    let (_, body) = text_body(&body_of(form, pet, deep), arguments);
    assert_eq!(body, "name=a%20%26%20b&owner%5Bid%5D=1&tags=x,y");

    let list = body_of("application/json", json!({ "type": "array", "items": { "type": "string" } }), json!({}));
    assert_eq!(text_body(&list, json!({ "body": ["a"] })).1, r#"["a"]"#);
    let plain = body_of("text/plain", json!({ "type": "string" }), json!({}));
    assert_eq!(text_body(&plain, json!({ "body": "hello" })), ("text/plain".to_owned(), "hello".to_owned()));
    let binary = body_of("application/octet-stream", json!({}), json!({}));
    let (media_type, body) = text_body(&binary, json!({ "body": { "base64": "aGk=", "media_type": "image/png" } }));
    assert_eq!((media_type.as_str(), body.as_str()), ("image/png", "hi"));
    for wrong in [json!({ "base64": "?" }), json!({}), json!({ "text": "a", "media_type": "a/b\r\nX: y" })] {
        assert!(build(&binary, json!({ "body": wrong })).is_err(), "{wrong}");
    }
}

#[test]
fn parts_of_a_form_cannot_break_out() {
    let upload = json!({ "type": "object", "properties": {
        "file": { "type": "string", "format": "binary" }, "note": { "type": "string" }, "meta": { "type": "object" },
    } });
    let operation = body_of("multipart/form-data", upload, json!({ "file": { "contentType": "image/png" } }));
    let file = json!({ "text": "PNG", "filename": "a\"\r\nX-Evil: 1" });
    let (media_type, body) = text_body(&operation, json!({ "file": file, "note": "--couplet", "meta": { "a": 1 } }));
    let boundary = media_type.strip_prefix("multipart/form-data; boundary=").expect("it has a boundary");
    assert_eq!(body.matches(&format!("--{boundary}\r\n")).count(), 3, "{body}");
    assert!(body.ends_with(&format!("--{boundary}--\r\n")), "{body}");
    let expected = "name=\"file\"; filename=\"a%22%0D%0AX-Evil: 1\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n";
    assert!(body.contains(expected), "{body}");
    assert!(body.contains("name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n"), "{body}");
    assert!(body.contains("name=\"note\"\r\n\r\n--couplet\r\n"), "{body}");
}

#[test]
fn arguments_of_one_name_are_told_apart() {
    let parameter =
        |place: &str| json!({ "name": "id", "in": place, "required": true, "schema": { "type": "string" } });
    let body = json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] });
    let operation = operation_of(
        "/x/{id}",
        "post",
        json!({
            "parameters": [parameter("header"), parameter("cookie"), parameter("query"), parameter("path")],
            "requestBody": { "required": true, "content": { "application/json": { "schema": body } } },
        }),
    );
    let arguments = json!({ "id": "1", "id_query": "2", "id_header": "3", "id_cookie": "4", "id_body": "5" });
    let request = build(&operation, arguments).expect("it can be built");
    assert_eq!((request.path.as_str(), request.query.as_str()), ("/v1/x/1", "id=2"));
    assert_eq!((request.headers["id"].to_str().ok(), request.cookies), (Some("3"), vec!["id=4".to_owned()]));
    assert_eq!(request.body.as_deref(), Some(&br#"{"id":"5"}"#[..]));
}
