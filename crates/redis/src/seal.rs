//! Values at rest: sealed, with a version, and bound to the name of their key.
//!
//! A value is a version, the number of the key that sealed it, a random nonce, and the ciphertext with its tag.

use std::{fmt, sync::Arc};

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use couplet_core::{Error, ErrorKind};
use hmac_sha256::HMAC;

/// The version of values that this release writes, and the only one that it opens.
const VERSION: u8 = 1;
const NUMBER: usize = 4;
const NONCE: usize = 24;
const TAG: usize = 16;

/// The keys that seal values in Redis: the current one, and previous ones that still open what they sealed.
///
/// All replicas need the same keys. To replace a key without downtime, first add the new one everywhere with
/// [`also_opens`](Keys::also_opens), then make it the current one everywhere and the old one a previous one, and remove
/// the old one when the longest lifetime of a value has passed.
///
/// The key may be the one of [`Sealer`](couplet_core::Sealer): the keys that are used are derived from it.
///
/// ```
/// use couplet_redis::Keys;
///
/// let (current, previous) = ([2; 32], [1; 32]);
/// let keys = Keys::new(current).also_opens(previous);
/// # drop(keys);
/// ```
#[derive(Clone)]
pub struct Keys(Arc<Vec<Key>>);

#[derive(Clone)]
struct Key {
    number: [u8; NUMBER],
    cipher: XChaCha20Poly1305,
}

impl Keys {
    /// The maximum number of keys.
    const LIMIT: usize = 8;

    /// Creates the keys from the one that seals. It must be random, and a secret.
    pub fn new(key: [u8; 32]) -> Self {
        Self(Arc::new(vec![Key::derive(&key)]))
    }

    /// Adds a key that opens values and seals none.
    ///
    /// # Panics
    /// With more than eight keys.
    #[must_use]
    pub fn also_opens(self, key: [u8; 32]) -> Self {
        assert!(self.0.len() < Self::LIMIT, "at most {} keys: remove the oldest", Self::LIMIT);
        let mut keys = (*self.0).clone();
        keys.push(Key::derive(&key));
        Self(Arc::new(keys))
    }

    /// Seals a value for the key and the field that it is stored under.
    pub(crate) fn seal(&self, place: Place<'_>, value: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = || Error::new(ErrorKind::Other, "a value cannot be sealed");
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| failed())?;
        let Some(key) = self.0.first() else { return Err(failed()) };
        let payload = Payload { msg: value, aad: &place.bytes(key.number) };
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| failed())?;
        let mut bytes = Vec::with_capacity(1 + NUMBER + NONCE + sealed.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&key.number);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&sealed);
        Ok(bytes)
    }

    /// Opens a value of a key and a field.
    pub(crate) fn open(&self, place: Place<'_>, value: &[u8]) -> Result<Vec<u8>, Error> {
        let wrong = |why: &str| Error::new(ErrorKind::Config, format!("the value of `{}` {why}", place.key));
        match value.first() {
            Some(&VERSION) => {}
            Some(version) => {
                let why = format!("has version {version}, and this release reads {VERSION}: update all replicas");
                return Err(wrong(&why));
            }
            None => return Err(wrong("is empty")),
        }
        let broken = || wrong("was not written by this library, or was changed");
        let (number, rest) = value[1..].split_first_chunk::<NUMBER>().ok_or_else(broken)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or_else(broken)?;
        if sealed.len() < TAG {
            return Err(broken());
        }
        let key = self.0.iter().find(|key| key.number == *number);
        let key = key.ok_or_else(|| wrong("is sealed with a key that is not configured: add it with `also_opens`"))?;
        let payload = Payload { msg: sealed, aad: &place.bytes(*number) };
        key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| broken())
    }
}

/// The same as [`Keys::new`].
impl From<[u8; 32]> for Keys {
    fn from(key: [u8; 32]) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("count", &self.0.len()).finish_non_exhaustive()
    }
}

impl Key {
    fn derive(key: &[u8; 32]) -> Self {
        let cipher = XChaCha20Poly1305::new(&HMAC::mac("couplet-redis: sealed values, 1", key).into());
        let mut number = [0; NUMBER];
        number.copy_from_slice(&HMAC::mac("couplet-redis: number of a key, 1", key)[..NUMBER]);
        Self { number, cipher }
    }
}

/// Where a value is stored: a value that was copied to another place does not open there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) key: &'a str,
    pub(crate) field: &'a str,
}

impl Place<'_> {
    fn bytes(self, number: [u8; NUMBER]) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&number);
        bytes.extend_from_slice(&(self.key.len() as u64).to_be_bytes());
        bytes.extend_from_slice(self.key.as_bytes());
        bytes.extend_from_slice(self.field.as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place<'_> = Place { key: "couplet:a", field: "record" };

    #[test]
    fn a_value_opens_where_it_was_stored() {
        let keys = Keys::new([1; 32]);
        let sealed = keys.seal(HERE, b"content").unwrap();
        assert_eq!(keys.open(HERE, &sealed).unwrap(), b"content");
        assert_ne!(keys.seal(HERE, b"content").unwrap(), sealed, "each has its own nonce");
        assert!(!sealed.windows(7).any(|bytes| bytes == b"content"));
        for elsewhere in [Place { key: "couplet:b", ..HERE }, Place { field: "memory", ..HERE }] {
            assert!(keys.open(elsewhere, &sealed).unwrap_err().to_string().contains("was changed"));
        }
    }

    #[test]
    fn no_byte_can_change() {
        let keys = Keys::new([1; 32]);
        let sealed = keys.seal(HERE, b"content").unwrap();
        for at in 0..sealed.len() {
            let mut bytes = sealed.clone();
            bytes[at] ^= 1;
            assert!(keys.open(HERE, &bytes).is_err(), "byte {at}");
            assert!(keys.open(HERE, &sealed[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn keys_can_be_replaced() {
        let (old, new) = ([1; 32], [2; 32]);
        let sealed = Keys::new(old).seal(HERE, b"content").unwrap();
        let both = Keys::new(new).also_opens(old);
        assert_eq!(both.open(HERE, &sealed).unwrap(), b"content");
        let sealed = both.seal(HERE, b"content").unwrap();
        assert_eq!(Keys::new(new).open(HERE, &sealed).unwrap(), b"content");
        let error = Keys::new(old).open(HERE, &sealed).unwrap_err();
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains("`also_opens`"), "{error}");
    }

    #[test]
    fn a_newer_version_is_named() {
        let error = Keys::new([1; 32]).open(HERE, &[2, 3, 4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the value of `couplet:a` has version 2, and this release reads 1: update all replicas"
        );
    }

    #[test]
    #[should_panic(expected = "at most 8 keys")]
    fn keys_are_limited() {
        let mut keys = Keys::new([0; 32]);
        for key in 1..=8 {
            keys = keys.also_opens([key; 32]);
        }
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", Keys::new([7; 32])), "Keys { count: 1, .. }");
    }
}
