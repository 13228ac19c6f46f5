//! HMAC-SHA256 with a key that is processed once.

use sha2::{Digest, Sha256};

/// The states after the key was hashed; each message continues copies of them.
#[derive(Clone)]
pub(super) struct Keyed {
    inner: Sha256,
    outer: Sha256,
}

impl Keyed {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let padded = |with: u8| {
            let mut block = [with; 64];
            for (byte, key) in block.iter_mut().zip(key) {
                *byte ^= key;
            }
            Sha256::new_with_prefix(block)
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// The code of a message.
    pub(super) fn mac(&self, message: &[u8]) -> [u8; 32] {
        let inner = self.inner.clone().chain_update(message).finalize();
        self.outer.clone().chain_update(inner).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use hmac_sha256::HMAC;

    use super::*;

    /// The codes of older logs are the same.
    #[test]
    fn it_is_the_code_of_another_implementation() {
        for length in [0, 1, 55, 56, 64, 65, 200] {
            let (key, message) = ([7; 32], vec![b'x'; length]);
            assert_eq!(Keyed::new(&key).mac(&message), HMAC::mac(&message, key), "{length}");
        }
    }
}
