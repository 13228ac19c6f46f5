//! A relay between a client and a server, that cuts streams and sees sessions begin, end and get lost.
//!
//! A session is lost if the server says that it is unknown (404) before the client wanted to delete it.
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
    time::{Duration, Instant},
};

use crate::Failure;

/// What a relay has seen.
#[derive(Debug, Default)]
struct Seen {
    /// The sessions that the server has opened.
    opened: BTreeSet<String>,
    /// The sessions that the client wanted to delete.
    ending: BTreeSet<String>,
    /// The sessions that the server has deleted, as it says.
    deleted: BTreeSet<String>,
    /// The sessions that were unknown before the client wanted to delete them.
    lost: BTreeSet<String>,
    /// The ids at which streams were cut.
    cut: BTreeSet<String>,
    /// How often the client wanted a stream from an event on.
    resumed: usize,
}

/// How long the deletion of a session may be refused.
const REFUSED: Duration = Duration::from_secs(60);

/// A relay that listens until it is dropped.
pub(crate) struct Relay {
    /// Where it listens.
    pub(crate) port: u16,
    target: u16,
    seen: Arc<Mutex<Seen>>,
    has_ended: Arc<AtomicBool>,
}

impl Relay {
    /// Starts a relay to a port of this machine.
    pub(crate) fn start(target: u16) -> Result<Self, Failure> {
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

    /// Checks that no session was lost; returns how many were opened.
    pub(crate) fn none_lost(&self) -> Result<usize, Failure> {
        let seen = lock(&self.seen);
        match seen.lost.len() {
            0 => Ok(seen.opened.len()),
            lost => Err(format!("{lost} of {} sessions were lost: 404 before they were deleted", seen.opened.len())),
        }
    }

    /// How many sessions the client has left without a wish to delete them.
    pub(super) fn left(&self) -> usize {
        let seen = lock(&self.seen);
        seen.opened.difference(&seen.ending).count()
    }

    /// Deletes the sessions that are there after a client has ended, since a replica may have taken the answer to a DELETE with
    /// it. Those that the client did not want to delete have to be there.
    pub(crate) fn delete_rest(&self, revision: &str) -> Result<(), Failure> {
        let (opened, deleted) = {
            let seen = lock(&self.seen);
            (seen.opened.clone(), seen.deleted.clone())
        };
        for session in opened.difference(&deleted) {
            let is_ending = lock(&self.seen).ending.contains(session);
            match self.delete(session, revision)? {
                200..=299 => drop(lock(&self.seen).deleted.insert(session.clone())),
                404 if is_ending => {}
                404 => return Err("a session was lost: 404 when it was deleted".to_owned()),
                status => return Err(format!("a session cannot be deleted: {status}")),
            }
        }
        Ok(())
    }

    /// The status of a DELETE, when it is not refused for the moment any more.
    fn delete(&self, session: &str, revision: &str) -> Result<u16, Failure> {
        let began = Instant::now();
        loop {
            match request(self.target, "DELETE", session, revision, "") {
                Err(_) | Ok(500..=599) if began.elapsed() < REFUSED => thread::sleep(Duration::from_millis(200)),
                answer => return answer,
            }
        }
    }

    /// Checks that the sessions that were deleted are unknown; returns how many those are.
    pub(crate) fn unknown(&self, revision: &str) -> Result<usize, Failure> {
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

/// The last request of a connection, which has one at a time.
#[derive(Debug, Default)]
struct Asked {
    deletes: bool,
    session: Option<String>,
}

/// Copies both directions of a connection, each in a thread.
fn connect(client: TcpStream, target: u16, seen: &Arc<Mutex<Seen>>) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_server, requests) = (client.try_clone()?, server.try_clone()?, seen.clone());
    let (asked, replies) = (Arc::<Mutex<Asked>>::default(), seen.clone());
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
fn note_request(seen: &Mutex<Seen>, line: &str, asked: &Mutex<Asked>) -> bool {
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    if line.trim_end().ends_with(" HTTP/1.1") {
        *asked = Asked { deletes: line.contains("DELETE /"), session: None };
    } else if let Some(session) = header(line, "mcp-session-id") {
        if asked.deletes {
            lock(seen).ending.insert(session.clone());
        }
        asked.session = Some(session);
    } else if header(line, "last-event-id").is_some() {
        lock(seen).resumed += 1;
    }
    false
}

/// Notes a line of a reply; returns whether the connection is cut after it. The line of a status may begin with a body, too.
fn note_reply(seen: &Mutex<Seen>, line: &str, asked: &Mutex<Asked>) -> bool {
    if let Some((_, status)) = line.split_once("HTTP/1.1 ") {
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = &asked.session {
            lock(seen).replied(session, asked.deletes, status);
        }
    } else if let Some(session) = header(line, "mcp-session-id") {
        lock(seen).opened.insert(session);
    }
    let id = line.split_once("cut ").and_then(|(_, rest)| Some(rest.split_once(" here\"")?.0));
    id.is_some_and(|id| !id.contains(' ') && lock(seen).cut.insert(id.to_owned()))
}

impl Seen {
    /// Notes the status of a reply in a session.
    fn replied(&mut self, session: &str, deletes: bool, status: &str) {
        if deletes && status.starts_with('2') {
            self.deleted.insert(session.to_owned());
        } else if status.starts_with("404") && !self.ending.contains(session) {
            self.lost.insert(session.to_owned());
        }
    }
}

fn header(line: &str, wanted: &str) -> Option<String> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
}

/// The status of a `ping` in a session.
fn ping(port: u16, session: &str, revision: &str) -> Result<u16, Failure> {
    request(port, "POST", session, revision, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
}

/// The status of a request in a session.
fn request(port: u16, method: &str, session: &str, revision: &str, body: &str) -> Result<u16, Failure> {
    let request = format!(
        "{method} /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-type: application/json\r\n\
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
    let answer = answer().map_err(|e| format!("{method}: {e}"))?;
    let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| format!("{method} has no answer: {answer:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_once_and_has_to_be_resumed() {
        let (relay, asked) = (Relay::start(1).unwrap(), Mutex::default());
        assert!(relay.resumed().is_err());
        let event = "data: {\"message\":\"cut a-1 here\"}\n";
        assert!(note_reply(&relay.seen, event, &asked));
        assert!(!note_reply(&relay.seen, event, &asked), "the event is sent again");
        assert!(relay.resumed().is_err());
        assert!(!note_request(&relay.seen, "Last-Event-ID: 7\r\n", &asked));
        assert_eq!(relay.resumed(), Ok(()));
    }

    #[test]
    fn a_session_that_was_opened_has_to_be_deleted() {
        let (relay, asked) = (Relay::start(1).unwrap(), Mutex::default());
        assert!(relay.all_deleted().is_err());
        note_reply(&relay.seen, "Mcp-Session-Id: one\r\n", &asked);
        for (request, status, is_deleted) in [
            ("POST /mcp HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", false),
            ("{\"id\":1}DELETE /mcp HTTP/1.1\r\n", "HTTP/1.1 503 Service Unavailable\r\n", false),
            ("DELETE /mcp HTTP/1.1\r\n", "{\"id\":1}HTTP/1.1 204 No Content\r\n", true),
        ] {
            note_request(&relay.seen, request, &asked);
            note_request(&relay.seen, "mcp-session-id: one\r\n", &asked);
            note_reply(&relay.seen, status, &asked);
            assert_eq!(relay.all_deleted().is_ok(), is_deleted, "{request}");
        }
    }
    /// A relay that has seen a session begin.
    fn with_session() -> (Relay, Mutex<Asked>) {
        let (relay, asked) = (Relay::start(1).unwrap(), Mutex::default());
        note_reply(&relay.seen, "Mcp-Session-Id: one\r\n", &asked);
        (relay, asked)
    }

    #[test]
    fn a_session_is_lost_if_it_is_unknown_before_it_is_deleted() {
        for (request, status, is_fine) in [
            ("POST /mcp HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", true),
            ("POST /mcp HTTP/1.1\r\n", "HTTP/1.1 503 Service Unavailable\r\n", true),
            ("POST /mcp HTTP/1.1\r\n", "HTTP/1.1 404 Not Found\r\n", false),
            ("{\"id\":1}GET /mcp HTTP/1.1\r\n", "data: {}HTTP/1.1 404 Not Found\r\n", false),
            ("DELETE /mcp HTTP/1.1\r\n", "HTTP/1.1 404 Not Found\r\n", true),
        ] {
            let (relay, asked) = with_session();
            note_request(&relay.seen, request, &asked);
            note_request(&relay.seen, "mcp-session-id: one\r\n", &asked);
            note_reply(&relay.seen, status, &asked);
            assert_eq!(relay.none_lost().is_ok(), is_fine, "{request}{status}");
        }
    }

    #[test]
    fn a_stream_may_end_with_404_after_its_session_was_deleted() {
        let (relay, stream) = with_session();
        note_request(&relay.seen, "GET /mcp HTTP/1.1\r\n", &stream);
        note_request(&relay.seen, "mcp-session-id: one\r\n", &stream);
        assert_eq!(relay.left(), 1);
        let other = Mutex::default();
        note_request(&relay.seen, "DELETE /mcp HTTP/1.1\r\n", &other);
        note_request(&relay.seen, "mcp-session-id: one\r\n", &other);
        note_reply(&relay.seen, "HTTP/1.1 404 Not Found\r\n", &stream);
        assert_eq!((relay.none_lost(), relay.left()), (Ok(1), 0));
    }

    #[test]
    fn a_session_that_is_left_has_to_be_there() {
        for (status, is_ending, expected) in [
            ("204 No Content", false, Ok(())),
            ("404 Not Found", true, Ok(())),
            ("404 Not Found", false, Err("a session was lost: 404 when it was deleted".to_owned())),
            ("403 Forbidden", false, Err("a session cannot be deleted: 403".to_owned())),
        ] {
            let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let (relay, asked) = (Relay::start(server.local_addr().unwrap().port()).unwrap(), Mutex::default());
            note_reply(&relay.seen, "Mcp-Session-Id: one\r\n", &asked);
            if is_ending {
                note_request(&relay.seen, "DELETE /mcp HTTP/1.1\r\n", &asked);
                note_request(&relay.seen, "mcp-session-id: one\r\n", &asked);
            }
            let answering = thread::spawn(move || {
                let (mut stream, _) = server.accept().unwrap();
                let mut request = [0; 1024];
                let read = stream.read(&mut request).unwrap();
                write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
                String::from_utf8_lossy(&request[..read]).into_owned()
            });
            assert_eq!(relay.delete_rest("2025-11-25"), expected, "{status}");
            assert!(answering.join().unwrap().starts_with("DELETE /mcp HTTP/1.1\r\n"));
        }
    }
}
