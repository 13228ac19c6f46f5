//! Sealed ids: names of things at another server, bound to the caller that may use them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac_sha256::HMAC;

use crate::server::seal::Sealer;

/// The length of the authentication code in bytes.
const MAC: usize = 16;

impl Sealer {
    /// The maximum length of a sealed id: a longer one does not open. An id may have three quarters of it, less 16 bytes.
    pub const LONGEST_ID: usize = 64 << 10;

    /// Seals an id that only callers with the same context can use, such as a principal and a scope. It does not expire,
    /// and consists of letters, digits, `-` and `_`. The id is signed, not encrypted.
    ///
    /// ```
    /// use couplet_core::Sealer;
    ///
    /// let sealer = Sealer::random();
    /// let sealed = sealer.seal_id(&["task", "ann"], "files/17");
    /// assert_eq!(sealer.open_id(&["task", "ann"], &sealed).as_deref(), Some("files/17"));
    /// assert_eq!(sealer.open_id(&["task", "bob"], &sealed), None);
    /// ```
    pub fn seal_id(&self, context: &[&str], id: &str) -> String {
        let mut bytes = mac(&self.key, context, id)[..MAC].to_vec();
        bytes.extend_from_slice(id.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Opens a sealed id; `None` if it was not sealed with this context and one of the keys.
    pub fn open_id(&self, context: &[&str], sealed: &str) -> Option<String> {
        if sealed.len() > Self::LONGEST_ID {
            return None;
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let id = String::from_utf8(bytes.split_off(MAC.min(bytes.len()))).ok()?;
        self.keys().any(|key| is_same(&mac(key, context, &id)[..MAC], &bytes)).then_some(id)
    }
}

fn mac(key: &[u8; 32], context: &[&str], id: &str) -> [u8; 32] {
    let mut mac = HMAC::new(key);
    for part in context {
        // Lengths, so that no two contexts are the same text.
        mac.update((part.len() as u64).to_le_bytes());
        mac.update(part.as_bytes());
    }
    mac.update([0xff; 8]);
    mac.update(id.as_bytes());
    mac.finalize()
}

/// Compares without a shortcut, so that the time says nothing about the place of a difference.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_in_its_own_context_only() {
        let sealer = Sealer::new([7; 32]);
        let sealed = sealer.seal_id(&["task", "ann"], "a/1");
        assert_eq!(sealer.open_id(&["task", "ann"], &sealed).as_deref(), Some("a/1"));
        for other in [&["task", "bob"][..], &["tas", "kann"], &["task"], &["task", "ann", ""], &[]] {
            assert_eq!(sealer.open_id(other, &sealed), None, "{other:?}");
        }
        assert_eq!(Sealer::new([8; 32]).open_id(&["task", "ann"], &sealed), None);
        assert!(Sealer::new([8; 32]).also_opens([7; 32]).open_id(&["task", "ann"], &sealed).is_some());
    }

    #[test]
    fn a_changed_id_does_not_open() {
        let sealer = Sealer::new([7; 32]);
        let sealed = sealer.seal_id(&["cursor"], "files/17");
        for at in 0..sealed.len() {
            for byte in *b"A_-z0" {
                let mut bytes = sealed.clone().into_bytes();
                if bytes[at] == byte {
                    continue;
                }
                bytes[at] = byte;
                let changed = String::from_utf8(bytes).unwrap();
                assert_eq!(sealer.open_id(&["cursor"], &changed), None, "byte {at}");
            }
            assert_eq!(sealer.open_id(&["cursor"], &sealed[..at]), None);
        }
        let longest = "x".repeat(Sealer::LONGEST_ID / 4 * 3 - MAC);
        assert_eq!(sealer.open_id(&["cursor"], &sealer.seal_id(&["cursor"], &longest)), Some(longest.clone()));
        assert_eq!(sealer.open_id(&["cursor"], &sealer.seal_id(&["cursor"], &(longest + "x"))), None);
        for junk in ["", "A", "ä", "="] {
            assert_eq!(sealer.open_id(&["cursor"], junk), None);
        }
    }
}
