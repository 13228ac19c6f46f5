//! Lines of JSON in printable ASCII, written in one pass.
//!
//! No character of a peer acts on a terminal or begins a line. All functions append to bytes that are reused for each line.

use serde_json::Value;

use crate::names::push_hex;

/// The maximum length of a string from a peer, in bytes.
const LONGEST: usize = 512;

/// The members of a line.
pub(super) struct Line<'a>(pub(super) &'a mut Vec<u8>);

/// A key after the first member, as it is written: with a comma before it.
#[derive(Clone, Copy)]
pub(super) struct MemberKey(pub(super) &'static str);

/// The [`MemberKey`] with a name. It is written at once, because a line has some twenty of them.
macro_rules! key {
    ($name:literal) => {
        $crate::audit::line::MemberKey(concat!(",\"", $name, "\":"))
    };
}
pub(super) use key;

impl Line<'_> {
    /// Appends a comma and a key.
    pub(super) fn key(&mut self, key: MemberKey) {
        self.0.extend_from_slice(key.0.as_bytes());
    }

    /// Appends a string of this program.
    pub(super) fn word(&mut self, key: MemberKey, word: &str) {
        self.key(key);
        self.0.push(b'"');
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b'"');
    }

    /// Appends a string of a peer, truncated; `mark` follows it.
    pub(super) fn text(&mut self, key: MemberKey, text: &str, mark: &str) {
        self.key(key);
        self.0.push(b'"');
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        escape(self.0, &text[..end]);
        if end < text.len() {
            escape(self.0, "…");
        }
        escape(self.0, mark);
        self.0.push(b'"');
    }

    /// Appends a string of a peer, if there is one.
    pub(super) fn optional(&mut self, key: MemberKey, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text, "");
        }
    }

    /// Appends a number, if there is one.
    pub(super) fn number(&mut self, key: MemberKey, number: Option<u64>) {
        if let Some(number) = number {
            self.key(key);
            decimal(self.0, number);
        }
    }

    /// Appends bytes in hexadecimal digits.
    pub(super) fn hex(&mut self, key: MemberKey, before: &str, bytes: &[u8]) {
        self.key(key);
        self.0.push(b'"');
        self.0.extend_from_slice(before.as_bytes());
        push_hex(self.0, bytes);
        self.0.push(b'"');
    }
}

/// Appends a number.
pub(super) fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break out.extend_from_slice(&digits[at..]);
        }
    }
}

/// Appends a string without its quotes.
pub(super) fn escape(out: &mut Vec<u8>, text: &str) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\');
    // Not `all`: without early exit the loop is vectorized.
    if text.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
        return out.extend_from_slice(text.as_bytes());
    }
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
            ' '..='~' => out.push(c as u8),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(b"\\u");
                    push_hex(out, &unit.to_be_bytes());
                }
            }
        }
    }
}

/// Appends a value.
pub(super) fn value(out: &mut Vec<u8>, node: &Value) {
    match node {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(yes) => out.extend_from_slice(if *yes { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => string(out, text),
        Value::Array(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                separate(out, at);
                value(out, element);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (at, (key, member)) in members.iter().enumerate() {
                separate(out, at);
                string(out, key);
                out.push(b':');
                value(out, member);
            }
            out.push(b'}');
        }
    }
}

fn separate(out: &mut Vec<u8>, at: usize) {
    if at > 0 {
        out.push(b',');
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 7, 10, 99, 100, 18_446_744_073_709_551_615] {
            assert_eq!(text(|out| decimal(out, number)), number.to_string());
        }
    }

    #[test]
    fn values_are_ascii_and_the_same() {
        let evil = "a\"b\\c\n\r\t\u{8}\u{c}\0\u{1b}\u{7f}\u{85}\u{2028}ä😀";
        let node = json!({evil: [evil, 1, -2.5, null, true, {}, []], "": ""});
        let written = text(|out| value(out, &node));
        assert!(written.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), node);
    }

    #[test]
    fn long_strings_end_at_a_character() {
        let line = |of: &str| text(|out| Line(out).text(key!("k"), of, "?"));
        assert_eq!(line(&"x".repeat(LONGEST)), format!(",\"k\":\"{}?\"", "x".repeat(LONGEST)));
        let cut = format!(",\"k\":\"{}\\u2026?\"", "x".repeat(LONGEST - 1));
        assert_eq!(line(&format!("{}ää", "x".repeat(LONGEST - 1))), cut);
    }
}
