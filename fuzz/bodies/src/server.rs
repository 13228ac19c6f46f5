//! A whole server on a byte stream, without the bytes moving.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use couplet_core::{
    EncodedMessage, ServerConnection,
    message::line::{Line, Lines},
};
use couplet_server::ServerHandle;
use serde_json::Value;

use crate::{
    ledger::Ledger,
    service::{limits, service},
};

/// Stands for the id of the server's last question.
pub(crate) const QUESTION: &str = "\"@question\"";
/// Stands for the state that the server gave away last.
pub(crate) const STATE: &str = "\"@state\"";
/// Stands for the place where the last list goes on.
pub(crate) const CURSOR: &str = "\"@cursor\"";

thread_local! {
    /// One server per thread: a change that one connection causes is not for those of other threads.
    static SERVICE: ServerHandle = service();
}

/// Sends the input to a server, ends it, and reads all that the server says.
///
/// # Panics
/// When the server panics, sends what is not a message, answers twice or not at all, or goes on after its end.
pub fn server(data: &[u8]) {
    let service = SERVICE.with(Clone::clone);
    let mut session =
        Session { connection: ServerConnection::new(Arc::new(service), limits()), ledger: Ledger::default() };
    let mut lines = Lines::new(limits().message);
    // The bytes come in pieces, as from a pipe.
    for piece in data.chunks(512) {
        lines.buffer().extend_from_slice(piece);
        while let Some(line) = lines.next() {
            if !session.take(line) {
                return session.finish();
            }
        }
    }
    if let Some(line) = lines.finish() {
        session.take(line);
    }
    session.finish();
}

struct Session {
    connection: ServerConnection,
    ledger: Ledger,
}

impl Session {
    /// Hands a line to the server, unless it takes no more: then this is the end of the input.
    fn take(&mut self, line: Line) -> bool {
        if !self.connection.wants_input() {
            return false;
        }
        match line {
            Line::Message(frame) => {
                let frame = self.fill_in(frame);
                self.ledger.sent(&frame);
                self.connection.receive(frame);
            }
            Line::TooLong(message) => {
                self.ledger.sent_too_long(&message);
                self.connection.receive_oversized(&message);
            }
        }
        while let Poll::Ready(sent) = self.poll() {
            let sent = sent.expect("the server ended before its input");
            self.ledger.received(&sent);
        }
        true
    }

    /// Ids, states and cursors that a client can only know from the server.
    fn fill_in(&self, frame: Bytes) -> Bytes {
        let Ok(text) = std::str::from_utf8(&frame) else { return frame };
        if !text.contains("\"@") {
            return frame;
        }
        let known = |value: &Option<Value>| value.as_ref().unwrap_or(&Value::Null).to_string();
        let ledger = &self.ledger;
        let places = [(QUESTION, &ledger.question), (STATE, &ledger.state), (CURSOR, &ledger.cursor)];
        places.iter().fold(text.to_owned(), |text, (place, value)| text.replace(place, &known(value))).into()
    }

    fn finish(mut self) {
        self.connection.end_input();
        let ended = loop {
            match self.poll() {
                Poll::Ready(Some(sent)) => self.ledger.received(&sent),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
        };
        // Only a handler that never completes keeps a server from its end.
        let unanswered = self.connection.unanswered();
        assert_eq!(ended, unanswered == 0, "ended: {ended}, with {unanswered} requests unanswered");
        self.ledger.close(unanswered);
        for _ in 0..2 {
            let after = self.poll();
            assert!(matches!(after, Poll::Pending | Poll::Ready(None)), "after the end: {after:?}");
        }
    }

    /// Pending only where the connection waits for something else than for its next turn.
    fn poll(&mut self) -> Poll<Option<Bytes>> {
        loop {
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(woken.clone());
            let sent = self.connection.poll_send(&mut Context::from_waker(&waker));
            if sent.is_ready() || !woken.0.load(Ordering::Acquire) {
                return sent.map(|text| text.map(EncodedMessage::into_bytes));
            }
        }
    }
}

/// Notes that it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}
