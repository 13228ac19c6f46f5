//! The wire format, per era and per revision. Nothing outside this folder knows of either.

mod ability;
pub(crate) mod dialect;
mod form;
pub(crate) mod http;
pub(crate) mod legacy;
pub(crate) mod method;
pub(crate) mod modern;
pub(crate) mod negotiate;
pub(crate) mod project;
pub(crate) mod revision;
mod round;
pub(crate) mod task;

use std::cell::Cell;

use bytes::Bytes;
use couplet_types::{InputRequest, Meta, ProgressToken, RequestId, RpcError};
use serde::Serialize;

use crate::{
    message::{Params, scan::JsonText, text::EncodedMessage},
    service::{Description, Reply, ResultBody},
};
use modern::Identity;
use revision::Revision;

/// The encoding of an era. There are two implementations.
pub(crate) trait Codec: Sync {
    /// Whether a handshake opens a session.
    fn has_sessions(&self) -> bool;

    /// Server: writes the result object of a finished call, up to its own members.
    fn begin(&self, out: &mut Vec<u8>, done: &ResultBody, about: &Description);

    /// Server: writes the result object of a kind that an extension adds, up to its own members.
    fn begin_as(&self, kind: &str, out: &mut Vec<u8>, done: &ResultBody, about: &Description) -> Result<(), RpcError>;

    /// Server: writes the result object of a call that needs input first.
    fn input_required(
        &self,
        out: &mut Vec<u8>,
        asks: &[(String, InputRequest)],
        state: Option<&str>,
        about: &Description,
    ) -> Result<(), RpcError>;

    /// Client: adds `_meta` to the parameters of a request, if it has members.
    fn request_meta(&self, out: &mut Vec<u8>, meta: Option<&Meta>, token: Option<&ProgressToken>, identity: &Identity);

    /// Client: adds `_meta` to the parameters of a request that is forwarded: the client's own members, and those of
    /// `meta` that are not reserved, unparsed.
    fn forwarded_meta(
        &self,
        out: &mut Vec<u8>,
        meta: Option<&Params>,
        token: Option<&ProgressToken>,
        identity: &Identity,
    );

    /// Client: parses a result, whose members may be located already.
    fn outcome(&self, result: JsonText, members: Option<&Params>) -> Result<Outcome, String>;
}

/// The result of a client's request.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The result.
    Complete(JsonText),
    /// The server needs input; answer it, then send the request again.
    InputRequired {
        /// The input requests, by the server's keys.
        asks: Vec<(String, InputRequest)>,
        /// The request state, to be returned unchanged.
        state: Option<String>,
    },
    /// A result of a kind that an extension adds.
    Extension {
        /// The kind.
        kind: String,
        /// The result.
        result: JsonText,
    },
}

/// Encodes the answer to a request; with the code if it is an error.
pub(crate) fn answer(
    revision: Revision,
    id: &RequestId,
    reply: &Reply,
    about: &Description,
) -> (EncodedMessage, Option<i32>) {
    let codec = revision.0.codec;
    let encoded = match reply {
        Reply::Complete(done) => return (complete(codec, id, done, about), None),
        Reply::InputRequired { asks, state } => {
            let mut out = open_answer(id, 256);
            codec.input_required(&mut out, asks, state.as_deref(), about).map(|()| {
                out.push(b'}');
                one_line(out.into())
            })
        }
        Reply::Extension { kind, done } => extended(codec, id, kind, done, about),
        Reply::Error(e) => Err(revision.permitted(e.clone())),
    };
    match encoded {
        Ok(text) => (text.into(), None),
        Err(e) => (error(Some(id), None, &e).into(), Some(e.code)),
    }
}

/// The answer to a request that has a result.
fn complete(codec: &dyn Codec, id: &RequestId, done: &ResultBody, about: &Description) -> EncodedMessage {
    let members = if done.long.is_some() { &done.body[1..] } else { members_of(&done.body) };
    let is_large = members.len() >= EncodedMessage::LARGE;
    let mut out = open_answer(id, if is_large { 256 } else { 256 + members.len() });
    codec.begin(&mut out, done, about);
    if !members.is_empty() || done.long.is_some() {
        separate(&mut out);
    }
    // The members are in one line; `_meta` from a handler may not be.
    let mut out = if done.meta.is_some() { one_line_vec(out) } else { out };
    if is_large {
        return EncodedMessage::new(out.into(), done.body.slice_ref(members), Bytes::from_static(b"}}"));
    }
    out.extend_from_slice(members);
    if let Some(long) = &done.long {
        return EncodedMessage::new(out.into(), long.text.clone(), [&long.rest, &b"}"[..]].concat().into());
    }
    out.extend_from_slice(b"}}");
    Bytes::from(out).into()
}

/// The answer to a request whose result is of a kind that an extension adds.
fn extended(
    codec: &dyn Codec,
    id: &RequestId,
    kind: &str,
    done: &ResultBody,
    about: &Description,
) -> Result<Bytes, RpcError> {
    if !about.extensions.iter().any(|e| e.result_types.iter().any(|k| k == kind)) {
        return Err(RpcError::internal(format!("no extension of this server has results of the kind `{kind}`")));
    }
    let mut out = open_answer(id, 256 + done.body.len());
    codec.begin_as(kind, &mut out, done, about)?;
    append_members(&mut out, &done.whole());
    out.extend_from_slice(b"}}");
    Ok(one_line(out.into()))
}

fn open_answer(id: &RequestId, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write_json(&mut out, id);
    out.extend_from_slice(br#","result":"#);
    out
}

/// Encodes an error. `unreadable` replaces an id that could not be parsed; `None` leaves it out.
pub(crate) fn error(id: Option<&RequestId>, unreadable: Option<&str>, error: &RpcError) -> Bytes {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    match (id, unreadable) {
        (Some(id), _) => {
            out.extend_from_slice(br#""id":"#);
            write_json(&mut out, id);
            out.push(b',');
        }
        (None, Some(text)) => {
            out.extend_from_slice(br#""id":"#);
            out.extend_from_slice(text.as_bytes());
            out.push(b',');
        }
        (None, None) => {}
    }
    out.extend_from_slice(br#""error":"#);
    write_json(&mut out, error);
    out.push(b'}');
    one_line(out.into())
}

/// Encodes the answer to a request of the peer that has a plain result.
pub(crate) fn plain_answer(id: &RequestId, outcome: &Result<JsonText, RpcError>) -> Bytes {
    let result = match outcome {
        Ok(result) => result,
        Err(e) => return error(Some(id), None, e),
    };
    let mut out = open_answer(id, 64 + result.as_bytes().len());
    out.extend_from_slice(result.as_bytes());
    out.push(b'}');
    one_line(out.into())
}

/// Encodes a request up to its parameters.
pub(crate) fn open_request(id: &RequestId, method: &str) -> Bytes {
    encoded(|out| {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        write_json(out, id);
        out.extend_from_slice(br#","method":"#);
        write_json(out, method);
        out.extend_from_slice(br#","params":"#);
    })
}

/// Encodes a request.
pub(crate) fn request(id: &RequestId, method: &str, params: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(64 + params.len());
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write_json(&mut out, id);
    out.extend_from_slice(br#","method":"#);
    write_json(&mut out, method);
    end_with_params(out, params)
}

/// Encodes a notification.
pub(crate) fn notification(method: &str, params: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(64 + params.len());
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    write_json(&mut out, method);
    end_with_params(out, params)
}

fn end_with_params(mut out: Vec<u8>, params: &[u8]) -> Bytes {
    if params != b"{}" {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params);
    }
    out.push(b'}');
    one_line(out.into())
}

/// Removes line breaks, because many transports need messages without. Outside of strings they mean nothing in JSON, and
/// inside of strings they are escaped.
pub(crate) fn one_line(text: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &text).is_none() {
        return text;
    }
    one_line_vec(text.into()).into()
}

fn one_line_vec(mut text: Vec<u8>) -> Vec<u8> {
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    text
}

/// Appends the members of a value that serializes as an object to the open object at the end.
pub(crate) fn write_members<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    write_json(out, value);
    if out.get(start) != Some(&b'{') || out.len() - start <= 2 {
        return out.truncate(start);
    }
    out.truncate(out.len() - 1);
    if out[start - 1] == b'{' {
        // The first member of the object that is open already: there is a brace too many.
        out.remove(start);
    } else {
        out[start] = b',';
    }
}

/// Appends a value as JSON.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("the protocol's types serialize, and writing to a vector does not fail");
}

/// Serializes a value as JSON.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    write_json(&mut out, value);
    out
}

/// Returns the output of `encode`. A small one reuses the buffer of the one before, and has an allocation of its own size.
pub(crate) fn encoded(print: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    thread_local!(static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut out = SCRATCH.take();
    out.clear();
    print(&mut out);
    if out.len() > EncodedMessage::LARGE {
        return out.into();
    }
    let text = Bytes::copy_from_slice(&out);
    SCRATCH.set(out);
    text
}

/// Appends one member as it is to the open object at the end of `out`.
pub(crate) fn append_member(out: &mut Vec<u8>, member: &[u8]) {
    separate(out);
    out.extend_from_slice(member);
}

/// Appends the members of an object's text to the open object at the end of `out`.
pub(crate) fn append_members(out: &mut Vec<u8>, object: &[u8]) {
    let members = members_of(object);
    if members.is_empty() {
        return;
    }
    separate(out);
    out.extend_from_slice(members);
}

/// Appends a comma, unless the next member is the first one of its object.
pub(crate) fn separate(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

/// The text between the braces of an object.
fn members_of(object: &[u8]) -> &[u8] {
    let inner = object.trim_ascii();
    let inner = inner.strip_prefix(b"{").and_then(|t| t.strip_suffix(b"}")).unwrap_or_default();
    inner.trim_ascii()
}
