//! Frames as tables: the parsed message, or the error that answers it.

use super::*;

/// A parsed frame in one line.
fn shown(frame: Result<Frame, Malformed>) -> String {
    match frame {
        Ok(Frame::Single(message)) => message_shown(&message),
        Ok(Frame::Batch(all)) => {
            let all: Vec<_> = all.iter().map(|m| m.as_ref().map_or_else(malformed_shown, message_shown)).collect();
            format!("[{}]", all.join("; "))
        }
        Err(malformed) => malformed_shown(&malformed),
    }
}

fn message_shown(message: &Message) -> String {
    let id_shown = |id: &RequestId| serde_json::to_string(id).unwrap();
    match &message.body {
        Body::Request { id, method, params } => format!("request {} {method} {}", id_shown(id), params.text().as_str()),
        Body::Notification { method, params } => format!("notification {method} {}", params.text().as_str()),
        Body::Response { id, outcome } => {
            let id = id.as_ref().map_or("-".to_owned(), id_shown);
            match outcome {
                Ok(result) => format!("result {id} {}", result.as_str()),
                Err(error) => format!("error {id} {} {}", error.code, error.message),
            }
        }
    }
}

fn malformed_shown(malformed: &Malformed) -> String {
    let id = malformed.id.as_ref().map_or("-".to_owned(), |id| serde_json::to_string(id).unwrap());
    format!("{} {id} {}", malformed.error.code, malformed.error.message)
}

#[track_caller]
fn check(frame: &str, expected: &str) {
    let frame = frame.replace("V", r#""jsonrpc":"2.0""#);
    let found = shown(read(frame.clone().into(), Bounds::default()));
    assert_eq!(found, expected, "{frame}");
}

#[test]
fn messages_are_parsed() {
    for (frame, expected) in [
        (r#"{V,"id":1,"method":"tools/call","params":{"name":"add"}}"#, r#"request 1 tools/call {"name":"add"}"#),
        (
            " { V , \"id\" : -7 , \"method\" : \"x/y\" , \"params\" : { \"a\" : [ ] } } ",
            r#"request -7 x/y { "a" : [ ] }"#,
        ),
        (r#"{V,"id":"a\"b","method":"x"}"#, r#"request "a\"b" x {}"#),
        (r#"{V,"id":-0,"method":"x"}"#, "request 0 x {}"),
        (
            r#"{"\u006asonrpc":"2.0","\u0069d":1,"m\u0065thod":"\u0070ing","p\u0061rams":{"a":1}}"#,
            r#"request 1 ping {"a":1}"#,
        ),
        (r#"{V,"id":1,"method":"x","params":null,"other":{"id":2}}"#, "request 1 x {}"),
        (r#"{V,"method":"notifications/initialized"}"#, "notification notifications/initialized {}"),
        (r#"{V,"method":"x","params":{"a":1}}"#, r#"notification x {"a":1}"#),
        (r#"{V,"method":"x","params":[1]}"#, "notification x {}"),
        (r#"{V,"method":"x","params":{"a":1,"a":2}}"#, "notification x {}"),
        (r#"{V,"id":1,"result":{"a":1}}"#, r#"result 1 {"a":1}"#),
        (r#"{V,"id":1,"result":null}"#, "result 1 null"),
        (r#"{V,"id":1,"error":{"code":-1,"message":"no"}}"#, "error 1 -1 no"),
        (r#"{V,"id":null,"error":{"code":-1,"message":"no"}}"#, "error - -1 no"),
        (r#"{V,"error":{"code":-1,"message":"no"}}"#, "error - -1 no"),
    ] {
        check(frame, expected);
    }
}

#[test]
fn malformed_messages_are_answered() {
    for (frame, expected) in [
        ("", "-32700 - the message is not valid JSON: the text ends where a value should be at byte 0"),
        ("7", "-32600 - a message must be a JSON object"),
        ("tru", "-32700 - the message is not valid JSON: expected a value at byte 0"),
        (
            r#"{V,"id":1,"method":"x"} {"#,
            "-32700 - the message is not valid JSON: more text after the value at byte 38",
        ),
        (r#"{V,"id":7,"method":"x",}"#, "-32700 7 the message is not valid JSON: expected a key in quotes at byte 37"),
        (r#"{"id":1,"method":"x"}"#, "-32600 1 `jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "-32600 1 `jsonrpc` must be \"2.0\""),
        (r#"{V,V,"id":1,"method":"x"}"#, "-32600 1 `jsonrpc` appears twice"),
        (r#"{V,"id":1,"id":2,"method":"x"}"#, "-32600 1 `id` appears twice"),
        (r#"{V,"id":1,"method":"x","method":"x"}"#, "-32600 1 `method` appears twice"),
        (r#"{V,"id":1,"method":"x","params":{},"params":{}}"#, "-32600 1 `params` appears twice"),
        (r#"{V,"id":1,"result":{},"result":{}}"#, "-32600 1 `result` appears twice"),
        (r#"{V,"id":1,"error":{},"error":{}}"#, "-32600 1 `error` appears twice"),
        (r#"{V,"id":null,"method":"x"}"#, "-32600 - `id` must not be null"),
        (r#"{V,"id":null,"result":{}}"#, "-32600 - `id` must not be null"),
        (r#"{V,"id":null,"method":"x","error":{"code":-1,"message":"no"}}"#, "-32600 - `id` must not be null"),
        (r#"{V,"id":1.5,"method":"x"}"#, "-32600 - `id` must be a string or an integer"),
        (r#"{V,"id":99999999999999999999,"method":"x"}"#, "-32600 - `id` must be a string or an integer"),
        (r#"{V,"id":{},"method":"x"}"#, "-32600 - `id` must be a string or an integer"),
        (r#"{V,"id":1,"method":2}"#, "-32600 1 `method` must be a string"),
        (r#"{V,"id":1,"method":"x","params":[1]}"#, "-32600 1 `params` must be an object"),
        (r#"{V,"id":1,"method":"x","params":{"a":1,"a":2}}"#, "-32600 1 `params`: `a` appears twice"),
        (r#"{V,"id":1,"method":"x","result":{}}"#, "-32600 1 a request cannot have `result` or `error`"),
        (r#"{V,"id":1,"result":{},"error":{}}"#, "-32600 1 a response has either `result` or `error`, not both"),
        (r#"{V,"result":{}}"#, "-32600 - a response with a `result` needs an `id`"),
        (r#"{V,"id":1}"#, "-32600 1 a message needs a `method`, a `result` or an `error`"),
        (
            r#"{V,"id":1,"error":{"code":"x"}}"#,
            "-32600 1 `error` needs an integer `code` and a string `message`: invalid type: string \"x\", expected i32 \
             at line 1 column 11",
        ),
    ] {
        check(frame, expected);
    }
    let found = read(Bytes::from_static(b"{\"id\":1,\"method\":\"\xff\"}"), Bounds::default());
    assert_eq!(shown(found), "-32700 1 the message is not valid UTF-8 (byte 18)");
}

#[test]
fn batches_are_parsed_one_by_one() {
    for (frame, expected) in [
        (r#"[{V,"id":1,"method":"x"}]"#, "[request 1 x {}]"),
        (
            r#" [ {V,"method":"y","params":{"a":1}} , 7, {"jsonrpc":"1.0","id":3,"method":"x"} ] "#,
            "[notification y {\"a\":1}; -32600 - a message must be a JSON object; -32600 3 `jsonrpc` must be \"2.0\"]",
        ),
        ("[]", "-32600 - the batch is empty"),
        (r#"[{V,"id":1,"method":"x"}"#, "-32700 - the message is not valid JSON: expected `,` or `]` at byte 38"),
        (r#"[{V,"id":1,"method":}]"#, "-32700 1 the message is not valid JSON: expected a value at byte 34"),
        (
            r#"[{V,"id":1,"method":"x"}] 7"#,
            "-32700 - the message is not valid JSON: more text after the value at byte 40",
        ),
    ] {
        check(frame, expected);
    }
}

/// Each frame is nested as deeply as the number says; the scanner counts from the frame on.
#[test]
fn nesting_is_counted_from_the_frame() {
    for (depth, frame) in [
        (1, r#"{V,"id":1,"method":"x"}"#),
        (2, r#"{V,"id":1,"method":"x","params":{}}"#),
        (2, r#"{V,"id":1,"method":"x","\u0070arams":{}}"#),
        (2, r#"{V,"id":1,"method":"x","other":[]}"#),
        (2, r#"{V,"id":1,"method":"x","\u006fther":[]}"#),
        (2, r#"{V,"id":1,"result":{}}"#),
        (3, r#"{V,"id":1,"method":"x","params":{"a":[]}}"#),
        (3, r#"{V,"id":1,"method":"x","params":{"_meta":{}}}"#),
        (4, r#"{V,"id":1,"method":"x","params":{"_meta":{"a":[]}}}"#),
        (4, r#"{V,"id":1,"method":"x","params":{"a":[[]]}}"#),
        (2, r#"[{V,"id":1,"method":"x"}]"#),
        (3, r#"[{V,"id":1,"method":"x","params":{}}]"#),
        (4, r#"[{V,"id":1,"method":"x","params":{"_meta":{}}}]"#),
    ] {
        let frame = frame.replace("V", r#""jsonrpc":"2.0""#);
        for (limit, expected) in [(depth, true), (depth - 1, false)] {
            let found = read(frame.clone().into(), Bounds::new(limit, 1000));
            assert_eq!(found.is_ok(), expected, "{frame} in {limit}: {found:?}");
        }
    }
}

#[test]
fn a_malformed_frame_has_its_beginning_and_the_request_that_it_answers() {
    let long = format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(300));
    for (frame, answers, excerpt) in [
        (r#"{"id":1,"result":{}}"#, Some(RequestId::Number(1)), 20),
        (r#"{"id":"a","error":}"#, Some(RequestId::from("a")), 19),
        (r#"{"id":1,"method":"x"}"#, None, 21),
        (r#"{"method":"x"}"#, None, 14),
        ("x", None, 1),
        (&long, Some(RequestId::Number(1)), 256),
    ] {
        let malformed = read(frame.to_owned().into(), Bounds::default()).unwrap_err();
        assert_eq!(malformed.answers(), answers.as_ref(), "{frame}");
        assert_eq!(malformed.excerpt, frame[..excerpt], "{frame}");
    }
}

fn params(text: &str) -> Params {
    Params::from_text(JsonText::new(text.to_owned()).unwrap()).unwrap()
}

#[test]
fn members_of_parameters_are_found() {
    let all = params(r#" {"name":"a\"b","plain":"ab","number":7,"none":null,"\u006beyed":[1]} "#);
    assert_eq!(all.size(), all.text().as_str().len());
    assert!(all.size() > 60 && all.text().as_str().starts_with('{') && all.text().as_str().ends_with('}'));
    let keys: Vec<_> = all.iter().map(|(key, value)| format!("{key}={}", value.as_str())).collect();
    assert_eq!(keys, [r#"name="a\"b""#, r#"plain="ab""#, "number=7", "none=null", "keyed=[1]"]);
    for (key, value) in [("plain", Some(r#""ab""#)), ("keyed", Some("[1]")), ("none", Some("null")), ("other", None)] {
        assert_eq!(all.get(key).as_ref().map(JsonText::as_str), value, "{key}");
        assert_eq!(all.has(key), value.is_some(), "{key}");
    }
    let strings = [("name", Ok(Some("a\"b"))), ("plain", Ok(Some("ab"))), ("none", Ok(None)), ("other", Ok(None))];
    let wrong = ("number", Err("`number`: invalid type: integer `7`, expected a string"));
    for (key, value) in strings.into_iter().chain([wrong]) {
        let found = all.read_str(key);
        assert_eq!(found.as_ref().map(Option::as_deref).map_err(|e| &*e.message), value, "{key}");
        let found: Result<Option<String>, _> = all.read_opt(key);
        assert_eq!(found.as_ref().map(Option::as_deref).map_err(|e| &*e.message), value, "{key}");
    }
    assert!(matches!(all.read_str("plain"), Ok(Some(Cow::Borrowed(_)))), "not copied");
    for (key, value) in [
        ("number", Ok(7)),
        ("none", Err("`none` is missing")),
        ("other", Err("`other` is missing")),
        ("plain", Err("`plain`: invalid type: string \"ab\", expected u8")),
    ] {
        let found: Result<u8, _> = all.read(key);
        assert_eq!(found.map_err(|e| (e.code, e.message)), value.map_err(|e| (-32602, e.to_owned())), "{key}");
    }
}

#[test]
fn parameters_are_parsed_as_a_whole() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Point {
        x: u8,
    }
    assert_eq!(params(r#"{"x":3,"y":4}"#).parse(), Ok(Point { x: 3 }));
    assert_eq!(params("{}").parse::<Point>(), Err(RpcError::invalid_params("missing field `x`")));
}

#[test]
fn only_objects_are_parameters() {
    for (text, expected) in [
        ("[]", Err("expected an object at byte 0")),
        (r#"{"a":1,"a":2}"#, Err("`a` appears twice at byte 0")),
        ("{}", Ok("{}")),
        (r#"{"a":1}"#, Ok(r#"{"a":1}"#)),
    ] {
        let found = Params::from_text(JsonText::new(text).unwrap());
        let found = found.as_ref().map(|found| found.text().as_str()).map_err(ToString::to_string);
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn meta_is_an_object() {
    for (text, expected) in [
        ("{}", Ok(None)),
        (r#"{"other":{"x":1},"last":{"z":3}}"#, Ok(None)),
        (r#"{"other":{"x":1},"_meta":{"y":2},"last":{"z":3}}"#, Ok(Some(r#"{"y":2}"#))),
        (r#"{"\u005fmeta":{"y":2}}"#, Ok(Some(r#"{"y":2}"#))),
        (r#"{"_meta":7}"#, Err("expected an object")),
        (r#"{"_meta":{"y":1,"y":2}}"#, Err("`y` appears twice")),
    ] {
        let params = params(text);
        let found = params.meta().map(|meta| meta.map(|meta| meta.text().as_str()));
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        let valid = params.valid_meta().map(|meta| meta.text().as_str());
        assert_eq!(valid, expected.ok().flatten(), "{text}");
    }
    let params = params(r#"{"_meta":{"y":2,"name":"n"}}"#);
    let meta = params.meta().unwrap().unwrap();
    assert_eq!(meta.read_str("name").unwrap().as_deref(), Some("n"), "places are those of the part");
}

#[test]
fn pieces_have_a_length() {
    for (pieces, whole) in
        [(["", "", ""], ""), (["[", "1,2", "]"], "[1,2]"), (["[", "", "]"], "[]"), (["", "1", ""], "1")]
    {
        let [head, body, tail] = pieces.map(|piece| Bytes::from_static(piece.as_bytes()));
        let text = text::EncodedMessage::new(head, body, tail);
        assert_eq!((text.len(), text.is_empty()), (whole.len(), whole.is_empty()), "{pieces:?}");
        assert_eq!(text.into_bytes(), whole);
    }
    let text = text::EncodedMessage::from(Bytes::from_static(b"{}"));
    assert_eq!(text.into_pieces().concat(), b"{}");
}

#[test]
fn a_line_may_be_as_long_as_the_limit() {
    use line::{Line, Lines};
    let text = |line: Option<Line>| match line {
        Some(Line::Message(text)) => String::from_utf8(text.to_vec()).unwrap(),
        Some(Line::TooLong(line)) => format!("{} bytes", line.length),
        None => "-".to_owned(),
    };
    for (input, next, finished) in [
        ("abcd\n", "abcd", "-"),
        ("abcd\r\n", "abcd", "-"),
        ("abcd", "-", "abcd"),
        ("abcd\r", "-", "abcd"),
        ("abcde\n", "5 bytes", "-"),
        ("abcde", "-", "5 bytes"),
        ("abcdefg", "-", "7 bytes"),
        (" \n", "-", "-"),
    ] {
        let mut lines = Lines::new(4);
        lines.buffer().extend_from_slice(input.as_bytes());
        assert_eq!(text(lines.next()), next, "{input:?}");
        // The rest of a line above the limit, with room for its end, is not held.
        assert!(lines.buffer().len() <= 6, "{input:?}");
        assert_eq!(text(lines.finish()), finished, "{input:?}");
    }
}

#[test]
fn a_reused_buffer_holds_what_was_written() {
    for size in [0, 1, 100, (32 << 10) - 1, 32 << 10, 100 << 10] {
        for _ in 0..3 {
            let mut buffer = buffers::buffer(size);
            assert!(buffer.is_empty() && (size..=4 * size).contains(&buffer.capacity()), "{size}");
            buffer.resize(size, b'x');
            assert_eq!(buffers::bytes(buffer), vec![b'x'; size], "{size}");
        }
    }
}
