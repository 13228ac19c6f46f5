//! A connection that repeats the same request.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Instant,
};

use super::{
    Response, Url, open_session,
    request::{Head, exchange},
};
use crate::{
    Failure,
    cases::{Case, FIRST_ID, Life, patch_id},
};

/// A non-blocking connection.
pub(super) struct Connection {
    pub(super) stream: mio::net::TcpStream,
    request: Request,
    sent: usize,
    /// The id of the last request.
    pub(super) id: u64,
    /// When it was sent.
    pub(super) asked: Instant,
    pub(super) response: Response,
}

/// A request with the offset of its id.
struct Request {
    bytes: Vec<u8>,
    id_at: usize,
}

impl Connection {
    pub(super) fn open(url: &Url, life: Life, case: &Case, first_id: u64) -> Result<Self, Failure> {
        let mut response = Response::default();
        let (stream, request) = begin(url, life, case, &mut response)?;
        response.reset();
        stream.set_nonblocking(true)?;
        let stream = mio::net::TcpStream::from_std(stream);
        let sent = request.bytes.len();
        Ok(Self { stream, request, sent, id: first_id, asked: Instant::now(), response })
    }

    /// Sends a request and verifies its response.
    pub(super) fn once(url: &Url, life: Life, case: &Case) -> Result<(), Failure> {
        let mut response = Response::default();
        let (mut stream, mut request) = begin(url, life, case, &mut response)?;
        patch_id(&mut request.bytes, request.id_at, FIRST_ID);
        exchange(&mut stream, &request.bytes, &mut response)?;
        Ok(response.check(case, FIRST_ID)?)
    }

    /// Sends the next request.
    pub(super) fn ask(&mut self, now: Instant) -> Result<(), Failure> {
        self.id += 1;
        patch_id(&mut self.request.bytes, self.request.id_at, self.id);
        self.sent = 0;
        self.asked = now;
        self.write()
    }

    /// Writes the rest of the request.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        while self.sent < self.request.bytes.len() {
            match self.stream.write(&self.request.bytes[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads available bytes, and returns whether the response is complete.
    pub(super) fn read(&mut self, chunk: &mut [u8]) -> Result<bool, Failure> {
        loop {
            match self.stream.read(chunk) {
                Ok(0) => return Err("the server closed the connection".into()),
                Ok(count) => {
                    self.response.push(&chunk[..count]);
                    if self.response.is_whole() {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Connects, opens a session if the lifecycle has one, and serializes the request.
fn begin(url: &Url, life: Life, case: &Case, response: &mut Response) -> Result<(TcpStream, Request), Failure> {
    let mut stream = url.connect()?;
    let session = match life {
        Life::Session => open_session(url, &mut stream, response)?,
        Life::Stateless => None,
    };
    let head = Head { life, session: session.as_deref(), method: case.method, tool: case.tool.as_deref() };
    let bytes = url.post(&head, &case.body);
    let id_at = bytes.len() - case.body.len() + case.id_at;
    Ok((stream, Request { bytes, id_at }))
}
