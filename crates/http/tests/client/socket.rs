//! The client that comes with the crate, over a socket.

use std::time::Duration;

use couplet_client::Client;
use couplet_core::{Error, ErrorKind};
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
