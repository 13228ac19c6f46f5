//! SHA-256 of files, in the forms that packages use.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac_sha256::Hash;

/// In hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    Hash::hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As a wheel's RECORD has it.
pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Hash::hash(bytes))
}

/// The text of a file that `sha256sum --check` reads.
pub(super) fn list<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    files.into_iter().map(|(name, bytes)| format!("{}  {name}\n", hex(bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_forms_of_other_programs() {
        const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(list([("a", b"".as_slice()), ("b", b"")]), format!("{EMPTY}  a\n{EMPTY}  b\n"));
        assert_eq!(base64(b""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }
}
