//! The names of the headers, and the connection that an HTTP request belongs to.

use couplet_types::{Initialize, Ping, ProtocolVersion, Request, RequestId, RpcError, code};

use super::{
    method::CallTarget,
    modern::{self, Checked},
    revision::Revision,
};
use crate::{
    http::headers::decode,
    message::{Body, Frame, Malformed, Message, Params, scan::JsonText},
    service::{Description, Service},
};

/// The header with the session of a request.
pub const SESSION: &str = "mcp-session-id";
/// The header with the protocol version.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The header that repeats the method.
pub const METHOD: &str = "mcp-method";
/// The header that repeats the name of the request's target.
pub const NAME: &str = "mcp-name";
/// The prefix of headers that repeat arguments.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The header with the event after which a stream resumes.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The headers of a request.
pub trait Fields {
    /// Looks up a header; the name is in lower case.
    fn field(&self, name: &str) -> Field<'_>;
}

/// One header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// The header is missing.
    Absent,
    /// The value.
    Value(&'a [u8]),
    /// The header occurs more than once.
    Repeated,
}

/// The connection that a message belongs to.
#[derive(Clone, Debug)]
pub enum Placement {
    /// A stateless request, for [`ServerConnection::receive_checked`](crate::ServerConnection::receive_checked) on a
    /// connection of its own. Closing the response cancels it.
    Stateless(Checked),
    /// Another message that needs no session: a stateless notification, or a `ping`.
    Unbound,
    /// An `initialize`, which opens a session.
    Initialize,
    /// A message of the session with this id.
    Session(String),
    /// A message that needs a session and names none: see [`no_session`] and [`session_version`].
    MissingSession,
}

/// The response to a message that is rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The id of the request.
    pub id: Option<RequestId>,
    /// The error.
    pub error: RpcError,
}

impl Refusal {
    fn bad(id: Option<&RequestId>, error: RpcError) -> Self {
        let status = if error.code == code::METHOD_NOT_FOUND { 404 } else { 400 };
        Self { status, id: id.cloned(), error }
    }

    /// Returns the body of the response.
    pub fn text(&self) -> bytes::Bytes {
        super::error(self.id.as_ref(), None, &self.error)
    }
}

/// Returns the body of the response to a request that was not parsed.
pub fn refuse(error: &RpcError) -> bytes::Bytes {
    super::error(None, None, error)
}

/// Returns the body of the response to a malformed message.
pub fn unreadable(fields: &dyn Fields, malformed: &Malformed) -> bytes::Bytes {
    let named = one(fields, PROTOCOL_VERSION).ok().flatten().and_then(|v| v.parse().ok()).map(Revision::of);
    let revision = named.unwrap_or_else(Revision::oldest);
    super::error(malformed.id.as_ref(), revision.0.unreadable_id, &malformed.error)
}

/// Returns the HTTP status of the answer to a stateless request; `code` is that of an error.
pub fn status(code: Option<i32>) -> u16 {
    match code {
        Some(code::METHOD_NOT_FOUND) => 404,
        Some(code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION) => 400,
        _ => 200,
    }
}

/// Whether the server supports a revision that has sessions.
pub fn has_sessions(about: &Description) -> bool {
    about.versions.iter().any(|v| Revision::of(*v).0.codec.has_sessions())
}

/// Finds the connection that a message belongs to, and checks its headers against its body.
///
/// # Errors
/// The response to send if they contradict each other, or if the server does not serve the request.
pub fn place(fields: &dyn Fields, frame: &Frame, service: &dyn Service) -> Result<Placement, Refusal> {
    let about = service.describe();
    let (id, method, params) = match frame {
        Frame::Single(Message { body: Body::Request { id, method, params }, .. }) => (Some(id), &**method, params),
        Frame::Single(Message { body: Body::Notification { method, params }, .. }) => (None, &**method, params),
        _ => return session_only(fields, frame, &about),
    };
    let refuse = |error| Refusal::bad(id, error);
    let version = one(fields, PROTOCOL_VERSION).map_err(refuse)?;
    let meta = params.valid_meta();
    let marked = meta.is_some_and(modern::is_marked);
    let stateless = named(version).is_some_and(|s| !s.0.codec.has_sessions());
    if marked || stateless {
        return match id {
            Some(_) => {
                stateless_request(fields, version, method, params, meta, service, &about).map(Placement::Stateless)
            }
            None => mirrored_method(fields, method, false).map(|()| Placement::Unbound),
        }
        .map_err(refuse);
    }
    known_version(version, &about).map_err(refuse)?;
    if method == Initialize::METHOD && id.is_some() {
        return Ok(Placement::Initialize);
    }
    match one(fields, SESSION).map_err(refuse)? {
        Some(session) => Ok(Placement::Session(session.to_owned())),
        None if method == Ping::METHOD && id.is_some() => Ok(Placement::Unbound),
        None => Ok(Placement::MissingSession),
    }
}

/// Returns the response to a message that is [`Placement::MissingSession`].
pub fn no_session(frame: &Frame, about: &Description) -> Refusal {
    match frame {
        Frame::Single(Message { body: Body::Request { id, method, .. }, .. }) => {
            Refusal::bad(Some(id), modern::unmarked(method, about))
        }
        Frame::Single(Message { body: Body::Notification { method, .. }, .. }) => {
            Refusal::bad(None, modern::unmarked(method, about))
        }
        Frame::Single(_) => Refusal::bad(None, RpcError::invalid_request("a response needs a session")),
        Frame::Batch(_) => Refusal::bad(None, RpcError::invalid_request("a batch needs a session")),
    }
}

/// Returns the revision of a message of a session, where sessions are not stored: the one in its header, or the first
/// that had this transport.
pub fn session_version(fields: &dyn Fields, about: &Description) -> Option<ProtocolVersion> {
    let has_sessions = |version: &ProtocolVersion| Revision::of(*version).0.codec.has_sessions();
    let named = one(fields, PROTOCOL_VERSION).ok().flatten().and_then(|v| v.parse().ok()).filter(has_sessions);
    let assumed = Some(ProtocolVersion::V2025_03_26).filter(|v| about.versions.contains(v));
    named.or(assumed).or_else(|| about.versions.iter().copied().find(has_sessions))
}

/// Returns the session of a request without a body, if it names one.
///
/// # Errors
/// The response to send if its headers are malformed, or name a revision without sessions.
pub fn session(fields: &dyn Fields, about: &Description) -> Result<Option<String>, Refusal> {
    let refuse = |error| Refusal::bad(None, error);
    let version = one(fields, PROTOCOL_VERSION).map_err(refuse)?;
    if named(version).is_some_and(|s| !s.0.codec.has_sessions()) {
        let error = RpcError::invalid_request("this revision has no sessions");
        return Err(Refusal { status: 405, id: None, error });
    }
    known_version(version, about).map_err(refuse)?;
    Ok(one(fields, SESSION).map_err(refuse)?.map(str::to_owned))
}

/// Places a message that only makes sense in a session.
fn session_only(fields: &dyn Fields, frame: &Frame, about: &Description) -> Result<Placement, Refusal> {
    let refuse = |error| Refusal::bad(None, error);
    let version = one(fields, PROTOCOL_VERSION).map_err(refuse)?;
    let stateless = named(version).is_some_and(|s| !s.0.codec.has_sessions());
    if stateless {
        return Err(no_session(frame, about));
    }
    known_version(version, about).map_err(refuse)?;
    let session = one(fields, SESSION).map_err(refuse)?;
    Ok(session.map_or(Placement::MissingSession, |session| Placement::Session(session.to_owned())))
}

fn named(version: Option<&str>) -> Option<Revision> {
    version?.parse().ok().map(Revision::of)
}

/// Checks that the header, if there is one, names a revision that the server supports.
fn known_version(version: Option<&str>, about: &Description) -> Result<(), RpcError> {
    match version {
        Some(version) if !version.parse::<ProtocolVersion>().is_ok_and(|v| about.versions.contains(&v)) => {
            Err(modern::unsupported(version, about))
        }
        _ => Ok(()),
    }
}

/// Checks a stateless request, in the order in which faults are reported.
fn stateless_request(
    fields: &dyn Fields,
    version: Option<&str>,
    method: &str,
    params: &Params,
    meta: Option<&Params>,
    service: &dyn Service,
    about: &Description,
) -> Result<Checked, RpcError> {
    let version = version.ok_or_else(|| missing(PROTOCOL_VERSION))?;
    mirrored_method(fields, method, true)?;
    let said = modern::required(meta)?;
    if said != version {
        return Err(mismatch(PROTOCOL_VERSION));
    }
    let checked = Checked::new(&said, method, about)?;
    let target = checked.method.and_then(|known| known.target);
    let added = || about.extensions_in(checked.revision).find_map(|e| e.find(method)?.named_by.as_deref());
    let Some(key) = target.map(CallTarget::parameter).or_else(added) else { return Ok(checked) };
    // A name that is missing or is not a string is reported by the method itself.
    let Ok(Some(name)) = params.read_str(key) else { return Ok(checked) };
    mirrored_name(fields, &name)?;
    if target == Some(CallTarget::Tool) {
        mirrored_arguments(fields, &name, params, service)?;
    }
    Ok(checked)
}

fn mirrored_method(fields: &dyn Fields, method: &str, required: bool) -> Result<(), RpcError> {
    match one(fields, METHOD)? {
        Some(said) if said == method => Ok(()),
        Some(_) => Err(mismatch(METHOD)),
        None if required => Err(missing(METHOD)),
        None => Ok(()),
    }
}

fn mirrored_name(fields: &dyn Fields, name: &str) -> Result<(), RpcError> {
    let said = match fields.field(NAME) {
        Field::Absent => return Err(missing(NAME)),
        Field::Repeated => return Err(repeated(NAME)),
        Field::Value(said) => said,
    };
    match decode(said) {
        Ok(said) if said == name => Ok(()),
        Ok(_) => Err(mismatch(NAME)),
        Err(what) => Err(header(format!("the header `{NAME}` cannot be read: {what}"))),
    }
}

fn mirrored_arguments(fields: &dyn Fields, tool: &str, params: &Params, service: &dyn Service) -> Result<(), RpcError> {
    let Some(mirrored) = service.header_params(tool) else { return Ok(()) };
    let arguments = params.get("arguments").unwrap_or_else(JsonText::empty_object);
    for param in mirrored.iter() {
        let name = param.header();
        let said = match fields.field(&name.to_ascii_lowercase()) {
            Field::Absent => None,
            Field::Value(said) => Some(said),
            Field::Repeated => return Err(repeated(&name)),
        };
        param.check(said, &arguments).map_err(header)?;
    }
    Ok(())
}

/// Returns a header that occurs at most once and is plain text.
fn one<'a>(fields: &'a dyn Fields, name: &str) -> Result<Option<&'a str>, RpcError> {
    match fields.field(name) {
        Field::Absent => Ok(None),
        Field::Repeated => Err(repeated(name)),
        Field::Value(value) => match std::str::from_utf8(value) {
            // Not `all`: without early exit the loop is vectorized.
            Ok(text) if text.bytes().fold(true, |good, b| good & matches!(b, 0x20..=0x7e | b'\t')) => {
                Ok(Some(text.trim_ascii()))
            }
            _ => Err(header(format!("the header `{name}` has characters that a header must not have"))),
        },
    }
}

fn missing(name: &str) -> RpcError {
    header(format!("the header `{name}` is missing"))
}

fn mismatch(name: &str) -> RpcError {
    header(format!("the header `{name}` is not what the body says"))
}

fn repeated(name: &str) -> RpcError {
    header(format!("the header `{name}` is there more than once"))
}

fn header(what: String) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, what)
}

#[cfg(test)]
mod tests;
