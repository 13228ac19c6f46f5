//! A relay between a client and a server, that cuts streams and sees sessions begin and end.
//!
//! It cuts a connection after an event with the words `cut <id> here`, once for each id, so that the client has to resume
//! the stream.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::Failure;

/// What a relay has seen.
#[derive(Debug, Default)]
struct Seen {
    /// The sessions that the server has opened.
    opened: BTreeSet<String>,
    /// The sessions that the server has deleted, as it says.
    deleted: BTreeSet<String>,
    /// The ids at which streams were cut.
    cut: BTreeSet<String>,
    /// How often the client wanted a stream from an event on.
    resumed: usize,
}

/// A relay that listens until it is dropped.
pub(super) struct Relay {
    /// Where it listens.
    pub(super) port: u16,
    target: u16,
    seen: Arc<Mutex<Seen>>,
    has_ended: Arc<AtomicBool>,
}

impl Relay {
    /// Starts a relay to a port of this machine.
    pub(super) fn start(target: u16) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| format!("a relay: {e}"))?;
        let port = listener.local_addr().map_err(|e| format!("a relay: {e}"))?.port();
        let (seen, has_ended) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
        let (ended, notes) = (has_ended.clone(), seen.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                // A server that is not there ends the connection of the client.
                let _ = connect(client, target, &notes);
            }
        });
        Ok(Self { port, target, seen, has_ended })
    }

    /// Checks that each stream that was cut was resumed.
    pub(super) fn resumed(&self) -> Result<(), Failure> {
        let seen = lock(&self.seen);
        match (seen.cut.len(), seen.resumed) {
            (0, _) => Err("no stream was cut".to_owned()),
            (cut, resumed) if resumed < cut => Err(format!("{cut} streams were cut, and {resumed} were resumed")),
            _ => Ok(()),
        }
    }

    /// Checks that every session that was opened was deleted.
    pub(super) fn all_deleted(&self) -> Result<(), Failure> {
        let seen = lock(&self.seen);
        match seen.opened.difference(&seen.deleted).next() {
            _ if seen.opened.is_empty() => Err("no session was opened".to_owned()),
            Some(_) => Err(format!("{} sessions were opened, and {} deleted", seen.opened.len(), seen.deleted.len())),
            None => Ok(()),
        }
    }

    /// Checks that the sessions that were deleted are unknown; returns how many those are.
    pub(super) fn unknown(&self, revision: &str) -> Result<usize, Failure> {
        let deleted = lock(&self.seen).deleted.clone();
        for session in &deleted {
            match ping(self.target, session, revision)? {
                404 => {}
                status => return Err(format!("a session answers {status} after it was deleted")),
            }
        }
        Ok(deleted.len())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for the next connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last request of a connection, if it deletes a session. A connection has one request at a time.
#[derive(Debug, Default)]
enum Deletion {
    #[default]
    None,
    Began,
    Of(String),
}

/// Copies both directions of a connection, each in a thread.
fn connect(client: TcpStream, target: u16, seen: &Arc<Mutex<Seen>>) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_server, requests) = (client.try_clone()?, server.try_clone()?, seen.clone());
    let (asked, replies) = (Arc::<Mutex<Deletion>>::default(), seen.clone());
    let answered = asked.clone();
    thread::spawn(move || copy(from_client, to_server, |line| note_request(&requests, line, &asked)));
    thread::spawn(move || copy(server, client, |line| note_reply(&replies, line, &answered)));
    Ok(())
}

/// Copies until the end, or until a line after which the connection is cut.
fn copy(mut from: TcpStream, mut to: TcpStream, mut note: impl FnMut(&str) -> bool) {
    let (mut buffer, mut line) = (vec![0; 16 << 10], Vec::new());
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let mut is_cut = false;
        for byte in &buffer[..read] {
            line.push(*byte);
            if *byte == b'\n' {
                is_cut |= note(&String::from_utf8_lossy(&line));
                line.clear();
            }
        }
        if to.write_all(&buffer[..read]).is_err() || is_cut {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Notes a line of a request. A body has no end of line, so the line of a method may begin with one.
fn note_request(seen: &Mutex<Seen>, line: &str, deletion: &Mutex<Deletion>) -> bool {
    let mut deletion = deletion.lock().unwrap_or_else(PoisonError::into_inner);
    if line.trim_end().ends_with(" HTTP/1.1") {
        *deletion = if line.contains("DELETE /") { Deletion::Began } else { Deletion::None };
    } else if let (Some(session), Deletion::Began) = (header(line, "mcp-session-id"), &*deletion) {
        *deletion = Deletion::Of(session);
    } else if header(line, "last-event-id").is_some() {
        lock(seen).resumed += 1;
    }
    false
}

/// Notes a line of a reply; returns whether the connection is cut after it. The line of a status may begin with a body, too.
fn note_reply(seen: &Mutex<Seen>, line: &str, deletion: &Mutex<Deletion>) -> bool {
    if line.contains("HTTP/1.1 2") {
        if let Deletion::Of(session) = &*deletion.lock().unwrap_or_else(PoisonError::into_inner) {
            lock(seen).deleted.insert(session.clone());
        }
    } else if let Some(session) = header(line, "mcp-session-id") {
        lock(seen).opened.insert(session);
    }
    let id = line.split_once("cut ").and_then(|(_, rest)| Some(rest.split_once(" here\"")?.0));
    id.is_some_and(|id| !id.contains(' ') && lock(seen).cut.insert(id.to_owned()))
}

fn header(line: &str, wanted: &str) -> Option<String> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
}

/// The status of a `ping` in a session.
fn ping(port: u16, session: &str, revision: &str) -> Result<u16, Failure> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n\
         mcp-protocol-version: {revision}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let answer = answer().map_err(|e| format!("a ping: {e}"))?;
    let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| format!("a ping has no answer: {answer:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_once_and_has_to_be_resumed() {
        let (relay, deletion) = (Relay::start(1).unwrap(), Mutex::default());
        assert!(relay.resumed().is_err());
        let event = "data: {\"message\":\"cut a-1 here\"}\n";
        assert!(note_reply(&relay.seen, event, &deletion));
        assert!(!note_reply(&relay.seen, event, &deletion), "the event is sent again");
        assert!(relay.resumed().is_err());
        assert!(!note_request(&relay.seen, "Last-Event-ID: 7\r\n", &deletion));
        assert_eq!(relay.resumed(), Ok(()));
    }

    #[test]
    fn a_session_that_was_opened_has_to_be_deleted() {
        let (relay, deletion) = (Relay::start(1).unwrap(), Mutex::default());
        assert!(relay.all_deleted().is_err());
        note_reply(&relay.seen, "Mcp-Session-Id: one\r\n", &deletion);
        for (request, status, is_deleted) in [
            ("POST /mcp HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", false),
            ("{\"id\":1}DELETE /mcp HTTP/1.1\r\n", "HTTP/1.1 503 Service Unavailable\r\n", false),
            ("DELETE /mcp HTTP/1.1\r\n", "{\"id\":1}HTTP/1.1 204 No Content\r\n", true),
        ] {
            note_request(&relay.seen, request, &deletion);
            note_request(&relay.seen, "mcp-session-id: one\r\n", &deletion);
            note_reply(&relay.seen, status, &deletion);
            assert_eq!(relay.all_deleted().is_ok(), is_deleted, "{request}");
        }
    }
}
