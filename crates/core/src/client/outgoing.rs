//! A client's request, ready to be sent.

use std::{borrow::Cow, ops::Range};

use bytes::Bytes;
use couplet_types::{RequestId, RpcError};

use crate::{
    message::{Params, scan::JsonText, text::EncodedMessage},
    wire::{
        self,
        method::{CallTarget, Method},
    },
};

/// A request that is ready to be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The id, from [`Channel::next_id`](crate::Channel::next_id).
    pub id: RequestId,
    /// The method.
    pub method: &'static str,
    /// The parameters, complete.
    pub params: Bytes,
    /// The parameter that names the target of the request, if an extension defines one.
    pub named_by: Option<&'static str>,
    /// The revision that the request names itself, if it is stateless.
    pub(crate) revision: Option<&'static str>,
    /// The name of the target in the parameters, if it is known where that is.
    pub(crate) name_at: Option<Range<usize>>,
}

impl Outgoing {
    /// Serializes the message.
    pub fn message(&self) -> Bytes {
        wire::request(&self.id, self.method, &self.params)
    }

    /// Serializes the message, with the parameters as a piece of their own.
    pub(crate) fn into_text(self) -> EncodedMessage {
        let head = wire::open_request(&self.id, self.method);
        EncodedMessage::new(head, wire::one_line(self.params), Bytes::from_static(b"}"))
    }

    /// Returns the revision that a stateless request names itself.
    pub fn revision(&self) -> Option<&'static str> {
        self.revision
    }

    /// Returns the name of the request's target (a tool, a prompt, a resource), for the methods that have one.
    pub fn name(&self) -> Option<String> {
        let key = target_key(self.method, self.named_by)?;
        if let Some([b'"', plain @ .., b'"']) = self.name_at.clone().and_then(|place| self.params.get(place))
            && memchr::memchr(b'\\', plain).is_none()
        {
            return String::from_utf8(plain.to_vec()).ok();
        }
        self.read()?.read_str(key).ok().flatten().map(Cow::into_owned)
    }

    /// Returns one of the parameters.
    pub fn param(&self, key: &str) -> Option<JsonText> {
        self.read()?.get(key)
    }

    fn read(&self) -> Option<Params> {
        Params::from_text(JsonText::trusted(self.params.clone())).ok()
    }
}

/// Returns the parameter that names the target of a request, if there is one.
pub(crate) fn target_key(method: &str, named_by: Option<&'static str>) -> Option<&'static str> {
    let target = Method::named(method).and_then(|method| method.target);
    target.map(CallTarget::parameter).or(named_by)
}

/// Serializes the answer to a request of the server.
pub fn encode_answer(id: &RequestId, answer: &Result<JsonText, RpcError>) -> Bytes {
    wire::plain_answer(id, answer)
}
