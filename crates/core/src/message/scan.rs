//! The strict JSON scanner, and validated slices of a message.
//!
//! The scanner reads a message in one pass and is stricter than most parsers: nesting and size are bounded, keys are
//! compared exactly, a key may not appear twice where the protocol reads it, and escapes must be whole characters.
//! Nothing is converted, so numbers stay as they were written.

mod members;
mod plain;
mod skip;

use std::{borrow::Cow, fmt, ops::Range};

use bytes::Bytes;
use couplet_types::RawJson;
use serde::de::DeserializeOwned;

use members::Member;
pub(crate) use members::{Members, find_member, is_key, plain_members, unescape};
pub(crate) use plain::plain;

/// A JSON value as a cheap slice of the message that it came in.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Bytes);

impl JsonText {
    /// Checks that the bytes are one JSON value.
    ///
    /// # Errors
    /// If they are not, or if the value is nested deeper than [`Bounds`] allow.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, Fault> {
        let bytes = bytes.into();
        let text = utf8(&bytes)?;
        let mut scanner = Scanner::new(text, Bounds::default());
        scanner.value(0)?;
        scanner.end()?;
        Ok(Self(bytes))
    }

    /// Wraps a slice that the scanner has validated, or text that this crate wrote.
    pub(crate) fn trusted(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// Returns the empty object, `{}`.
    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked when it was made")
    }

    /// Returns the bytes of the text.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// Parses the text into a type.
    ///
    /// # Errors
    /// If the value does not match the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        couplet_types::from_json(self.as_str())
    }

    /// Returns the canonical form of the value: members in alphabetical order, no white space, the shortest escapes. Texts of
    /// equal values have the same canonical form, so that a digest does not depend on how a client serializes.
    ///
    /// ```
    /// # use couplet_core::JsonText;
    /// let text = JsonText::new(r#"{ "b": [1, 2], "a": "\u0078" }"#).expect("it is JSON");
    /// assert_eq!(text.canonical().expect("it is not deep"), r#"{"a":"x","b":[1,2]}"#);
    /// ```
    ///
    /// # Errors
    /// If the value is nested too deeply to be parsed.
    pub fn canonical(&self) -> Result<String, serde_json::Error> {
        let mut value: serde_json::Value = self.parse()?;
        value.sort_all_objects();
        Ok(value.to_string())
    }

    /// Copies the text, so that the message it came in can be freed.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Copies the text for a typed message.
    pub fn to_raw(&self) -> RawJson {
        RawJson::from_text(self.as_str()).expect("checked when it was made")
    }
}

impl From<&RawJson> for JsonText {
    fn from(raw: &RawJson) -> Self {
        Self(Bytes::copy_from_slice(raw.get().as_bytes()))
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The limits on nesting and on the number of values of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// The maximum nesting of arrays and objects.
    pub depth: usize,
    /// The maximum number of values and keys.
    pub nodes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 64, nodes: 1_000_000 }
    }
}

impl Bounds {
    /// Creates bounds.
    pub fn new(depth: usize, nodes: usize) -> Self {
        Self { depth, nodes }
    }
}

/// A JSON syntax error, or a limit that was exceeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// A box, so that the scanner's results fit into registers.
pub struct Fault(Box<(usize, Cow<'static, str>)>);

impl Fault {
    pub(crate) fn new(at: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new((at, what.into())))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.0.1, self.0.0)
    }
}

impl std::error::Error for Fault {}

/// The bytes as text.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|e| Fault::new(e.valid_up_to(), "invalid UTF-8"))
}

/// What kind of value the scanner passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String { escaped: bool },
    Number { integer: bool },
    True,
    False,
    Null,
}

/// Called with the place of a key and whether it has escapes; passes the value.
type OnMember<'f, 'a> = dyn FnMut(&mut Scanner<'a>, Range<usize>, bool) -> Result<(), Fault> + 'f;

/// Called with the place of a key and whether it has escapes; passes the value and returns its place.
type OnValue<'f, 'a> = dyn FnMut(&mut Scanner<'a>, &Range<usize>, bool) -> Result<Range<usize>, Fault> + 'f;

/// One pass over a text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    pos: usize,
    nodes: usize,
    bounds: Bounds,
    /// Whether a line break was passed: they are between values only.
    broken: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, bounds: Bounds) -> Self {
        Self::known(text.as_bytes(), bounds)
    }

    /// A pass over bytes that are known to be UTF-8.
    pub(crate) fn known(text: &'a [u8], bounds: Bounds) -> Self {
        Self { text, pos: 0, nodes: 0, bounds, broken: false }
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// The first byte of the next value.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.get(self.pos).copied()
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault("more text after the value")),
        }
    }

    /// Passes any value.
    pub(crate) fn value(&mut self, depth: usize) -> Result<(Kind, Range<usize>), Fault> {
        self.space();
        let start = self.pos;
        let kind = self.pass(depth)?;
        Ok((kind, start..self.pos))
    }

    /// The same without positions, in plain loops: most values are nested in one that is not parsed here.
    fn pass(&mut self, depth: usize) -> Result<Kind, Fault> {
        let first = self.peek();
        self.nodes += 1;
        if self.nodes > self.bounds.nodes {
            return Err(self.fault("too many values in one message"));
        }
        match first {
            Some(b'{') => self.pass_object(depth),
            Some(b'[') => self.pass_array(depth),
            Some(b'"') => self.pass_string().map(|escaped| Kind::String { escaped }),
            Some(b't') => self.word("true", Kind::True),
            Some(b'f') => self.word("false", Kind::False),
            Some(b'n') => self.word("null", Kind::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.fault("expected a value")),
            None => Err(self.fault("the text ends where a value should be")),
        }
    }

    fn pass_object(&mut self, depth: usize) -> Result<Kind, Fault> {
        self.open(b'{', depth)?;
        if !self.close(b'}') {
            loop {
                self.pass_key()?;
                self.pass(depth + 1)?;
                if self.close(b'}') {
                    break;
                }
                self.comma("expected `,` or `}`")?;
            }
        }
        Ok(Kind::Object)
    }

    fn pass_array(&mut self, depth: usize) -> Result<Kind, Fault> {
        self.open(b'[', depth)?;
        if !self.close(b']') {
            loop {
                self.pass(depth + 1)?;
                if self.close(b']') {
                    break;
                }
                self.comma("expected `,` or `]`")?;
            }
        }
        Ok(Kind::Array)
    }

    /// Passes an object and returns where its members are; `value` passes each value and returns where it was.
    pub(crate) fn members_with(&mut self, depth: usize, value: &mut OnValue<'_, 'a>) -> Result<Members, Fault> {
        let mut members = Members::default();
        let before = std::mem::take(&mut self.broken);
        self.object(depth, &mut |s, key, escaped| {
            let value = value(s, &key, escaped)?;
            members.push(s.text, Member { key, escaped, value });
            Ok(())
        })?;
        members.broken = self.broken;
        self.broken |= before;
        Ok(members)
    }

    /// Passes an object; `member` is called with each key and must pass its value.
    pub(crate) fn object(&mut self, depth: usize, member: &mut OnMember<'_, 'a>) -> Result<(), Fault> {
        self.open(b'{', depth)?;
        if self.close(b'}') {
            return Ok(());
        }
        loop {
            let (key, escaped) = self.key()?;
            member(self, key, escaped)?;
            if self.close(b'}') {
                return Ok(());
            }
            self.comma("expected `,` or `}`")?;
        }
    }

    /// Passes an array; `element` must pass one value each time it is called.
    pub(crate) fn array(
        &mut self,
        depth: usize,
        element: &mut dyn FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'[', depth)?;
        if self.close(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if self.close(b']') {
                return Ok(());
            }
            self.comma("expected `,` or `]`")?;
        }
    }

    /// Passes a key and its colon; returns the place between its quotes, and whether it has escapes.
    fn key(&mut self) -> Result<(Range<usize>, bool), Fault> {
        self.space();
        let start = self.pos + 1;
        let (length, escaped) = self.pass_key()?;
        Ok((start..start + length, escaped))
    }

    /// Passes a key and its colon; returns how long it is, and whether it has escapes.
    fn pass_key(&mut self) -> Result<(usize, bool), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key in quotes"));
        }
        self.nodes += 1;
        let start = self.pos + 1;
        let escaped = self.pass_string()?;
        let length = self.pos - 1 - start;
        if self.peek() != Some(b':') {
            return Err(self.fault("expected `:` after a key"));
        }
        self.pos += 1;
        Ok((length, escaped))
    }

    fn open(&mut self, bracket: u8, depth: usize) -> Result<(), Fault> {
        debug_assert_eq!(self.peek(), Some(bracket));
        if depth >= self.bounds.depth {
            return Err(self.fault(format!("nested deeper than {} levels", self.bounds.depth)));
        }
        self.pos += 1;
        Ok(())
    }

    fn close(&mut self, bracket: u8) -> bool {
        let closes = self.peek() == Some(bracket);
        self.pos += usize::from(closes);
        closes
    }

    fn comma(&mut self, expected: &'static str) -> Result<(), Fault> {
        if self.peek() != Some(b',') {
            return Err(self.fault(expected));
        }
        self.pos += 1;
        Ok(())
    }

    /// Passes a string; returns whether it has escapes.
    fn pass_string(&mut self) -> Result<bool, Fault> {
        self.pos += 1;
        let mut escaped = false;
        loop {
            self.pos += plain(&self.text[self.pos..]);
            match self.text.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..=0x1f) => return Err(self.fault("control character in a string")),
                Some(_) => self.pos += 1,
                None => return Err(self.fault("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.text.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 2;
                Ok(())
            }
            Some(b'u') => match self.hex4(self.pos + 2) {
                Some(0xd800..=0xdbff) => {
                    let second = (self.text.get(self.pos + 6..self.pos + 8) == Some(b"\\u"))
                        .then(|| self.hex4(self.pos + 8))
                        .flatten();
                    if !matches!(second, Some(0xdc00..=0xdfff)) {
                        return Err(self.fault("half of a surrogate pair"));
                    }
                    self.pos += 12;
                    Ok(())
                }
                Some(0xdc00..=0xdfff) => Err(self.fault("half of a surrogate pair")),
                Some(_) => {
                    self.pos += 6;
                    Ok(())
                }
                None => Err(self.fault("`\\u` needs four hexadecimal digits")),
            },
            _ => Err(self.fault("unknown escape in a string")),
        }
    }

    fn hex4(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |n, d| Some(n << 4 | char::from(*d).to_digit(16)? as u16))
    }

    fn number(&mut self) -> Result<Kind, Fault> {
        let mut integer = true;
        self.pos += usize::from(self.text[self.pos] == b'-');
        match self.text.get(self.pos) {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.fault("expected a digit")),
        }
        if self.text.get(self.pos) == Some(&b'.') {
            integer = false;
            self.pos += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.pos) {
            integer = false;
            self.pos += 1;
            self.pos += usize::from(matches!(self.text.get(self.pos), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Ok(Kind::Number { integer })
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        self.digits();
        if self.pos == start { Err(self.fault("expected a digit")) } else { Ok(()) }
    }

    fn digits(&mut self) {
        while self.text.get(self.pos).is_some_and(u8::is_ascii_digit) {
            self.pos += 1;
        }
    }

    fn word(&mut self, word: &'static str, kind: Kind) -> Result<Kind, Fault> {
        if self.text[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            Ok(kind)
        } else {
            Err(self.fault("expected a value"))
        }
    }

    fn space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\n' | b'\r')) = self.text.get(self.pos) {
            self.broken |= matches!(byte, b'\n' | b'\r');
            self.pos += 1;
        }
    }

    fn fault(&self, what: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(self.pos, what)
    }
}

#[cfg(test)]
mod tests;
