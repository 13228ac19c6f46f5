//! HTTP requests, and blocking exchanges for setup and checks.

use std::{
    io::{Error, ErrorKind, Read, Write},
    net::TcpStream,
};

use super::Response;
use crate::{
    Failure,
    cases::{INITIALIZE, INITIALIZED, Life},
};

/// The address of a server.
pub(crate) struct Url {
    pub(crate) host: String,
    pub(crate) path: String,
}

impl Url {
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        let rest = text.strip_prefix("http://").ok_or("expected a `--url` such as http://127.0.0.1:8000/mcp")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { host: host.to_owned(), path: format!("/{path}") })
    }

    pub(crate) fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.host)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Serializes the head and body of a request.
    pub(crate) fn post(&self, head: &Head<'_>, body: &[u8]) -> Vec<u8> {
        let Self { host, path } = self;
        let mut text = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        if head.method != "initialize" {
            text += &format!("MCP-Protocol-Version: {}\r\n", head.life.version());
        }
        if let Some(session) = head.session {
            text += &format!("Mcp-Session-Id: {session}\r\n");
        }
        if head.life == Life::Stateless {
            text += &format!("Mcp-Method: {}\r\n", head.method);
            text += &head.tool.map(|tool| format!("Mcp-Name: {tool}\r\n")).unwrap_or_default();
        }
        text += "\r\n";
        [text.as_bytes(), body].concat()
    }
}

/// Returns the headers that depend on the body.
pub(crate) struct Head<'a> {
    pub(crate) life: Life,
    pub(crate) session: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) tool: Option<&'a str>,
}

/// Sends a request and waits for the whole response.
pub(super) fn exchange(stream: &mut TcpStream, request: &[u8], response: &mut Response) -> std::io::Result<()> {
    response.reset();
    stream.write_all(request)?;
    let mut chunk = vec![0; 64 << 10];
    while !response.is_whole() {
        match stream.read(&mut chunk)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => response.push(&chunk[..count]),
        }
    }
    Ok(())
}

/// Performs the handshake of a session, and returns its id, if any.
pub(crate) fn open_session(
    url: &Url,
    stream: &mut TcpStream,
    response: &mut Response,
) -> std::io::Result<Option<String>> {
    let head = Head { life: Life::Session, session: None, method: "initialize", tool: None };
    exchange(stream, &url.post(&head, INITIALIZE.as_bytes()), response)?;
    if response.status != 200 {
        let body = String::from_utf8_lossy(&response.body);
        return Err(Error::other(format!("`initialize`: {} {body}", response.status)));
    }
    let session = response.session.clone();
    let head = Head { session: session.as_deref(), method: "notifications/initialized", ..head };
    exchange(stream, &url.post(&head, INITIALIZED.as_bytes()), response)?;
    Ok(session)
}
