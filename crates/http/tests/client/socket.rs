//! The client that comes with the crate, over a socket.

use std::time::Duration;

use couplet_client::Client;
use couplet_core::{Error, ErrorKind, Event, JsonText, RequestOptions, message::Params};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use crate::{
    mock::{discovered, initialized, says},
    request::read_request,
};

/// Reads one request; `None` when there are no more.
async fn read(socket: &mut TcpStream) -> Option<Value> {
    read_request(socket).await.map(|(_, message)| message)
}

#[tokio::test]
async fn one_connection_is_enough() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while let Some(message) = read(&mut socket).await {
            let method = message["method"].as_str().unwrap().to_owned();
            let result = if method == "server/discover" { discovered() } else { says("done") };
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
            let response = if method == "server/discover" {
                let length = answer.len();
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{answer}")
            } else {
                let event = format!("data: {answer}\n\n");
                let length = event.len();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
                format!("{head}\r\n\r\n{length:x}\r\n{event}\r\n0\r\n\r\n")
            };
            socket.write_all(response.as_bytes()).await.unwrap();
            asked.push(method);
        }
        asked
    });
    let client = Client::new("test", "1").connect(couplet_http::connect(url)).await.unwrap();
    for _ in 0..3 {
        assert_eq!(client.call("x", ()).await.unwrap().text(), "done");
        // The end of the stream comes after the answer.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client.close().await.unwrap();
    drop(client);
    assert_eq!(server.await.unwrap(), ["server/discover", "tools/call", "tools/call", "tools/call"]);
}

fn answer(message: &Value, result: Value) -> String {
    let text = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_not_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        for result in [discovered(), says("one"), says("two"), says("three")] {
            let (mut socket, _) = listener.accept().await.unwrap();
            let message = read(&mut socket).await.unwrap();
            socket.write_all(answer(&message, result).as_bytes()).await.unwrap();
        }
    });
    let client = Client::new("test", "1").connect(couplet_http::connect(url)).await.unwrap();
    for expected in ["one", "two", "three"] {
        // The end of the connection is seen while it is idle.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(client.call("x", ()).await.unwrap().text(), expected);
    }
    server.await.unwrap();
}

/// A forwarded request is sent by the first poll of its exchange, and ends with it.
#[tokio::test]
async fn a_forwarded_request_lives_in_its_exchange() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (seen, mut was_seen) = tokio::sync::mpsc::unbounded_channel();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        for result in [discovered(), says("done")] {
            let message = read(&mut socket).await.unwrap();
            socket.write_all(answer(&message, result).as_bytes()).await.unwrap();
        }
        let unanswered = read(&mut socket).await.unwrap();
        seen.send(unanswered["params"]["name"].clone()).unwrap();
        // The request is dropped, so its connection ends.
        assert_eq!(read(&mut socket).await, None);
    });
    let client = Client::new("test", "1").connect(couplet_http::connect(url)).await.unwrap();
    let params = |name: &str| Params::from_text(JsonText::new(json!({ "name": name }).to_string()).unwrap()).unwrap();
    let forward = |name: &str| client.forward("tools/call", &params(name), &RequestOptions::default()).unwrap();
    drop(forward("unpolled"));
    match forward("first").next().await {
        Event::Answer(Ok(text)) => assert!(text.as_str().contains("done"), "{text:?}"),
        other => panic!("{other:?}"),
    }
    let mut second = forward("second");
    tokio::select! {
        event = second.next() => panic!("{event:?}"),
        name = was_seen.recv() => assert_eq!(name, Some(json!("second"))),
    }
    drop(second);
    tokio::time::timeout(Duration::from_secs(60), server).await.unwrap().unwrap();
}

#[tokio::test]
async fn line_209_names_of_headers_have_no_case_but_values_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut heads, mut socket) = (Vec::new(), listener.accept().await.unwrap().0);
        while let Some((head, message)) = read_request(&mut socket).await {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": initialized() }).to_string();
            let response = match message["method"].as_str() {
                Some("initialize") => format!(
                    "200 OK\r\nCoNtEnT-tYpE: application/json\r\nMCP-SESSION-ID: AbC\r\nCONTENT-LENGTH: {}\r\n\r\n{answer}",
                    answer.len()
                ),
                _ => "405 No\r\ncontent-length: 0\r\n\r\n".to_owned(),
            };
            socket.write_all(format!("HTTP/1.1 {response}").as_bytes()).await.unwrap();
            heads.push(head);
        }
        heads
    });
    let client = Client::new("test", "1").connect(couplet_http::connect(url)).await.unwrap();
    client.close().await.unwrap();
    drop(client);
    let heads = server.await.unwrap();
    let named = |head: &String| head.lines().find_map(|l| l.strip_prefix("mcp-session-id: ")).map(str::to_owned);
    // From the handshake on, as it was given.
    let sessions: Vec<_> = heads[2..].iter().map(named).collect();
    assert!(sessions.len() > 1 && sessions.iter().all(|s| s.as_deref() == Some("AbC")), "{heads:?}");
}

#[tokio::test]
async fn nobody_there_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error: Error =
        Client::new("test", "1").connect(couplet_http::connect(format!("http://{address}/"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_up_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            read(&mut socket).await;
        }
    });
    let error = Client::new("test", "1").connect(couplet_http::connect(url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
}
