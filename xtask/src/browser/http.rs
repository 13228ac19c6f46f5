//! Requests over plain HTTP with any headers, and a site of another origin.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::Failure;

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A response: the status, the head and the body.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

/// Sends a request to this machine. Nothing is added to the headers.
pub(super) fn send(port: u16, line: &str, headers: &[(&str, &str)], body: &str) -> Result<Response, Failure> {
    let failed = |e: std::io::Error| format!("`{line}` at port {port}: {e}");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(failed)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    // The older version has no chunks: the end of the connection is the end of the body.
    let request = format!("{line} HTTP/1.0\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).map_err(failed)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| format!("`{line}` is not answered: {text}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| format!("`{line}` has no status: {head}"))?;
    Ok(Response { status, head: head.to_owned(), body: body.to_owned() })
}

/// A site at another port of this machine. It has one page, and counts who asks for what.
pub(super) struct Site {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Serves as long as this process lives.
    pub(super) fn start() -> Result<Self, Failure> {
        let failed = |e: std::io::Error| format!("a site cannot be served: {e}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // One that asks nothing must not stop the others for long.
                let _ = answer(stream, &seen);
            }
        });
        Ok(Self { port, asked })
    }

    /// The first lines of the requests so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: TcpStream, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim().to_owned());
    let page = "<!doctype html><title>Another site</title><p>Another site</p>";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len())
}
