//! Messages on their way out, and where they go.

use couplet_types::RequestId;

use crate::{message::text::EncodedMessage, server::queue::Kind};

/// A message to send, and what it belongs to.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// The message.
    pub text: EncodedMessage,
    /// What it belongs to.
    pub route: Route,
}

/// What a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// No request: changes, and errors about messages that could not be read.
    Session,
    /// A request that goes on: a notification, or a question to the client.
    Request(RequestId),
    /// A request that can do without its stream for that many milliseconds. There is no message.
    Release(RequestId, u64),
    /// A request, as its answer; with the code if it is an error.
    Answer(RequestId, Option<i32>),
    /// A batch, as its answers, known by the id of its first request.
    Batch(RequestId),
}

impl From<Kind> for Route {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Free => Self::Session,
            Kind::Notification(id) | Kind::Question(id, _) => Self::Request(id),
            Kind::Release(id, after) => Self::Release(id, after),
            Kind::Answer(id, code) => Self::Answer(id, code),
            Kind::Batch(id) => Self::Batch(id),
        }
    }
}
