//! The table of the client's requests that wait for their answers.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use couplet_types::RequestId;

use crate::{
    client::mailbox::Mailbox,
    error::{Error, ErrorKind},
};

/// The client's requests that wait for their answers, by the number that each was opened with.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    last: i64,
    waiting: HashMap<i64, Waiting, BuildHasherDefault<Counted>>,
    /// Requests that were sent again: the number they were sent under last, and the one they were opened with.
    resent: HashMap<i64, i64>,
    pub(crate) closed: bool,
    /// A message that was dropped, and the last request that it may belong to.
    note: Option<(i64, String)>,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) mailbox: Mailbox,
    /// The number that it was sent under last.
    sent: i64,
    /// Whether the server is notified when the request is cancelled.
    pub(crate) notifies: bool,
    /// Whether it is a subscription, which is answered only when it ends.
    pub(crate) listens: bool,
}

impl Waiting {
    pub(crate) fn new(number: i64, notifies: bool, listens: bool) -> Self {
        Self { mailbox: Mailbox::new(), sent: number, notifies, listens }
    }

    /// The id that the request was sent under last.
    pub(crate) fn sent(&self) -> RequestId {
        RequestId::Number(self.sent)
    }
}

impl Exchanges {
    pub(crate) fn next_number(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// Whether a request was ever sent under this id.
    pub(crate) fn has_used(&self, id: &RequestId) -> bool {
        matches!(id, RequestId::Number(number) if (1..=self.last).contains(number))
    }

    pub(crate) fn open(&mut self, number: i64, waiting: Waiting) -> Result<Mailbox, Error> {
        if self.closed {
            return Err(Error::unsent(ErrorKind::Closed, "the connection is closed"));
        }
        let mailbox = waiting.mailbox.clone();
        self.waiting.insert(number, waiting);
        Ok(mailbox)
    }

    /// A new number for a request that is sent again.
    pub(crate) fn resend(&mut self, number: i64) -> i64 {
        let again = self.next_number();
        if let Some(waiting) = self.waiting.get_mut(&number) {
            self.resent.remove(&waiting.sent);
            waiting.sent = again;
            self.resent.insert(again, number);
        }
        again
    }

    pub(crate) fn mailbox(&self, id: &RequestId) -> Option<Mailbox> {
        let RequestId::Number(number) = id else { return None };
        self.waiting.get(number).map(|waiting| waiting.mailbox.clone())
    }

    pub(crate) fn remove(&mut self, number: i64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        self.resent.remove(&waiting.sent);
        Some(waiting)
    }

    /// Removes the request that was sent under an id last.
    pub(crate) fn remove_sent(&mut self, id: &RequestId) -> Option<Waiting> {
        let RequestId::Number(sent) = id else { return None };
        let number = self.resent.get(sent).unwrap_or(sent);
        self.waiting.get(number).filter(|waiting| waiting.sent == *sent)?;
        self.remove(*number)
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (i64, Waiting)> + use<> {
        self.resent.clear();
        std::mem::take(&mut self.waiting).into_iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Removes the one request that waits for an answer, if there is exactly one.
    pub(crate) fn remove_only(&mut self) -> Option<Waiting> {
        let mut open = self.waiting.iter().filter(|(_, waiting)| !waiting.listens).map(|(number, _)| *number);
        let number = open.next().filter(|_| open.next().is_none())?;
        self.remove(number)
    }

    /// Notes that a message was dropped which may belong to any request that waits now.
    pub(crate) fn set_note(&mut self, what: String) {
        self.note = Some((self.last, what));
    }

    pub(crate) fn note(&self) -> Option<&String> {
        let (last, note) = self.note.as_ref()?;
        let concerns = |(number, waiting): (&i64, &Waiting)| number <= last && !waiting.listens;
        self.waiting.iter().any(concerns).then_some(note)
    }
}

/// A hasher for numbers that this table has counted up itself, so no peer chooses them.
#[derive(Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 << 8 | u64::from(*byte)));
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        // The table looks at the lowest and at the highest bits.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}
