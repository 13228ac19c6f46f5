//! The kind and id of a message that is above the size limit or not valid.
//!
//! The bytes are skimmed once as they arrive; only the keys and the id of the outermost object are stored.

use couplet_types::RequestId;

/// The kind of a message that was not parsed, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skimmed {
    /// A request with this id.
    Request(RequestId),
    /// The response to the request with this id.
    Response(RequestId),
    /// A notification.
    Notification,
    /// JSON of an unknown kind.
    #[default]
    Unknown,
    /// Not JSON.
    Noise,
}

/// A discarded message that was above the size limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Oversized {
    /// Its length in bytes.
    pub length: usize,
    /// Its kind.
    pub gist: Skimmed,
}

impl Oversized {
    /// Skims a complete message.
    pub fn of(message: &[u8]) -> Self {
        let mut skimmer = Skimmer::default();
        skimmer.feed(message);
        skimmer.finish()
    }
}

impl Skimmed {
    pub(crate) fn of(message: &[u8]) -> Self {
        Oversized::of(message).gist
    }
}

/// Skims a message without storing it.
#[derive(Debug, Default)]
pub(crate) struct Skimmer {
    length: usize,
    /// The first byte that is not white space.
    first: Option<u8>,
    depth: usize,
    text: Text,
    /// Whether a string of the outermost object is a key, at this place.
    at_key: bool,
    /// The outermost value has ended.
    over: bool,
    /// There is more input after that.
    trailing: bool,
    key: EnvelopeMember,
    /// The key, or the value of `id`, so far.
    captured: Vec<u8>,
    id: Option<RequestId>,
    ids: usize,
    has_method: bool,
    has_answer: bool,
}

#[derive(Debug, Default, PartialEq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum EnvelopeMember {
    Id,
    Method,
    Answer,
    #[default]
    Other,
}

impl Skimmer {
    /// No key or id that matters is longer.
    const LONGEST: usize = 1024;

    /// Skims more bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let mut rest = bytes;
        while let Some(byte) = rest.first() {
            if self.text == Text::Inside {
                // Large messages are mostly large strings.
                let plain = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                self.capture(&rest[..plain]);
                rest = &rest[plain..];
                let Some(byte) = rest.first() else { return };
                self.text = if *byte == b'"' { Text::Outside } else { Text::Escaped };
                self.capture(&[*byte]);
            } else if self.text == Text::Escaped {
                self.text = Text::Inside;
                self.capture(&[*byte]);
            } else {
                self.outside(*byte);
            }
            rest = &rest[1..];
        }
    }

    /// Returns the kind of the message.
    pub(crate) fn finish(mut self) -> Oversized {
        if self.depth == 1 {
            self.end_member();
        }
        let gist = match (self.first, self.id.filter(|_| self.ids == 1)) {
            (Some(b'{'), _) if self.trailing => Skimmed::Unknown,
            (Some(b'{'), Some(id)) if self.has_method && !self.has_answer => Skimmed::Request(id),
            (Some(b'{'), Some(id)) if self.has_answer && !self.has_method => Skimmed::Response(id),
            (Some(b'{'), None) if self.has_method && !self.has_answer && self.ids == 0 && self.over => {
                Skimmed::Notification
            }
            (Some(b'{' | b'['), _) => Skimmed::Unknown,
            _ => Skimmed::Noise,
        };
        Oversized { length: self.length, gist }
    }

    fn outside(&mut self, byte: u8) {
        if byte.is_ascii_whitespace() {
            return;
        }
        self.trailing |= self.over;
        self.first.get_or_insert(byte);
        match byte {
            b'"' => {
                self.text = Text::Inside;
                self.capture(b"\"");
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.at_key = self.depth == 1;
                self.capture(&[byte]);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                    self.over = true;
                }
                self.depth = self.depth.saturating_sub(1);
                self.capture(&[byte]);
            }
            b':' if self.depth == 1 && self.at_key => self.end_key(),
            b',' if self.depth == 1 => {
                self.end_member();
                self.at_key = true;
            }
            _ => self.capture(&[byte]),
        }
    }

    /// Stores a possible key of the outermost object, or the id.
    fn capture(&mut self, bytes: &[u8]) {
        let wanted = (self.depth == 1 && self.at_key) || (!self.at_key && self.key == EnvelopeMember::Id);
        if wanted && self.captured.len() + bytes.len() <= Self::LONGEST {
            self.captured.extend_from_slice(bytes);
        } else if wanted {
            // It is spoilt, and stays so.
            self.captured.resize(Self::LONGEST, 0);
        }
    }

    fn end_key(&mut self) {
        self.at_key = false;
        let key = std::mem::take(&mut self.captured);
        let key = key.strip_prefix(b"{").unwrap_or(&key);
        self.key = match serde_json::from_slice::<String>(key).as_deref() {
            Ok("id") => EnvelopeMember::Id,
            Ok("method") => EnvelopeMember::Method,
            Ok("result" | "error") => EnvelopeMember::Answer,
            _ => EnvelopeMember::Other,
        };
        self.has_method |= self.key == EnvelopeMember::Method;
        self.has_answer |= self.key == EnvelopeMember::Answer;
    }

    fn end_member(&mut self) {
        let value = std::mem::take(&mut self.captured);
        if std::mem::take(&mut self.key) == EnvelopeMember::Id && !self.at_key {
            self.ids += 1;
            self.id = read_id(&value);
        }
    }
}

/// An id as the envelope has it: a string, or an integer, which may be `-0`.
fn read_id(text: &[u8]) -> Option<RequestId> {
    match text.first()? {
        b'"' => serde_json::from_slice(text).ok().map(RequestId::String),
        b'-' | b'0'..=b'9' => std::str::from_utf8(text).ok()?.parse().ok().map(RequestId::Number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::message::oversized::*;

    fn check(text: &[u8], expected: Skimmed) {
        for step in 1..=text.len() {
            let mut skimmer = Skimmer::default();
            text.chunks(step).for_each(|chunk| skimmer.feed(chunk));
            let seen = skimmer.finish();
            assert_eq!(seen, Oversized { length: text.len(), gist: expected.clone() }, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let (seven, name) = (RequestId::Number(7), RequestId::from("a\"b"));
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":1,"x":[{"id":2}]}}"#, Skimmed::Response(seven.clone())),
            (r#" { "result" : {"a":"\"id\":3,{"} , "id" : 7 }  "#, Skimmed::Response(seven.clone())),
            (r#"{"id":-0,"method":"x"}"#, Skimmed::Request(RequestId::Number(0))),
            (r#"{"error":{"id":1},"id":-7}"#, Skimmed::Response(RequestId::Number(-7))),
            (r#"{"id":"a\"b","method":"x","params":{"result":1}}"#, Skimmed::Request(name)),
            (r#"{"params":["id",{"id":5}],"method":"x","\u0069d":7}"#, Skimmed::Request(seven)),
            (r#"{"jsonrpc":"2.0","method":"x","params":{"id":1}}"#, Skimmed::Notification),
            (r#"{"id":7,"id":8,"result":{}}"#, Skimmed::Unknown),
            (r#"{"id":{"id":7},"result":{}}"#, Skimmed::Unknown),
            (r#"{"id":1.5,"result":{}}"#, Skimmed::Unknown),
            (r#"{"id":null,"method":"x"}"#, Skimmed::Unknown),
            (r#"{"id":7}"#, Skimmed::Unknown),
            (r#"{"id":7,"method":"x","result":{}}"#, Skimmed::Unknown),
            (r#"{"id":7,"method":"x"} {"id":8}"#, Skimmed::Unknown),
            (r#"{"id":7,"method":"x"} x"#, Skimmed::Unknown),
            (r#"{"id":{"x":7},"method":"x"}"#, Skimmed::Unknown),
            (r#"{"method":"x","id":"a""#, Skimmed::Request(RequestId::from("a"))),
            (r#"[{"id":7,"result":{}}]"#, Skimmed::Unknown),
            ("{", Skimmed::Unknown),
            ("Listening on port 80", Skimmed::Noise),
            ("\"id\":7", Skimmed::Noise),
            ("}}}]{", Skimmed::Noise),
        ] {
            check(text.as_bytes(), expected);
        }
    }

    #[test]
    fn it_need_not_be_text_or_whole() {
        check(b"{\"id\":7,\"result\":{\"a\":\"\xff\xfe\"}}", Skimmed::Response(RequestId::Number(7)));
        check(b"{\"result\":\"\xff\",\"id\":7}", Skimmed::Response(RequestId::Number(7)));
        check(b"{\"id\":7,\"result\":{\"a\":\"never end", Skimmed::Response(RequestId::Number(7)));
        check(b"{\"id\":\"\xff\",\"result\":{}}", Skimmed::Unknown);
    }

    #[test]
    fn a_long_id_is_found_whole() {
        let id = format!("{}\n{}", "y".repeat(40), "z".repeat(40));
        let text = serde_json::json!({ "id": id, "method": "x" }).to_string();
        check(text.as_bytes(), Skimmed::Request(RequestId::String(id)));
    }

    #[test]
    fn hostile_keys_and_ids_cost_no_memory() {
        let mut skimmer = Skimmer::default();
        skimmer.feed(b"{\"");
        (0..1000).for_each(|_| skimmer.feed(&[b'x'; 1000]));
        skimmer.feed(b"\":1,\"id\":\"");
        (0..1000).for_each(|_| skimmer.feed(&[b'y'; 1000]));
        assert!(skimmer.captured.capacity() <= 2 * Skimmer::LONGEST);
        skimmer.feed(b"\",\"result\":1}");
        assert_eq!(skimmer.finish().gist, Skimmed::Unknown);
    }
}
