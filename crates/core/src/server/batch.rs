//! The answers to a batch, which go out together.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use couplet_types::RequestId;

use crate::{
    message::text::EncodedMessage,
    server::queue::{Kind, Queue},
    sync::lock,
};

/// One batch on its way to be answered. Clones are the same batch; when the last one is gone, the answers go out.
#[derive(Clone, Debug)]
pub(crate) struct Batch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queue: Queue,
    /// The first request, by which the answers are known.
    first: Mutex<Option<RequestId>>,
    answers: Mutex<Vec<u8>>,
}

impl Batch {
    pub(crate) fn new(queue: Queue) -> Self {
        Self(Arc::new(Inner { queue, first: Mutex::default(), answers: Mutex::default() }))
    }

    /// Notes that a request is part of the batch.
    pub(crate) fn includes(&self, id: &RequestId) {
        lock(&self.0.first).get_or_insert_with(|| id.clone());
    }

    /// How many bytes its answers have until now.
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

impl Drop for Inner {
    fn drop(&mut self) {
        let mut answers = std::mem::take(&mut *lock(&self.answers));
        if !answers.is_empty() {
            answers.push(b']');
            let kind = lock(&self.first).take().map_or(Kind::Free, Kind::Batch);
            self.queue.push(kind, Bytes::from(answers));
        }
    }
}
