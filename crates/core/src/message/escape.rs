//! Escaping long strings for JSON, without a copy if nothing has to be escaped.

use bytes::Bytes;

use crate::message::{buffers, scan::plain};

/// Escapes a string as it appears between quotes. A string without special characters is not copied.
pub(crate) fn escaped(text: String) -> Bytes {
    let bytes = text.as_bytes();
    let mut done = next_special(bytes, 0);
    if done == bytes.len() {
        return text.into();
    }
    let mut out = buffers::buffer(bytes.len() + bytes.len() / 16);
    out.extend_from_slice(&bytes[..done]);
    while let Some(&special) = bytes.get(done) {
        match special {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', special]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{special:04x}").as_bytes()),
        }
        let next = next_special(bytes, done + 1);
        out.extend_from_slice(&bytes[done + 1..next]);
        done = next;
    }
    buffers::bytes(out)
}

/// Returns the index of the next byte that has to be escaped, or the end.
fn next_special(text: &[u8], from: usize) -> usize {
    let at = from + plain(&text[from..]);
    let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    text[at..].iter().position(is_special).map_or(text.len(), |more| at + more)
}

#[cfg(test)]
mod tests {
    use crate::message::escape::*;

    fn check(text: &str) {
        let printed = serde_json::to_vec(text).unwrap();
        let escaped = escaped(text.to_owned());
        // The two letters that serde_json writes shorter mean the same.
        if text.contains(['\u{8}', '\u{c}']) {
            let read: String = serde_json::from_slice(&[b"\"", &*escaped, b"\""].concat()).unwrap();
            assert_eq!(read, text);
        } else {
            assert_eq!(escaped, printed[1..printed.len() - 1], "{text:?}");
        }
    }

    #[test]
    fn it_is_what_serde_json_prints() {
        for character in (0..=0x100).chain(['\u{2028}' as u32, '\u{10ffff}' as u32]).filter_map(char::from_u32) {
            for before in 0..20 {
                for after in [0, 1, 7, 8, 9, 30] {
                    check(&format!("{}{character}{}", "a".repeat(before), "é".repeat(after)));
                    check(&format!("{}{character}{character}{}\"", "世".repeat(before), "a".repeat(after)));
                }
            }
        }
        check("");
    }

    #[test]
    fn what_needs_no_escape_is_not_copied() {
        let text = "plain".repeat(1000);
        let place = text.as_ptr();
        assert_eq!(escaped(text).as_ptr(), place);
    }
}
