//! Messages that cannot be taken, and answers that cannot be sent.

use couplet_types::{RequestId, RpcError};

use crate::server::connection::ServerConnection;
use crate::{
    limits::too_large,
    message::{
        Malformed,
        oversized::{Oversized, Skimmed},
        text::EncodedMessage,
    },
    server::{batch::Batch, queue::EntryKind},
    wire::{self, revision::Revision},
};

impl ServerConnection {
    /// Takes note of a message that is above the limit and was dropped: the request is refused, or the request that it
    /// answered fails.
    pub fn receive_oversized(&mut self, message: &Oversized) {
        let what = too_large("the message", message.length, self.limits.message);
        let mut malformed = Malformed::new(None, RpcError::invalid_request(what));
        if let Skimmed::Request(id) = &message.gist {
            malformed.id = Some(id.clone());
        }
        malformed.gist = message.gist.clone().into();
        self.unreadable(&malformed);
    }

    /// Answers a message that could not be read, unless it is an answer itself.
    pub(super) fn unreadable(&mut self, malformed: &Malformed) {
        match (&*malformed.gist, &malformed.id) {
            (Skimmed::Response(id), _) if self.questions.settle(id, Err(malformed.error.clone())) => {}
            // The question that it answers is not open.
            (Skimmed::Response(_), None) => {}
            // An answer to this id would be taken for the answer to the request that runs.
            (Skimmed::Request(_), Some(id)) if self.requests.contains_key(id) => {
                self.reject(&Malformed::new(None, malformed.error.clone()), None);
            }
            _ => self.reject(malformed, None),
        }
    }

    pub(super) fn reject(&self, malformed: &Malformed, batch: Option<&Batch>) {
        let known = self.session.as_ref().map(|s| s.revision).or_else(|| self.memo.revision());
        let revision = known.unwrap_or_else(Revision::oldest);
        let text = wire::error(malformed.id.as_ref(), revision.0.unreadable_id, &malformed.error);
        match batch {
            Some(batch) => batch.answer(text.into()),
            None => self.queue.push(EntryKind::Free, text),
        }
    }

    /// What is answered instead of a text that no client would take.
    #[cold]
    pub(super) fn too_large(&self, id: &RequestId, length: usize) -> (EncodedMessage, Option<i32>) {
        let error = RpcError::internal(too_large("the result", length, self.limits.max_sent()));
        (wire::error(Some(id), None, &error).into(), Some(error.code))
    }
}
