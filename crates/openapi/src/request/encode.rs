//! Percent-encoding.

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Encodes everything but letters, digits, `-`, `.`, `_` and `~`.
pub(crate) fn component(text: &str) -> String {
    encoded(text, |_| false)
}

/// Encodes a value of the query whose reserved characters stay, except for those that end it or begin another one.
pub(super) fn reserved(text: &str) -> String {
    encoded(text, |byte| b":/?@!$'()*,".contains(&byte))
}

/// Encodes what a path of the document cannot contain. Escapes that it has stay.
pub(super) fn literal(text: &str) -> String {
    encoded(text, |byte| b"/:@!$&'()*+,;=%".contains(&byte))
}

fn encoded(text: &str, also: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    out
}
