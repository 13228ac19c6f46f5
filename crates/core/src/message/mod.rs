//! The JSON-RPC envelope: the kind of a message, its id and its method, found in one pass. Parameters stay unparsed.
//!
//! | file | subject |
//! |---|---|
//! | `scan` | the strict JSON scanner, and slices of a message |
//! | `line` | newline-delimited framing |
//! | `text`, `escape`, `buffers` | encoded messages, long strings, reused buffers |
//! | `splice` | one member replaced, the others untouched |
//! | `oversized` | what can be learned of a message above the size limit |
//! | `visible` | untrusted text for people |

pub mod buffers;
pub(crate) mod escape;
pub mod line;
pub(crate) mod oversized;
pub(crate) mod scan;
mod splice;
pub(crate) mod text;
pub(crate) mod visible;

use std::{borrow::Cow, ops::Range, sync::Arc};

use bytes::Bytes;
use couplet_types::{RequestId, RpcError};
use serde::de::DeserializeOwned;

use crate::{
    message::{
        oversized::Skimmed,
        scan::{Bounds, Fault, JsonText, Kind, Members, Scanner},
    },
    wire::method,
};

/// The content of one frame.
#[derive(Debug)]
pub enum Frame {
    /// One message.
    Single(Message),
    /// A batch: messages in an array, each valid or not.
    Batch(Vec<Result<Message, Malformed>>),
}

/// One message. The text gives access to members without a type here.
#[derive(Clone, Debug)]
pub struct Message {
    /// The whole message.
    pub text: JsonText,
    /// The parsed envelope.
    pub body: Body,
}

/// The kind of a message, with its members.
#[derive(Clone, Debug)]
pub enum Body {
    /// A request.
    Request {
        /// The id, repeated in the response.
        id: RequestId,
        /// The method.
        method: Cow<'static, str>,
        /// The parameters.
        params: Params,
    },
    /// A notification.
    Notification {
        /// The method.
        method: Cow<'static, str>,
        /// The parameters.
        params: Params,
    },
    /// A response.
    Response {
        /// The id of the request; absent if the peer could not parse it.
        id: Option<RequestId>,
        /// The result or the error.
        outcome: Result<JsonText, RpcError>,
    },
}

/// An invalid message, with the id to respond to if it could be parsed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Malformed {
    /// The id of the invalid request.
    pub id: Option<RequestId>,
    /// The error to respond with.
    pub error: RpcError,
    /// The beginning of the frame for error messages: at most [`Malformed::EXCERPT`] bytes. Empty without a frame.
    pub excerpt: Bytes,
    /// The kind of message that it seems to be.
    pub(crate) gist: Box<Skimmed>,
}

impl Malformed {
    /// The maximum length of the excerpt in bytes.
    pub const EXCERPT: usize = 256;

    /// Creates the error for an invalid message.
    pub fn new(id: Option<RequestId>, error: RpcError) -> Self {
        Self { id, error, excerpt: Bytes::new(), gist: Box::default() }
    }

    fn syntax(fault: &Fault, id: Option<RequestId>) -> Self {
        Self::new(id, RpcError::parse_error(format!("the message is not valid JSON: {fault}")))
    }

    /// Returns the id of the request that it responds to, if it seems to be a response.
    pub fn answers(&self) -> Option<&RequestId> {
        match &*self.gist {
            Skimmed::Response(id) => Some(id),
            _ => None,
        }
    }

    fn invalid(id: Option<RequestId>, what: impl Into<String>) -> Self {
        Self::new(id, RpcError::invalid_request(what))
    }

    /// Copies the excerpt, because the frame may be large.
    fn in_frame(mut self, frame: &[u8]) -> Self {
        self.excerpt = Bytes::copy_from_slice(&frame[..frame.len().min(Self::EXCERPT)]);
        self.gist = Skimmed::of(frame).into();
        if let (None, Skimmed::Request(id)) = (&self.id, &*self.gist) {
            self.id = Some(id.clone());
        }
        self
    }
}

/// Parses one frame.
///
/// ```
/// use couplet_core::{Bounds, message::{Body, Frame, read}};
///
/// let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
/// let Ok(Frame::Single(message)) = read(text.into(), Bounds::default()) else { panic!() };
/// let Body::Request { method, params, .. } = message.body else { panic!() };
/// assert_eq!(method, "tools/call");
/// assert_eq!(params.get("name").unwrap().as_str(), r#""add""#);
/// ```
///
/// # Errors
/// The response to a frame that is not JSON or not a message.
pub fn read(frame: Bytes, bounds: Bounds) -> Result<Frame, Malformed> {
    read_frame(&frame, bounds).map_err(|malformed| malformed.in_frame(&frame))
}

fn read_frame(frame: &Bytes, bounds: Bounds) -> Result<Frame, Malformed> {
    let text = std::str::from_utf8(frame).map_err(|error| {
        let what = format!("the message is not valid UTF-8 (byte {})", error.valid_up_to());
        Malformed::new(None, RpcError::parse_error(what))
    })?;
    let mut scanner = Scanner::new(text, bounds);
    if scanner.peek() == Some(b'[') {
        return read_batch(frame, scanner).map(Frame::Batch);
    }
    let message = read_message(frame, &mut scanner, 0)?;
    match scanner.end() {
        Ok(()) => message.map(Frame::Single),
        Err(fault) => Err(Malformed::syntax(&fault, None)),
    }
}

fn read_batch(frame: &Bytes, mut scanner: Scanner<'_>) -> Result<Vec<Result<Message, Malformed>>, Malformed> {
    let mut messages = Vec::new();
    let mut broken = None;
    let scanned = scanner.array(0, &mut |s| match read_message(frame, s, 1) {
        Ok(message) => {
            messages.push(message);
            Ok(())
        }
        Err(malformed) => {
            broken = Some(malformed);
            Err(Fault::default())
        }
    });
    if let Some(malformed) = broken {
        return Err(malformed);
    }
    scanned.and_then(|()| scanner.end()).map_err(|f| Malformed::syntax(&f, None))?;
    if messages.is_empty() { Err(Malformed::invalid(None, "the batch is empty")) } else { Ok(messages) }
}

/// The members of an envelope.
#[derive(Default)]
struct Found {
    version: Option<bool>,
    id: Option<Id>,
    method: Option<Option<Cow<'static, str>>>,
    params: Option<ParamsFound>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    duplicate: Option<String>,
}

enum Id {
    Good(RequestId),
    Null,
    Bad,
}

/// An object and its members, and the same of its `_meta`.
struct Places {
    whole: Range<usize>,
    members: Members,
    meta: Option<(Range<usize>, Members)>,
}

impl Places {
    /// Passes an object, and checks all of it.
    fn scan(s: &mut Scanner<'_>, depth: usize) -> Result<Self, Fault> {
        Self::pass(s, depth, &|s, depth| s.value(depth).map(|(_, place)| place))
    }

    /// Passes an object that was checked before.
    fn skip(s: &mut Scanner<'_>) -> Result<Self, Fault> {
        Self::pass(s, 0, &|s, _| s.skip())
    }

    /// Passes an object; `value` passes a value that is not looked into.
    fn pass<'a>(
        s: &mut Scanner<'a>,
        depth: usize,
        value: &impl Fn(&mut Scanner<'a>, usize) -> Result<Range<usize>, Fault>,
    ) -> Result<Self, Fault> {
        let start = s.position();
        let mut meta = None;
        let members = s.members_with(depth, &mut |s, key, escaped| {
            let is_meta = meta.is_none() && scan::is_key(s.text(), key, escaped, "_meta");
            if !is_meta || s.peek() != Some(b'{') {
                return value(s, depth + 1);
            }
            let start = s.position();
            let members = s.members_with(depth + 1, &mut |s, _, _| value(s, depth + 2))?;
            let place = start..s.position();
            meta = Some((place.clone(), members));
            Ok(place)
        })?;
        Ok(Self { whole: start..s.position(), members, meta })
    }
}

enum ParamsFound {
    Object(Places),
    Null,
    Other,
}

/// The outer error is a syntax error: nothing after it can be parsed. The inner one leaves the scanner after the message.
fn read_message(
    frame: &Bytes,
    scanner: &mut Scanner<'_>,
    depth: usize,
) -> Result<Result<Message, Malformed>, Malformed> {
    let first = scanner.peek();
    if first != Some(b'{') {
        scanner.value(depth).map_err(|f| Malformed::syntax(&f, None))?;
        return Ok(Err(Malformed::invalid(None, "a message must be a JSON object")));
    }
    let start = scanner.position();
    let mut found = Found::default();
    let scanned = scanner.object(depth, &mut |s, key, escaped| {
        if escaped {
            let key = scan::unescape(s.text(), &key, true);
            return found.member(s, key.as_bytes(), depth + 1);
        }
        found.member(s, &s.text()[key], depth + 1)
    });
    let id = match &found.id {
        Some(Id::Good(id)) => Some(id.clone()),
        _ => None,
    };
    scanned.map_err(|f| Malformed::syntax(&f, id.clone()))?;
    let text = JsonText::trusted(frame.slice(start..scanner.position()));
    Ok(found.into_body(frame).map(|body| Message { text, body }).map_err(|what| Malformed::invalid(id, what)))
}

impl Found {
    fn member(&mut self, s: &mut Scanner<'_>, key: &[u8], depth: usize) -> Result<(), Fault> {
        let seen = match key {
            b"jsonrpc" => self.version.is_some(),
            b"id" => self.id.is_some(),
            b"method" => self.method.is_some(),
            b"params" => self.params.is_some(),
            b"result" => self.result.is_some(),
            b"error" => self.error.is_some(),
            _ => return s.value(depth).map(drop),
        };
        if seen {
            self.duplicate = Some(String::from_utf8_lossy(key).into_owned());
            return s.value(depth).map(drop);
        }
        if key == b"params" && s.peek() == Some(b'{') {
            self.params = Some(ParamsFound::Object(Places::scan(s, depth)?));
            return Ok(());
        }
        let (kind, place) = s.value(depth)?;
        let text = &s.text()[place.clone()];
        match key {
            b"jsonrpc" => self.version = Some(text == b"\"2.0\""),
            b"id" => self.id = Some(read_id(kind, text)),
            b"method" => {
                self.method = Some(match kind {
                    Kind::String { escaped } => {
                        let name = scan::unescape(s.text(), &(place.start + 1..place.end - 1), escaped);
                        Some(method::canonical(&name))
                    }
                    _ => None,
                });
            }
            b"params" => self.params = Some(if kind == Kind::Null { ParamsFound::Null } else { ParamsFound::Other }),
            b"result" => self.result = Some(place),
            _ => self.error = Some(place),
        }
        Ok(())
    }

    fn into_body(self, frame: &Bytes) -> Result<Body, String> {
        if let Some(key) = self.duplicate {
            return Err(format!("`{key}` appears twice"));
        }
        if self.version != Some(true) {
            return Err("`jsonrpc` must be \"2.0\"".to_owned());
        }
        let id = match self.id {
            None => None,
            Some(Id::Good(id)) => Some(id),
            Some(Id::Null) if self.method.is_none() && self.error.is_some() => None,
            Some(Id::Null) => return Err("`id` must not be null".to_owned()),
            Some(Id::Bad) => return Err("`id` must be a string or an integer".to_owned()),
        };
        match (self.method, self.result, self.error) {
            (Some(None), ..) => Err("`method` must be a string".to_owned()),
            (Some(Some(method)), None, None) => {
                let params = match Params::new(frame, self.params) {
                    // A notification is never answered, so one that cannot be read says nothing.
                    Err(_) if id.is_none() => Params::default(),
                    params => params?,
                };
                Ok(match id {
                    Some(id) => Body::Request { id, method, params },
                    None => Body::Notification { method, params },
                })
            }
            (Some(_), ..) => Err("a request cannot have `result` or `error`".to_owned()),
            (None, Some(_), Some(_)) => Err("a response has either `result` or `error`, not both".to_owned()),
            (None, Some(_), None) if id.is_none() => Err("a response with a `result` needs an `id`".to_owned()),
            (None, Some(result), None) => {
                Ok(Body::Response { id, outcome: Ok(JsonText::trusted(frame.slice(result))) })
            }
            (None, None, Some(error)) => serde_json::from_slice(&frame[error])
                .map(|error| Body::Response { id, outcome: Err(error) })
                .map_err(|e| format!("`error` needs an integer `code` and a string `message`: {e}")),
            (None, None, None) => Err("a message needs a `method`, a `result` or an `error`".to_owned()),
        }
    }
}

fn read_id(kind: Kind, text: &[u8]) -> Id {
    match kind {
        Kind::Number { integer: true } => {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            number.map_or(Id::Bad, |number| Id::Good(RequestId::Number(number)))
        }
        Kind::String { .. } => serde_json::from_slice(text).map_or(Id::Bad, Id::Good),
        Kind::Null => Id::Null,
        _ => Id::Bad,
    }
}

/// The parameters of a request or a notification: members located, values unparsed.
#[derive(Clone, Debug)]
pub struct Params {
    text: JsonText,
    members: Members,
    meta: Option<Arc<Params>>,
}

/// One member of an object.
pub(crate) struct Entry<'a> {
    /// Its bytes: most keys are only compared.
    pub(crate) key: Cow<'a, [u8]>,
    pub(crate) value: &'a [u8],
    /// From the quote before the key to the end of the value.
    pub(crate) place: Range<usize>,
    bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Calls `member` with each member of a text that was checked before, without locating them all. `None` as for
    /// [`plain_members`](scan::plain_members).
    pub(crate) fn each_plain(text: &'a [u8], mut member: impl FnMut(Self) -> Option<()>) -> Option<()> {
        scan::plain_members(text, |key, value| {
            let place = key.start - 1..value.end;
            member(Self { key: Cow::Borrowed(&text[key]), value: &text[value], place, bytes: text })
        })
    }

    /// The member as it is in the text, with its key.
    pub(crate) fn text(&self) -> &'a [u8] {
        &self.bytes[self.place.clone()]
    }
}

impl Params {
    fn new(frame: &Bytes, found: Option<ParamsFound>) -> Result<Self, String> {
        match found {
            None | Some(ParamsFound::Null) => Ok(Self::default()),
            Some(ParamsFound::Object(places)) => Self::at(frame, places).map_err(|flaw| format!("`params`: {flaw}")),
            Some(ParamsFound::Other) => Err("`params` must be an object".to_owned()),
        }
    }

    fn at(text: &Bytes, places: Places) -> Result<Self, String> {
        if let Some(flaw) = places.members.flaw() {
            return Err(flaw.to_owned());
        }
        let part = |place: Range<usize>, members: Members, meta| {
            let offset = place.start;
            Self { text: JsonText::trusted(text.slice(place)), members: members.rebase(offset), meta }
        };
        let meta = places.meta.map(|(place, members)| Arc::new(part(place, members, None)));
        Ok(part(places.whole, places.members, meta))
    }

    /// Parses an object that is not part of a message.
    ///
    /// # Errors
    /// If the text is not an object, or has a duplicate key.
    pub fn from_text(text: JsonText) -> Result<Self, Fault> {
        let places = {
            let mut scanner = Scanner::known(text.as_bytes(), Bounds::default());
            match scanner.peek() {
                // The text was checked when it was made.
                Some(b'{') => Places::skip(&mut scanner)?,
                _ => return Err(Fault::new(0, "expected an object")),
            }
        };
        Self::at(text.as_bytes(), places).map_err(|flaw| Fault::new(0, flaw))
    }

    /// Returns the member `_meta`, if it is an object without duplicate keys.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn meta(&self) -> Result<Option<&Self>, String> {
        match &self.meta {
            Some(meta) => meta.members.flaw().map_or(Ok(Some(&**meta)), |flaw| Err(flaw.to_owned())),
            None if self.has("_meta") => Err("expected an object".to_owned()),
            None => Ok(None),
        }
    }

    /// Returns the same, or `None` if something is wrong with it.
    pub(crate) fn valid_meta(&self) -> Option<&Self> {
        self.meta.as_deref().filter(|meta| meta.members.flaw().is_none())
    }

    /// Returns the whole object.
    pub fn text(&self) -> &JsonText {
        &self.text
    }

    /// Returns whether there may be line breaks in the text.
    pub(crate) fn may_break(&self) -> bool {
        self.members.may_break()
    }

    /// Returns the length of the text in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.as_bytes().len()
    }

    /// Returns whether a member exists.
    pub fn has(&self, key: &str) -> bool {
        self.members.get(self.text.as_bytes(), key).is_some()
    }

    /// Returns one member, unparsed.
    pub fn get(&self, key: &str) -> Option<JsonText> {
        let place = self.members.get(self.text.as_bytes(), key)?;
        Some(JsonText::trusted(self.text.as_bytes().slice(place)))
    }

    /// Iterates over the members in their order, unparsed.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, JsonText)> {
        let bytes = self.text.as_bytes();
        self.members.iter(bytes).map(|(key, place)| (key, JsonText::trusted(bytes.slice(place))))
    }

    /// Iterates over the members in their order, as bytes of the text.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let bytes = self.text.as_bytes();
        self.members.places(bytes).map(|(key, value, place)| Entry { key, value: &bytes[value], place, bytes })
    }

    /// Parses one member.
    ///
    /// # Errors
    /// -32602, naming the member, if it is missing or has another type.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Result<T, RpcError> {
        self.read_opt(key)?.ok_or_else(|| RpcError::invalid_params(format!("`{key}` is missing")))
    }

    /// Parses one member if it exists and is not null.
    ///
    /// # Errors
    /// -32602, naming the member, if it has another type.
    pub fn read_opt<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, RpcError> {
        match self.members.get(self.text.as_bytes(), key) {
            None => Ok(None),
            Some(place) => serde_json::from_slice(&self.text.as_bytes()[place])
                .map_err(|e| RpcError::invalid_params(format!("`{key}`: {}", reason(&e)))),
        }
    }

    /// Parses a string member if it exists and is not null, usually without a copy.
    ///
    /// # Errors
    /// -32602, naming the member, if it has another type.
    pub fn read_str(&self, key: &str) -> Result<Option<Cow<'_, str>>, RpcError> {
        let Some(place) = self.members.get(self.text.as_bytes(), key) else { return Ok(None) };
        match &self.text.as_bytes()[place] {
            [b'"', plain @ .., b'"'] if memchr::memchr(b'\\', plain).is_none() => {
                Ok(std::str::from_utf8(plain).ok().map(Cow::Borrowed))
            }
            _ => Ok(self.read_opt::<String>(key)?.map(Cow::Owned)),
        }
    }

    /// Parses the whole object into a type.
    ///
    /// # Errors
    /// -32602 with the reason.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        self.text.parse().map_err(|e| RpcError::invalid_params(reason(&e)))
    }
}

/// Returns the message of a serde error without its position: a line number means nothing in a message.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

impl Default for Params {
    fn default() -> Self {
        Self { text: JsonText::trusted(Bytes::from_static(b"{}")), members: Members::default(), meta: None }
    }
}

#[cfg(test)]
mod tests;
