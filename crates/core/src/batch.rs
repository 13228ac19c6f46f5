//! The answers to a batch, which go out together.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::{
    queue::{Kind, Queue},
    sync::lock,
};

/// One batch on its way to be answered. Clones are the same batch; when the last one is gone, the answers go out.
#[derive(Clone, Debug)]
pub(crate) struct Batch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queue: Queue,
    answers: Mutex<Vec<u8>>,
}

impl Batch {
    pub(crate) fn new(queue: Queue) -> Self {
        Self(Arc::new(Inner { queue, answers: Mutex::default() }))
    }

    pub(crate) fn answer(&self, text: &Bytes) {
        let mut answers = lock(&self.0.answers);
        let separator = if answers.is_empty() { b'[' } else { b',' };
        answers.push(separator);
        answers.extend_from_slice(text);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut answers = std::mem::take(&mut *lock(&self.answers));
        if !answers.is_empty() {
            answers.push(b']');
            self.queue.push(Kind::Free, answers.into());
        }
    }
}
