//! The responses to a batch, which are sent together.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use couplet_types::RequestId;

use crate::{
    message::text::EncodedMessage,
    server::queue::{EntryKind, Queue},
    sync::lock,
};

/// An unanswered batch. Clones are the same batch; dropping the last one sends the responses.
#[derive(Clone, Debug)]
pub(crate) struct Batch(Arc<BatchInner>);

#[derive(Debug)]
struct BatchInner {
    queue: Queue,
    /// The first request id, which identifies the batch.
    first: Mutex<Option<RequestId>>,
    answers: Mutex<Vec<u8>>,
}

impl Batch {
    pub(crate) fn new(queue: Queue) -> Self {
        Self(Arc::new(BatchInner { queue, first: Mutex::default(), answers: Mutex::default() }))
    }

    /// Adds a request to the batch.
    pub(crate) fn includes(&self, id: &RequestId) {
        lock(&self.0.first).get_or_insert_with(|| id.clone());
    }

    /// Returns the size of its responses so far.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0.answers).len()
    }

    pub(crate) fn answer(&self, text: EncodedMessage) {
        let mut answers = lock(&self.0.answers);
        let separator = if answers.is_empty() { b'[' } else { b',' };
        answers.push(separator);
        for piece in text.into_pieces() {
            answers.extend_from_slice(&piece);
        }
    }
}

impl Drop for BatchInner {
    fn drop(&mut self) {
        let mut answers = std::mem::take(&mut *lock(&self.answers));
        if !answers.is_empty() {
            answers.push(b']');
            let kind = lock(&self.first).take().map_or(EntryKind::Free, EntryKind::Batch);
            self.queue.push(kind, Bytes::from(answers));
        }
    }
}
