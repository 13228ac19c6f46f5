//! The client's side: many requests at once, and every way for a connection to end.

use std::sync::Arc;

use couplet_core::{Connect, Connected, ErrorKind, Limits, Transport};
use couplet_stdio::pipe;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};

use crate::support::{Ears, Tools, answer, call, soon};

async fn connect(stream: DuplexStream, ears: &Ears) -> Connected {
    let (reader, writer) = split(stream);
    pipe(reader, writer).connect(ears.inbound(), Limits::default()).await.unwrap()
}

#[tokio::test]
async fn ten_thousand_requests_at_once_through_a_narrow_pipe() {
    let (near, far) = duplex(1000);
    let (reader, writer) = split(far);
    let server = tokio::spawn(pipe(reader, writer).serve(Arc::new(Tools::default()), Limits::default()));
    let Connected { channel, driver } = connect(near, &Ears::default()).await;
    let driver = tokio::spawn(driver);
    let calls: Vec<_> = (0..10_000).map(|_| call(&*channel, "later")).collect();
    for exchange in calls {
        assert_eq!(answer(exchange).await.unwrap()["content"][0]["text"], "later");
    }
    channel.close();
    soon(driver).await.unwrap().unwrap();
    soon(server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_pipe_is_used_once() {
    let (near, far) = duplex(1000);
    let (reader, writer) = split(near);
    let mut pipe = pipe(reader, writer);
    let first = pipe.connect(Ears::default().inbound(), Limits::default()).await.unwrap();
    let second = pipe.connect(Ears::default().inbound(), Limits::default()).await.unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Closed);
    let third = pipe.serve(Arc::new(Tools::default()), Limits::default()).await.unwrap_err();
    assert_eq!(third.kind(), ErrorKind::Closed);
    drop((first, far));
}

#[tokio::test]
async fn what_waits_fails_when_the_server_hangs_up() {
    let (near, far) = duplex(1000);
    let Connected { channel, driver } = connect(near, &Ears::default()).await;
    let driver = tokio::spawn(driver);
    let waiting = call(&*channel, "now");
    drop(far);
    assert!(answer(waiting).await.unwrap_err().is_closed());
    assert!(soon(driver).await.unwrap().unwrap_err().is_closed());
    assert!(answer(call(&*channel, "now")).await.unwrap_err().is_closed());
}

#[tokio::test]
async fn an_answer_counts_even_if_the_server_is_gone_by_then() {
    let (near, mut far) = duplex(1000);
    far.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n").await.unwrap();
    drop(far);
    let Connected { channel, driver } = connect(near, &Ears::default()).await;
    let early = call(&*channel, "now");
    let late = call(&*channel, "now");
    assert!(soon(driver).await.is_err());
    assert!(answer(early).await.is_ok());
    assert!(answer(late).await.is_err());
}

#[tokio::test]
async fn what_was_sent_before_the_close_is_delivered() {
    for by_drop in [false, true] {
        let (near, mut far) = duplex(10);
        let Connected { channel, driver } = connect(near, &Ears::default()).await;
        for n in 0..100 {
            channel.notify(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{n}\"}}").into());
        }
        if by_drop {
            drop(channel);
        } else {
            channel.close();
        }
        let driver = tokio::spawn(driver);
        let mut output = String::new();
        soon(far.read_to_string(&mut output)).await.unwrap();
        assert_eq!(output.lines().count(), 100);
        soon(driver).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn noise_is_heard_and_does_no_harm() {
    let (near, mut far) = duplex(10_000);
    let ears = Ears::default();
    let mut limits = Limits::default();
    limits.message = 1000;
    let (reader, writer) = split(near);
    let Connected { channel, driver } = pipe(reader, writer).connect(ears.inbound(), limits).await.unwrap();
    let waiting = call(&*channel, "now");
    let long = "x".repeat(2000);
    far.write_all(format!("Listening...\n\n{long}\n").as_bytes()).await.unwrap();
    far.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n").await.unwrap();
    far.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await.unwrap();
    let driver = tokio::spawn(driver);
    assert!(answer(waiting).await.is_ok());
    let heard = ears.heard();
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard[0].starts_with("malformed: ") && heard[1].starts_with("malformed: "), "{heard:?}");
    assert!(heard[0].ends_with(" in Listening..."), "{heard:?}");
    assert_eq!(heard[2], "notifications/tools/list_changed");
    channel.close();
    soon(driver).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_the_driver_fails_what_waits() {
    let (near, _far) = duplex(1000);
    let Connected { channel, driver } = connect(near, &Ears::default()).await;
    let waiting = call(&*channel, "now");
    drop(driver);
    assert!(answer(waiting).await.unwrap_err().is_closed());
}
