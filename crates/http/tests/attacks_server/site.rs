//! A server on a socket of this machine, and requests as bytes.

use std::{sync::Arc, time::Duration};

use couplet_core::{Error, Limits, Transport};
use couplet_http::server::HttpTransport;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};

use crate::support::{POLLING, Seen, initialize, server};

/// So long a test waits for what has to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Site {
    pub(crate) address: String,
    pub(crate) seen: Seen,
    _task: JoinHandle<Result<(), Error>>,
}

impl Site {
    pub(crate) async fn start(configure: impl FnOnce(HttpTransport) -> HttpTransport) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let transport = configure(HttpTransport::from_listener(listener));
        let seen = Seen::default();
        let task = tokio::spawn(transport.serve(Arc::new(server(&seen)), Limits::default()));
        Self { address, seen, _task: task }
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, request: &str) -> Socket {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        Socket { stream, text: String::new() }
    }

    /// Opens a session; its id.
    pub(crate) async fn open(&self) -> String {
        let text = self.send(&post(&initialize(POLLING), "")).await.all().await;
        let id = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        id.trim().to_owned()
    }
}

/// A connection, and what came on it so far.
pub(crate) struct Socket {
    pub(crate) stream: TcpStream,
    pub(crate) text: String,
}

impl Socket {
    /// Reads until something is there.
    pub(crate) async fn until(&mut self, what: &str) -> &str {
        while !self.text.contains(what) {
            let mut some = [0; 4096];
            let read = timeout(PATIENCE, self.stream.read(&mut some)).await.expect("it comes in time").unwrap();
            assert_ne!(read, 0, "no `{what}` in {}", self.text);
            self.text += std::str::from_utf8(&some[..read]).unwrap();
        }
        &self.text
    }

    /// Reads until the end.
    pub(crate) async fn all(mut self) -> String {
        let mut rest = Vec::new();
        timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await.expect("it ends in time").unwrap();
        self.text + std::str::from_utf8(&rest).unwrap()
    }
}

/// A message, the last one of its connection, with these headers more.
pub(crate) fn post(body: &Value, headers: &str) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}
