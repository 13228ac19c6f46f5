//! What peers did to others: messages above the limit, bytes that are not text. `child_attacks` has what children do.
//! Each test is named after the point of the list that it belongs to.

use std::sync::Arc;

use couplet_core::{Channel, Connect, Connected, Error, ErrorKind, Event, Exchange, Limits, Transport};
use couplet_stdio::pipe;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

use crate::support::{Ears, Tools, answer, call, call_with, opening, request, soon};

/// The size of a message in these tests.
const MOST: usize = 100_000;

fn limits(message: usize) -> Limits {
    let mut limits = Limits::default();
    limits.message = message;
    limits
}

async fn connect(stream: DuplexStream, limits: Limits) -> Arc<dyn Channel> {
    let (reader, writer) = split(stream);
    let Connected { channel, driver } = pipe(reader, writer).connect(Ears::default().inbound(), limits).await.unwrap();
    tokio::spawn(driver);
    channel
}

/// A client of a server, each with its own limit.
async fn pair(server: usize, client: usize) -> Arc<dyn Channel> {
    let (near, far) = duplex(64 << 10);
    let (reader, writer) = split(far);
    tokio::spawn(pipe(reader, writer).serve(Arc::new(Tools::default()), limits(server)));
    connect(near, limits(client)).await
}

/// The error that a call is answered with.
async fn refusal(mut exchange: Exchange) -> (i32, String) {
    match soon(exchange.next()).await {
        Event::Answer(Err(error)) => (error.code, error.message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn attack_07_a_result_above_the_limit_is_an_error_for_its_call() {
    let channel = pair(MOST, 16 << 20).await;
    let (big, now) = (call(&*channel, "big"), call(&*channel, "now"));
    let (code, what) = refusal(big).await;
    assert_eq!(code, -32603);
    assert!(
        what.starts_with("the result has 1,048,") && what.ends_with(" bytes; a message may have 100,000"),
        "{what}"
    );
    assert!(answer(now).await.is_ok());
}

#[tokio::test]
async fn attack_07_an_answer_above_the_limit_fails_its_call() {
    let channel = pair(16 << 20, MOST).await;
    let (big, now) = (call(&*channel, "big"), call(&*channel, "now"));
    let error = answer(big).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let what = error.to_string();
    assert!(
        what.starts_with("the answer has 1,048,") && what.ends_with(" bytes; a message may have 100,000"),
        "{what}"
    );
    assert!(answer(now).await.is_ok());
}

#[tokio::test]
async fn attack_07_an_argument_above_the_limit_is_not_sent() {
    let channel = pair(16 << 20, MOST).await;
    let arguments = json!({ "text": "x".repeat(MOST) });
    let error = answer(call_with(&*channel, "now", &arguments)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let what = error.to_string();
    assert!(what.starts_with("the request `tools/call` has 100,"), "{what}");
    assert!(what.ends_with(" bytes; a message may have 100,000"), "{what}");
    assert!(answer(call(&*channel, "now")).await.is_ok());
}

#[tokio::test]
async fn attack_07_a_request_above_the_limit_is_refused_by_its_id() {
    let channel = pair(MOST, 16 << 20).await;
    let arguments = json!({ "text": "x".repeat(3 * MOST) });
    let (large, now) = (call_with(&*channel, "now", &arguments), call(&*channel, "now"));
    let (code, what) = refusal(large).await;
    assert_eq!(code, -32600);
    assert!(what.starts_with("the message has 300,") && what.ends_with(" bytes; a message may have 100,000"), "{what}");
    assert!(answer(now).await.is_ok());
}

/// Lets a client with some calls open hear a line, and then an answer to each; what the first call came to.
async fn hears(calls: usize, line: &[u8]) -> Result<Value, Error> {
    let (near, mut far) = duplex(64 << 10);
    let channel = connect(near, limits(MOST)).await;
    let mut open: Vec<_> = (0..calls).map(|_| call(&*channel, "now")).collect();
    far.write_all(line).await.unwrap();
    far.write_all(b"\n").await.unwrap();
    for id in 1..=calls {
        far.write_all(format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": {} })).as_bytes()).await.unwrap();
    }
    let first = answer(open.remove(0)).await;
    for other in open {
        assert!(answer(other).await.is_ok());
    }
    first
}

#[tokio::test]
async fn attack_07_an_answer_is_known_wherever_its_id_stands() {
    let long = "\\\"id\\\":9 ".repeat(MOST / 8);
    let exact = format!(r#"{{"jsonrpc":"2.0","result":{{"id":3,"text":"{long}"}},"id":1}}"#);
    let sizes = format!("the answer has {},{:03} bytes", exact.len() / 1000, exact.len() % 1000);
    for (calls, line, expected) in [
        (3, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{long}"}}}}"#), "the answer has "),
        (3, exact, &*sizes),
        (3, format!(r#"{{"error":{{"code":1,"message":"{long}","data":[{{"id":2}}]}},"id":1}}"#), "the answer has "),
        // A batch says nothing, but there is only one call that it can belong to.
        (
            1,
            format!(r#"[{{"jsonrpc":"2.0","id":1,"result":{{"text":"{long}"}}}}]"#),
            "a message that is probably the answer",
        ),
    ] {
        let error = hears(calls, line.as_bytes()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(error.to_string().ends_with(" bytes; a message may have 100,000"), "{error}");
    }
}

#[tokio::test]
async fn attack_07_what_is_no_answer_fails_no_call() {
    let long = "x".repeat(2 * MOST);
    for line in [
        long.clone(),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{long}"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{{"data":"{long}"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":77,"result":{{"data":"{long}"}}}}"#),
    ] {
        assert!(hears(1, line.as_bytes()).await.is_ok(), "{}", &line[..60]);
    }
    // Of several calls, it is not known which one it belongs to.
    assert!(hears(2, format!(r#"[{{"id":1,"result":"{long}"}}]"#).as_bytes()).await.is_ok());
}

#[tokio::test]
async fn attack_07_a_lost_message_is_noted() {
    let (near, mut far) = duplex(64 << 10);
    let channel = connect(near, limits(MOST)).await;
    let (first, second) = (call(&*channel, "now"), call(&*channel, "now"));
    assert_eq!(channel.note(), None);
    far.write_all(format!("[\"{}\"]\n", "x".repeat(2 * MOST)).as_bytes()).await.unwrap();
    far.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await.unwrap();
    assert!(answer(first).await.is_ok());
    let noted = channel.note().unwrap();
    assert_eq!(noted, "a message that was dropped has 200,004 bytes; a message may have 100,000");
    drop(second);
    assert_eq!(channel.note(), None, "no call is left that could have been meant");
}

#[tokio::test]
async fn attack_07_a_question_above_the_limit_is_refused_by_its_id() {
    let (near, far) = duplex(64 << 10);
    let _channel = connect(near, limits(MOST)).await;
    let (reader, mut writer) = split(far);
    let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list", "params": { "x": "x".repeat(MOST) } });
    writer.write_all(format!("{question}\n").as_bytes()).await.unwrap();
    let refused: Value = next(&mut BufReader::new(reader)).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q"), &json!(-32600)), "{refused}");
}

async fn next(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Value {
    let mut line = String::new();
    soon(reader.read_line(&mut line)).await.unwrap();
    serde_json::from_str(&line).unwrap()
}

#[tokio::test]
async fn attack_07_bytes_that_are_not_text_fail_the_call_that_they_belong_to() {
    for line in
        [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}"[..], b"{\"result\":{\"a\":\"\xff\"},\"id\":1}"]
    {
        let error = hears(2, line).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        let at = line.iter().position(|byte| *byte == 0xff).unwrap();
        assert!(error.to_string().ends_with(&format!("the message is not valid UTF-8 (byte {at})")), "{error}");
    }
}

#[tokio::test]
async fn attack_07_a_request_that_is_not_text_is_refused_by_its_id() {
    let (near, far) = duplex(64 << 10);
    let (reader, writer) = split(far);
    tokio::spawn(pipe(reader, writer).serve(Arc::new(Tools::default()), Limits::default()));
    let (reader, mut writer) = split(near);
    let mut reader = BufReader::new(reader);
    for (version, first) in [("2025-06-18", 1), ("2026-07-28", 0)] {
        writer.write_all(opening(version).as_bytes()).await.unwrap();
        for _ in 0..first {
            assert_eq!(next(&mut reader).await["id"], "hello");
        }
        let broken = request(version, 7, "n?w").into_bytes();
        let broken: Vec<u8> = broken.into_iter().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
        writer.write_all(&broken).await.unwrap();
        let refused = next(&mut reader).await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32700)), "{refused}");
    }
}
