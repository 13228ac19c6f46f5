//! The names of the headers, and how a request over HTTP finds its era.

use couplet_types::{ProtocolVersion, RequestId, RpcError, code};

use super::{method, modern, revision::Revision};
use crate::{
    http::headers::decode,
    message::{Body, Frame, Malformed, Message, Params, scan::JsonText},
    service::{Description, Service},
};

/// The session that a request belongs to.
pub const SESSION: &str = "mcp-session-id";
/// The revision that is spoken.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method, once more.
pub const METHOD: &str = "mcp-method";
/// The name of what the method is about, once more.
pub const NAME: &str = "mcp-name";
/// What the headers of mirrored arguments begin with.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// After which event a stream goes on.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The headers of a request.
pub trait Fields {
    /// One header; the name is in lower case.
    fn field(&self, name: &str) -> Field<'_>;
}

/// One header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// It is not there.
    Absent,
    /// What it says.
    Value(&'a [u8]),
    /// It is there more than once.
    Repeated,
}

/// Where a message belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lane {
    /// It says everything itself: it needs a connection of its own, and whoever hangs up cancels it.
    Alone,
    /// It opens a session.
    Opening,
    /// It belongs to the session of this id.
    Session(String),
    /// It belongs to a session and names none: see [`no_session`] and [`spoken`].
    Sessionless,
}

/// Why a message is not taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// The id to repeat.
    pub id: Option<RequestId>,
    /// What to say.
    pub error: RpcError,
}

impl Refusal {
    fn bad(id: Option<&RequestId>, error: RpcError) -> Self {
        let status = if error.code == code::METHOD_NOT_FOUND { 404 } else { 400 };
        Self { status, id: id.cloned(), error }
    }

    /// The body of the answer.
    pub fn text(&self) -> bytes::Bytes {
        super::error(self.id.as_ref(), None, &self.error)
    }
}

/// The body of an answer to a request that was not read.
pub fn refuse(error: &RpcError) -> bytes::Bytes {
    super::error(None, None, error)
}

/// The body of an answer to something that is not a message.
pub fn unreadable(fields: &dyn Fields, malformed: &Malformed) -> bytes::Bytes {
    let named = one(fields, PROTOCOL_VERSION).ok().flatten().and_then(|v| v.parse().ok()).map(Revision::of);
    let revision = named.unwrap_or_else(Revision::oldest);
    super::error(malformed.id.as_ref(), revision.0.unreadable_id, &malformed.error)
}

/// The status of an answer to a message that was [`Lane::Alone`]; `code` if it is an error.
pub fn status(code: Option<i32>) -> u16 {
    match code {
        Some(code::METHOD_NOT_FOUND) => 404,
        Some(code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION) => 400,
        _ => 200,
    }
}

/// Whether the server speaks a revision that has sessions.
pub fn has_sessions(about: &Description) -> bool {
    about.versions.iter().any(|v| Revision::of(*v).0.codec.has_sessions())
}

/// Finds out where a message belongs, and whether its headers say what it says.
///
/// # Errors
/// What to answer if they do not, or if the message belongs nowhere.
pub fn sort(fields: &dyn Fields, frame: &Frame, service: &dyn Service) -> Result<Lane, Refusal> {
    let about = service.describe();
    let (id, method, params) = match frame {
        Frame::Single(Message { body: Body::Request { id, method, params }, .. }) => (Some(id), &**method, params),
        Frame::Single(Message { body: Body::Notification { method, params }, .. }) => (None, &**method, params),
        _ => return session_only(fields, frame, &about),
    };
    let refuse = |error| Refusal::bad(id, error);
    let version = one(fields, PROTOCOL_VERSION).map_err(refuse)?;
    let meta = modern::meta(params);
    let marked = meta.is_some_and(modern::is_marked);
    let stateless = named(version).is_some_and(|s| !s.0.codec.has_sessions());
    if marked || stateless {
        if id.is_some() {
            stand_alone(fields, version, method, params, meta, service, &about).map_err(refuse)?;
        } else {
            mirrored_method(fields, method, false).map_err(refuse)?;
        }
        return Ok(Lane::Alone);
    }
    known_version(version, &about).map_err(refuse)?;
    if method == "initialize" && id.is_some() {
        return Ok(Lane::Opening);
    }
    match one(fields, SESSION).map_err(refuse)? {
        Some(session) => Ok(Lane::Session(session.to_owned())),
        None if method == "ping" && id.is_some() => Ok(Lane::Alone),
        None => Ok(Lane::Sessionless),
    }
}

/// What to answer to a message that is [`Lane::Sessionless`] where sessions are kept.
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

/// The revision that a message is written in, where sessions are not kept and cannot tell: the one that it names, or
/// the first that had this transport.
pub fn spoken(fields: &dyn Fields, about: &Description) -> Option<ProtocolVersion> {
    let has_sessions = |version: &ProtocolVersion| Revision::of(*version).0.codec.has_sessions();
    let named = one(fields, PROTOCOL_VERSION).ok().flatten().and_then(|v| v.parse().ok()).filter(has_sessions);
    let assumed = Some(ProtocolVersion::V2025_03_26).filter(|v| about.versions.contains(v));
    named.or(assumed).or_else(|| about.versions.iter().copied().find(has_sessions))
}

/// The session that a request without a message is about, if it names one.
///
/// # Errors
/// What to answer if its headers cannot be read, or name a revision that has no sessions.
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

/// What only makes sense in a session.
fn session_only(fields: &dyn Fields, frame: &Frame, about: &Description) -> Result<Lane, Refusal> {
    let refuse = |error| Refusal::bad(None, error);
    let version = one(fields, PROTOCOL_VERSION).map_err(refuse)?;
    let stateless = named(version).is_some_and(|s| !s.0.codec.has_sessions());
    if stateless {
        return Err(no_session(frame, about));
    }
    known_version(version, about).map_err(refuse)?;
    let session = one(fields, SESSION).map_err(refuse)?;
    Ok(session.map_or(Lane::Sessionless, |session| Lane::Session(session.to_owned())))
}

fn named(version: Option<&str>) -> Option<Revision> {
    version?.parse().ok().map(Revision::of)
}

/// A header, if it is there, must name a revision that the server speaks.
fn known_version(version: Option<&str>, about: &Description) -> Result<(), RpcError> {
    match version {
        Some(version) if !version.parse::<ProtocolVersion>().is_ok_and(|v| about.versions.contains(&v)) => {
            Err(modern::unsupported(version, about))
        }
        _ => Ok(()),
    }
}

/// The checks of a request without a session, in the order in which faults are reported.
fn stand_alone(
    fields: &dyn Fields,
    version: Option<&str>,
    method: &str,
    params: &Params,
    meta: Option<&Params>,
    service: &dyn Service,
    about: &Description,
) -> Result<(), RpcError> {
    let version = version.ok_or_else(|| missing(PROTOCOL_VERSION))?;
    mirrored_method(fields, method, true)?;
    let said = modern::required(meta)?;
    if said != version {
        return Err(mismatch(PROTOCOL_VERSION));
    }
    let revision = modern::supported(&said, about)?;
    if !method::is_served(method, revision.0, about) {
        return Err(RpcError::method_not_found(method));
    }
    let extra = || about.extensions_in(revision).find_map(|e| e.find(method)?.named_by.as_deref());
    let Some(key) = named_by(method).or_else(extra) else { return Ok(()) };
    // A name that is missing or is not a text is the method's own business.
    let Ok(Some(name)) = params.read_str(key) else { return Ok(()) };
    mirrored_name(fields, &name)?;
    if method == "tools/call" {
        mirrored_arguments(fields, &name, params, service)?;
    }
    Ok(())
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

/// The parameter that names what a method is about.
pub(crate) fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// A header that is there at most once, and is plain text.
fn one<'a>(fields: &'a dyn Fields, name: &str) -> Result<Option<&'a str>, RpcError> {
    match fields.field(name) {
        Field::Absent => Ok(None),
        Field::Repeated => Err(repeated(name)),
        Field::Value(value) => match std::str::from_utf8(value) {
            // Not `all`: looking at every byte is faster than asking after each whether to go on.
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
