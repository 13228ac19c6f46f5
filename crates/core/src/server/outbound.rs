//! Outbound messages and their routes.

use couplet_types::RequestId;

use crate::{message::text::EncodedMessage, server::queue::EntryKind};

/// A message to send, with its route.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// The message.
    pub text: EncodedMessage,
    /// The route.
    pub route: Route,
}

/// What an outbound message belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// No request: changes, and errors about messages that could not be parsed.
    Session,
    /// A running request: a notification, or a request to the client.
    Request(RequestId),
    /// A running request that does not need its stream for that many milliseconds. There is no message.
    Release(RequestId, u64),
    /// The response of a request; with the code if it is an error.
    Answer(RequestId, Option<i32>),
    /// The responses of a batch, identified by its first request id.
    Batch(RequestId),
}

impl From<EntryKind> for Route {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Free => Self::Session,
            EntryKind::Notification(id) | EntryKind::Question(id, _) => Self::Request(id),
            EntryKind::Release(id, after) => Self::Release(id, after),
            EntryKind::Answer(id, code) => Self::Answer(id, code),
            EntryKind::Batch(id) => Self::Batch(id),
        }
    }
}
