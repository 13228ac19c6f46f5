//! Messages that are left in the store for the owner of a session, because it takes no requests: it shuts down. They carry the
//! envelope of a forwarded request, so that only replicas can write them.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use couplet_core::{Caller, message};
use http::StatusCode;

use crate::server::{
    endpoint::Endpoint,
    replica::{
        Replicas,
        envelope::{Envelope, body_digest},
    },
    response::{self, Reply},
    session::{
        driver,
        live::{Declined, LiveSession},
        store::{Node, Posted},
        store_timeout::{SharedStore, log_failure},
    },
};

impl Endpoint {
    /// Leaves a message for the owner of a session; false if it is not the owner any more.
    ///
    /// # Errors
    /// The response if the message cannot be stored.
    pub(crate) async fn leave(
        &self,
        replicas: &Replicas,
        shared: &SharedStore,
        owner: &Node,
        envelope: &Envelope,
        body: &[u8],
    ) -> Result<bool, Box<Reply>> {
        let unavailable = || {
            response::busy(StatusCode::SERVICE_UNAVAILABLE, "the replica that owns the session takes no messages now")
        };
        let Some(message) = replicas.replica.seal(envelope).map(|head| wrap(&head, body)) else {
            return Err(unavailable().into());
        };
        match self.config.post(shared, &envelope.session, owner, message).await {
            Ok(Posted::Stored) => Ok(true),
            Ok(Posted::Elsewhere) => Ok(false),
            Ok(Posted::Full) => Err(unavailable().into()),
            Err(error) => {
                log_failure(&error, "a message for the owner of a session cannot be stored");
                Err(unavailable().into())
            }
        }
    }

    /// Takes the messages that were left for a session to its connection.
    pub(crate) async fn collect(&self, shared: &SharedStore, live: &Arc<LiveSession>) {
        let Some(replicas) = &self.config.replicas else { return };
        let _turn = self.state.collecting.lock().await;
        let messages = match self.config.take(shared, live, live.taken.load(Ordering::Relaxed)).await {
            Ok(messages) => messages,
            Err(error) => return log_failure(&error, "the messages for a session cannot be taken"),
        };
        for (number, message) in messages {
            let delivered = self
                .verify_left(replicas, live, &message)
                .and_then(|(caller, body)| self.deliver_left(live, caller, body));
            match delivered {
                Ok(()) => driver::wake(live, &self.config),
                // It is there the next time, for this owner or another one.
                Err(Skipped::NotNow) => return,
                Err(Skipped::Wrong(why)) => tracing::warn!(why, "a message that was left for a session is skipped"),
            }
            live.taken.store(number, Ordering::Relaxed);
        }
    }

    /// Verifies a message, and returns its caller and its text.
    fn verify_left(&self, replicas: &Replicas, live: &LiveSession, message: &Bytes) -> Result<Verified, Skipped> {
        let wrong = |why: &str| Skipped::Wrong(why.to_owned());
        let end = message.iter().position(|byte| *byte == b'\n');
        // It may have been there for long, and is removed when it was taken.
        let envelope = end.and_then(|end| Some((replicas.replica.open_stored(&message[..end])?, end + 1)));
        let (envelope, start) = envelope.ok_or_else(|| wrong("it is not one of a replica"))?;
        let body = message.slice(start..);
        if *envelope.session != *live.id || envelope.body_digest != body_digest(&body) {
            return Err(wrong("it is for another session"));
        }
        let caller = match envelope.caller {
            None => None,
            Some(claimed) => {
                let caller = claimed.caller(&replicas.claims);
                Some(Arc::new(caller.ok_or_else(|| wrong("the claims of its caller have another type"))?))
            }
        };
        if caller.as_ref().map(|caller| caller.principal()) != live.principal.as_ref() {
            return Err(wrong("it is of another caller"));
        }
        Ok((caller, body))
    }

    fn deliver_left(&self, live: &LiveSession, caller: Option<Arc<Caller>>, body: Bytes) -> Result<(), Skipped> {
        let size = body.len();
        let frame = message::read(body, self.config.connection.bounds);
        let frame = frame.map_err(|_| Skipped::Wrong("it is not a message".to_owned()))?;
        live.deliver(frame, size, caller, &self.config.limits).map_err(|declined| match declined {
            Declined::Busy | Declined::Gone | Declined::Moved => Skipped::NotNow,
            Declined::Wrong(_, error) => Skipped::Wrong(error.to_string()),
        })
    }
}

/// The caller of a message, and its text.
type Verified = (Option<Arc<Caller>>, Bytes);

/// Why a message is not taken to its connection.
enum Skipped {
    NotNow,
    Wrong(String),
}

/// The head and the body in one text.
fn wrap(head: &str, body: &[u8]) -> Bytes {
    [head.as_bytes(), b"\n", body].concat().into()
}
