//! An HTTP API that answers with what it received, and clients of its tools.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use couplet_client::Client;
use couplet_openapi::{Document, OpenApi};
use couplet_types::CallToolResult;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A request that the API received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    /// The headers, with names in lower case.
    pub(crate) headers: Map<String, Value>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.as_str()
    }

    fn json(&self) -> Value {
        json!({ "method": self.method, "target": self.target, "headers": self.headers, "body": self.body })
    }
}

/// A response of the API: a status, headers and a body.
pub(crate) struct Answer(pub(crate) u16, pub(crate) Vec<(&'static str, String)>, pub(crate) Vec<u8>);

impl Answer {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self(status, vec![("content-type", "application/json".to_owned())], value.to_string().into_bytes())
    }
}

type Handler = dyn Fn(&Seen) -> Option<Answer> + Send + Sync;

/// An HTTP API on a loopback address.
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Api {
    /// Starts an API. Requests that the handler does not answer are answered with what was received.
    pub(crate) async fn start(handler: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, handler): (_, Arc<Handler>) = (seen.clone(), Arc::new(handler));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, handler) = (log.clone(), handler.clone());
                tokio::spawn(async move { answer(stream, &log, &*handler).await });
            }
        });
        Self { address, seen }
    }

    /// Starts an API that only answers with what was received.
    pub(crate) async fn echo() -> Self {
        Self::start(|_| None).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test panics while it holds the lock").clone()
    }

    pub(crate) fn last(&self) -> Seen {
        self.seen().pop().expect("there was a request")
    }
}

async fn answer(mut stream: TcpStream, log: &Mutex<Vec<Seen>>, handler: &Handler) {
    let Some(seen) = read(&mut stream).await else { return };
    log.lock().expect("no test panics while it holds the lock").push(seen.clone());
    let Answer(status, headers, body) = handler(&seen).unwrap_or_else(|| Answer::json(200, &seen.json()));
    let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&body).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await.ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&piece[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let mut seen = Seen { method: first.next()?.to_owned(), target: first.next()?.to_owned(), ..Seen::default() };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        seen.headers.insert(name.to_ascii_lowercase(), value.trim().into());
    }
    let length: usize = seen.header("content-length").unwrap_or("0").parse().ok()?;
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await.ok()? {
            0 => return None,
            count => body.extend_from_slice(&piece[..count]),
        }
    }
    seen.body = String::from_utf8_lossy(&body).into_owned();
    Some(seen)
}

pub(crate) fn document(value: Value) -> Document {
    Document::from_value(value).expect("it is a document")
}

/// A client of the API's tools.
pub(crate) async fn client(api: OpenApi) -> Client {
    let server = api.into_server().expect("it can be served").build();
    Client::new("test", "1.0.0").connect(server).await.expect("it connects")
}

/// Calls a tool, which may fail.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    client.call(tool, arguments).await.expect("it is answered").into_inner()
}

/// Calls a tool that answers with what the API received.
pub(crate) async fn echoed(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments.clone()).await;
    assert!(!result.failed(), "{tool} {arguments}: {}", result.all_text());
    serde_json::from_str(&result.all_text()).expect("it is JSON")
}
