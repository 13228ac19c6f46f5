//! The server's messages, on their way to the router.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{Error, Outlet, ServerRequest, Slot, Source};

use super::shared::{Answer, Shared};

impl Shared {
    /// Routes a message. Returns the answer to the request that it came for, if that is in it.
    pub(crate) fn receive(self: &Arc<Self>, frame: Bytes, source: Source<'_>) -> Result<Option<Answer>, Error> {
        self.router.receive(frame, source, &mut Answers(self))
    }
}

/// The answers to the server's requests: each is posted by a job of its own.
struct Answers<'a>(&'a Arc<Shared>);

impl Outlet for Answers<'_> {
    fn serve(&mut self, mut request: ServerRequest) {
        let shared = self.0.clone();
        self.0.spawn(async move {
            if let Some(answer) = (&mut request).await {
                shared.send_message(answer).await;
            }
            // Only now: answers that wait to be sent count against the limit, too.
            drop(request);
        });
    }

    fn refuse(&mut self, refusal: Bytes, slot: Slot) {
        let shared = self.0.clone();
        self.0.spawn(async move {
            shared.send_message(refusal).await;
            drop(slot);
        });
    }
}
