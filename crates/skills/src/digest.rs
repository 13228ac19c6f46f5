//! SHA-256 digests in the format of skills: `sha256:` and 64 lower-case hexadecimal digits.

use std::fmt::Write;

use hmac_sha256::Hash;

const PREFIX: &str = "sha256:";

/// Computes the digest of some bytes.
pub(crate) fn of(bytes: &[u8]) -> String {
    let mut text = PREFIX.to_owned();
    for byte in Hash::hash(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whether a string is a well-formed digest.
pub(crate) fn is_one(text: &str) -> bool {
    let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    text.strip_prefix(PREFIX).is_some_and(|digits| digits.len() == 64 && digits.bytes().all(hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_one_form() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(b""), empty);
        assert!(is_one(empty));
        for wrong in ["", "sha256:", &empty[7..], &empty.to_uppercase(), &format!("{empty}0"), &empty.replace('e', "g")]
        {
            assert!(!is_one(wrong), "{wrong}");
        }
    }
}
