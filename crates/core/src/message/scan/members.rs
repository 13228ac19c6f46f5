//! The members of objects, as places in a text.

use std::{borrow::Cow, ops::Range};

use super::{Bounds, Scanner};

/// The members of an object, as places in the message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    list: Vec<Member>,
    flaw: Option<String>,
    /// Whether there may be line breaks in the text of the object.
    pub(super) broken: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: Range<usize>,
    pub(super) escaped: bool,
    pub(super) value: Range<usize>,
}

impl Members {
    pub(crate) fn get(&self, text: &[u8], key: &str) -> Option<Range<usize>> {
        self.list.iter().find(|m| m.is(text, key)).map(|m| m.value.clone())
    }

    pub(crate) fn iter<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (Cow<'a, str>, Range<usize>)> {
        self.list.iter().map(move |m| (m.name(text), m.value.clone()))
    }

    /// The same, with the place of the whole member: from the quote before its key to the end of its value.
    pub(crate) fn places<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (Cow<'a, [u8]>, Range<usize>, Range<usize>)> {
        self.list.iter().map(move |m| (m.bytes(text), m.value.clone(), m.key.start - 1..m.value.end))
    }

    /// The same members, counted from a later byte on.
    pub(crate) fn rebase(mut self, offset: usize) -> Self {
        for Member { key, value, .. } in &mut self.list {
            *key = key.start - offset..key.end - offset;
            *value = value.start - offset..value.end - offset;
        }
        self
    }

    /// The same members after the value at `place` was replaced by one of another length.
    pub(crate) fn resized(&self, place: &Range<usize>, length: usize) -> Self {
        let moved = |at: usize| if at >= place.end { at - place.end + place.start + length } else { at };
        let mut members = Self { broken: true, ..self.clone() };
        for Member { key, value, .. } in &mut members.list {
            *key = moved(key.start)..moved(key.end);
            *value = moved(value.start)..moved(value.end);
        }
        members
    }

    /// What is wrong with the object as a part of a message.
    pub(crate) fn flaw(&self) -> Option<&str> {
        self.flaw.as_deref()
    }

    /// Returns whether there may be line breaks in the text of the object.
    pub(crate) fn may_break(&self) -> bool {
        self.broken
    }

    /// Adds a member. Keys are compared one by one, so there is a limit that keeps a hostile message cheap.
    pub(super) fn push(&mut self, text: &[u8], member: Member) {
        const MOST: usize = 256;
        if self.list.len() >= MOST {
            self.flaw = Some(format!("more than {MOST} members"));
        } else if self.list.iter().any(|m| m.is_like(&member, text)) {
            self.flaw = Some(format!("`{}` appears twice", member.name(text)));
        } else {
            self.list.push(member);
        }
    }
}

impl Member {
    fn is(&self, text: &[u8], key: &str) -> bool {
        is_key(text, &self.key, self.escaped, key)
    }

    fn is_like(&self, other: &Self, text: &[u8]) -> bool {
        match (self.escaped, other.escaped) {
            (false, false) => text[self.key.clone()] == text[other.key.clone()],
            _ => self.name(text) == other.name(text),
        }
    }

    fn name<'a>(&self, text: &'a [u8]) -> Cow<'a, str> {
        unescape(text, &self.key, self.escaped)
    }

    /// The bytes of the name, without a look at them unless it has escapes.
    fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self.escaped {
            true => Cow::Owned(self.name(text).into_owned().into_bytes()),
            false => Cow::Borrowed(&text[self.key.clone()]),
        }
    }
}

/// The place of the value of a member, in a text that was checked before and from a place between two members on.
pub(crate) fn find_member(text: &[u8], from: usize, key: &str) -> Option<Range<usize>> {
    let mut scanner = Scanner::known(text.get(from..)?, Bounds::default());
    while scanner.close(b',') || scanner.position() == 0 {
        let (found, escaped) = scanner.key().ok()?;
        let place = scanner.skip().ok()?;
        if is_key(scanner.text(), &found, escaped, key) {
            return Some(from + place.start..from + place.end);
        }
    }
    None
}

/// Calls `member` with the places of the key and the value of each member of a text that was checked before. `None` if that is
/// no object, if a key has escapes, if there may be line breaks, or as soon as `member` returns it.
pub(crate) fn plain_members(
    text: &[u8],
    mut member: impl FnMut(Range<usize>, Range<usize>) -> Option<()>,
) -> Option<()> {
    let mut scanner = Scanner::known(text, Bounds::default());
    if !scanner.close(b'{') {
        return None;
    }
    let mut ends = scanner.close(b'}');
    while !ends {
        let (key, escaped) = scanner.key().ok()?;
        let value = scanner.skip().ok()?;
        if escaped {
            return None;
        }
        member(key, value)?;
        ends = scanner.close(b'}');
        if !ends {
            scanner.comma("expected `,` or `}`").ok()?;
        }
    }
    (!scanner.broken).then_some(())
}

/// Whether the string whose quotes surround `inner` says `key`.
pub(crate) fn is_key(text: &[u8], inner: &Range<usize>, escaped: bool, key: &str) -> bool {
    if escaped { unescape(text, inner, true) == key } else { &text[inner.clone()] == key.as_bytes() }
}

/// The content of a string whose quotes surround `inner`.
pub(crate) fn unescape<'a>(text: &'a [u8], inner: &Range<usize>, escaped: bool) -> Cow<'a, str> {
    if escaped {
        let quoted = &text[inner.start - 1..=inner.end];
        Cow::Owned(serde_json::from_slice(quoted).expect("the scanner saw a whole string"))
    } else {
        Cow::Borrowed(std::str::from_utf8(&text[inner.clone()]).expect("the scanner saw UTF-8"))
    }
}
