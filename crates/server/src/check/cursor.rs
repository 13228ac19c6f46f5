//! A place in a JSON text that is known to be well formed. On any other text it ends early, and does not panic.

use std::borrow::Cow;

use crate::fault::{MAX_QUOTED, capped};

/// A place in a text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// The kinds of value that their first character determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The kind of the next value.
    pub(super) fn kind(&mut self) -> Kind {
        match self.peek() {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Boolean,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Passes a value, and returns its text.
    pub(super) fn skip(&mut self) -> &'t str {
        self.peek();
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.peek() {
                0 => break,
                b'"' => self.pass_string(),
                b'{' | b'[' => {
                    self.at += 1;
                    open += 1;
                    continue;
                }
                b'}' | b']' => {
                    self.at += 1;
                    open = open.saturating_sub(1);
                }
                b',' | b':' if open > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => self.pass_word(),
            }
            if open == 0 {
                break;
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Goes into an array or an object.
    pub(super) fn enter(&mut self) {
        self.peek();
        self.at += 1;
    }

    /// Whether there is another item or member; passes the comma before it, or the bracket at the end.
    pub(super) fn next(&mut self) -> bool {
        match self.peek() {
            b',' => {
                self.at += 1;
                true
            }
            b']' | b'}' => {
                self.at += 1;
                false
            }
            next => next != 0,
        }
    }

    /// Passes the key of a member.
    pub(super) fn key(&mut self) -> Cow<'t, str> {
        let key = unquoted(self.skip());
        if self.peek() == b':' {
            self.at += 1;
        }
        key
    }

    /// The content of the string that comes next.
    pub(super) fn string(mut self) -> Cow<'t, str> {
        unquoted(self.skip())
    }

    /// Whether any number from here on is one that is looked for.
    pub(super) fn any_number(mut self, wanted: impl Fn(&str) -> bool) -> bool {
        loop {
            match self.peek() {
                0 => return false,
                b'"' => self.pass_string(),
                b'-' | b'0'..=b'9' => {
                    if wanted(self.skip()) {
                        return true;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// The value that comes next, as it is quoted in a message.
    pub(super) fn quoted(mut self) -> String {
        let kind = self.kind();
        let text = self.skip();
        match kind {
            Kind::Null => "null".to_owned(),
            Kind::Boolean => format!("the boolean {text}"),
            Kind::Number => format!("the number {}", capped(text, MAX_QUOTED)),
            Kind::String => format!("the string {:?}", capped(&unquoted(text), MAX_QUOTED)),
            Kind::Array => "an array".to_owned(),
            Kind::Object => "an object".to_owned(),
        }
    }

    /// The next byte that is no white space; zero at the end.
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return *byte;
            }
            self.at += 1;
        }
        0
    }

    fn pass_string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        self.at = bytes.len();
    }

    /// A number, `true`, `false` or `null`.
    fn pass_word(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b' ' | b'\t' | b'\n' | b'\r');
        self.at += rest.iter().position(end).unwrap_or(rest.len()).max(1);
    }
}

fn unquoted(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(quoted);
    match inner.contains('\\') {
        true => serde_json::from_str(quoted).map_or(Cow::Borrowed(inner), Cow::Owned),
        false => Cow::Borrowed(inner),
    }
}
