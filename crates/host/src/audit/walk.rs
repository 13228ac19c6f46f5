//! The shape and the canonical text of arguments, in one pass over their text.
//!
//! A text with rare spellings is left to the parsers: escapes other than the short ones, keys that are not plain ASCII or
//! appear twice, numbers other than short integers. For all others the canonical text is that of `pins`.

use super::{
    line::decimal,
    shape::{DEPTH, MEMBERS, is_name},
};

/// The maximum nesting.
const DEEPEST: usize = 64;
/// The maximum number of digits of an integer that every reader understands.
const DIGITS: usize = 15;

/// Appends the shape of a JSON text to `shape` and its canonical text to `canonical`.
///
/// Returns `None` if the text has to be parsed. What was appended is then meaningless.
pub(super) fn walk(text: &[u8], shape: &mut Vec<u8>, canonical: &mut Vec<u8>) -> Option<()> {
    let mut walker = Walker { text, at: 0, shape, canonical, members: Vec::new() };
    walker.value(0, true)?;
    walker.skip_space();
    (walker.at == text.len()).then_some(())
}

/// A member of an object in the canonical text, with its comma.
struct MemberSpan {
    start: usize,
    /// The end of the key, without its quote.
    key: usize,
    end: usize,
}

struct Walker<'a> {
    text: &'a [u8],
    at: usize,
    shape: &'a mut Vec<u8>,
    canonical: &'a mut Vec<u8>,
    /// The members of the objects that are open and not in order.
    members: Vec<MemberSpan>,
}

impl<'a> Walker<'a> {
    /// Passes a value; `is_shown` is whether it is a part of the shape.
    fn value(&mut self, depth: usize, is_shown: bool) -> Option<()> {
        self.skip_space();
        let word: &[u8] = match self.text.get(self.at)? {
            b'{' => return self.object(depth, is_shown),
            b'[' => return self.array(depth, is_shown),
            b'"' => self.string().map(|()| b"\"string\"")?,
            b't' => self.copy(b"true").map(|()| b"\"boolean\"")?,
            b'f' => self.copy(b"false").map(|()| b"\"boolean\"")?,
            b'n' => self.copy(b"null").map(|()| b"\"null\"")?,
            _ => self.integer().map(|()| b"\"number\"")?,
        };
        self.show(is_shown, word);
        Some(())
    }

    fn array(&mut self, depth: usize, is_shown: bool) -> Option<()> {
        let is_open = self.open(b'[', b"\"array\"", depth, is_shown)?;
        let mut is_first = true;
        while !self.ends(b']', is_first)? {
            self.value(depth + 1, is_open && is_first)?;
            is_first = false;
        }
        self.show(is_open, b"]");
        Some(())
    }

    fn object(&mut self, depth: usize, is_shown: bool) -> Option<()> {
        let is_open = self.open(b'{', b"\"object\"", depth, is_shown)?;
        let (from, mut is_sorted) = (self.members.len(), true);
        let (mut named, mut others) = (0, 0);
        while !self.ends(b'}', self.members.len() == from)? {
            let start = self.canonical.len();
            let key = self.key()?;
            let is_named = is_open && named < MEMBERS && is_name(key);
            if is_named {
                self.show(named > 0, b",");
                self.show(true, b"\"");
                self.show(true, key);
                self.show(true, b"\":");
                named += 1;
            } else {
                others += 1;
            }
            let key = self.canonical.len() - 1;
            self.skip_space();
            self.copy(b":")?;
            self.value(depth + 1, is_named)?;
            let member = MemberSpan { start, key, end: self.canonical.len() };
            is_sorted &= self.members[from..].last().is_none_or(|last| self.name(last) < self.name(&member));
            self.members.push(member);
        }
        if is_open && others > 0 {
            self.show(named > 0, b",");
            self.show(true, b"\"\\u2026\":");
            decimal(self.shape, others);
        }
        self.show(is_open, b"}");
        if !is_sorted {
            self.sort(from)?;
        }
        self.members.truncate(from);
        Some(())
    }

    /// Passes an opening bracket. Returns whether the elements are a part of the shape.
    fn open(&mut self, bracket: u8, word: &[u8], depth: usize, is_shown: bool) -> Option<bool> {
        if depth > DEEPEST {
            return None;
        }
        self.copy(&[bracket])?;
        let is_open = is_shown && depth < DEPTH;
        self.show(is_shown, if is_open { std::slice::from_ref(&bracket) } else { word });
        Some(is_open)
    }

    /// Passes a closing bracket, which ends a list, or the comma before an element.
    fn ends(&mut self, bracket: u8, is_first: bool) -> Option<bool> {
        self.skip_space();
        if *self.text.get(self.at)? == bracket {
            self.copy(&[bracket])?;
            return Some(true);
        }
        if !is_first {
            self.copy(b",")?;
            self.skip_space();
        }
        Some(false)
    }

    /// Puts the members of the object that was closed in order.
    fn sort(&mut self, from: usize) -> Option<()> {
        let mut members = self.members.split_off(from);
        members.sort_by(|a, b| self.name(a).cmp(self.name(b)));
        if members.windows(2).any(|pair| self.name(&pair[0]) == self.name(&pair[1])) {
            return None;
        }
        let start = members.iter().map(|member| member.start).min()?;
        let mut sorted = Vec::with_capacity(self.canonical.len() - start);
        for member in &members {
            sorted.extend_from_slice(&self.canonical[member.start..member.end]);
            sorted.push(b',');
        }
        sorted.pop();
        sorted.push(b'}');
        self.canonical.truncate(start);
        self.canonical.append(&mut sorted);
        Some(())
    }

    fn name(&self, member: &MemberSpan) -> &[u8] {
        &self.canonical[member.start + 1..member.key]
    }

    /// Passes a key and returns it.
    fn key(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        self.string()?;
        let key = &self.text[start..self.at - 1];
        (key.is_ascii() && !key.contains(&b'\\')).then_some(key)
    }

    /// Passes a string whose escapes are those of the canonical text.
    fn string(&mut self) -> Option<()> {
        let start = self.at;
        if *self.text.get(start)? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..)?;
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            self.at += end + 1;
            if rest[end] == b'"' {
                break;
            }
            if !matches!(self.text.get(self.at)?, b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') {
                return None;
            }
            self.at += 1;
        }
        self.canonical.extend_from_slice(&self.text[start..self.at]);
        Some(())
    }

    /// Passes an integer that is spelled in one way only.
    fn integer(&mut self) -> Option<()> {
        let start = self.at + usize::from(self.text[self.at] == b'-');
        let digits = self.text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_short = match self.text.get(start)? {
            b'0' => digits == 1 && start == self.at,
            _ => (1..=DIGITS).contains(&digits),
        };
        let end = start + digits;
        if !is_short || matches!(self.text.get(end), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.canonical.extend_from_slice(&self.text[self.at..end]);
        self.at = end;
        Some(())
    }

    fn copy(&mut self, word: &[u8]) -> Option<()> {
        if !self.text[self.at..].starts_with(word) {
            return None;
        }
        self.canonical.extend_from_slice(word);
        self.at += word.len();
        Some(())
    }

    fn show(&mut self, is_shown: bool, text: &[u8]) {
        if is_shown {
            self.shape.extend_from_slice(text);
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{audit::shape::shape, pins::canonical_text};

    /// The shape and the canonical text of this walk, if it has them.
    fn walked(text: &str) -> Option<(Value, String)> {
        let (mut shape, mut canonical) = (Vec::new(), Vec::new());
        walk(text.as_bytes(), &mut shape, &mut canonical)?;
        Some((serde_json::from_slice(&shape).unwrap(), String::from_utf8(canonical).unwrap()))
    }

    fn parsed(text: &str) -> (Value, String) {
        (shape(&serde_json::from_str(text).unwrap()), canonical_text(text).unwrap())
    }

    #[test]
    fn it_has_the_same_result_as_the_parsers() {
        for text in [
            "{}",
            " [ ] ",
            r#"{"a":1,"b":[1,2,{"c":null}],"ab":true,"a b":false}"#,
            r#"{ "b" : "x\n\"\\y" , "a" : -12 , "a!" : 0 }"#,
            r#"{"z":{"y":{"b":2,"a":1},"x":1},"a":{"d":{"c":{"b":{"a":1}}}},"k":[[[[[1]]]]]}"#,
            r#"{"jane@example.com":"ä😀","x":{"1":{"b":1}}}"#,
            "[1,\"a\",{\"b\":1}]",
            "123456789012345",
        ] {
            assert_eq!(walked(text).unwrap_or_else(|| panic!("{text}")), parsed(text), "{text}");
        }
    }

    #[test]
    fn the_shape_of_many_members_is_short() {
        let text: String = (0..40).rev().map(|n| format!("\"k{n}\":{n},")).collect();
        let text = format!("{{{text}\"z\":[]}}");
        let (shape, canonical) = walked(&text).unwrap();
        assert_eq!((shape.as_object().unwrap().len(), &shape["…"]), (MEMBERS + 1, &Value::from(41 - MEMBERS)));
        assert_eq!(canonical, parsed(&text).1);
    }

    #[test]
    fn rare_spellings_are_left_to_the_parsers() {
        let deep = "[".repeat(70) + &"]".repeat(70);
        for text in [
            "1.0",
            "-0",
            "1e2",
            "1234567890123456",
            r#""\u0041""#,
            r#""\/""#,
            r#"{"a":1,"a":2}"#,
            r#"{"ä":1}"#,
            r#"{"a\n":1}"#,
            r#"{"b":{"a":1,"a":2}}"#,
            "",
            "{",
            "[1",
            "{\"a\"",
            "{\"a\":1 \"b\":2}",
            "[1,]",
            "1 2",
            "\"a",
            "tru",
            "-",
            &deep,
        ] {
            assert_eq!(walked(text), None, "{text}");
        }
    }
}
