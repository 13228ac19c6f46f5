//! Sealed request state: signed, and bound to the principal, the request and an expiry.
//!
//! The content is signed (HMAC), not encrypted: the client can read it but not change it.

use std::{fmt, iter, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_types::RpcError;
use hmac_sha256::{HMAC, Hash};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{message::scan::JsonText, wire::modern::STATE};

const MAC: usize = 32;

/// Signs and verifies request state that travels through the client.
///
/// # Rotation of keys
///
/// Replicas change their key one after the other, and clients hold state of the old one for a while. First add the new key
/// to each replica with [`also_opens`](Sealer::also_opens); then make it the key, and the old one a previous key; when the
/// [lifetime](Sealer::lifetime) has passed, drop the old one.
///
/// ```
/// use couplet_core::Sealer;
///
/// # let (new, old) = ([8; 32], [7; 32]);
/// let sealer = Sealer::new(new).also_opens(old);
/// # let _ = sealer;
/// ```
#[derive(Clone)]
pub struct Sealer {
    pub(super) key: [u8; 32],
    /// Further keys that open state.
    others: Option<Arc<Vec<[u8; 32]>>>,
    seconds: u64,
    limit: usize,
}

impl Sealer {
    const MAX_OTHERS: usize = 8;

    /// Creates a sealer with a key that replicas share.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, others: None, seconds: 600, limit: 8 * 1024 }
    }

    /// Creates a sealer with a random key: only this process can open what it seals.
    ///
    /// # Panics
    /// If the system has no source of randomness.
    pub fn random() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system's random source works");
        Self::new(key)
    }

    /// Also opens state that was sealed with another key: a previous one, or the next.
    ///
    /// # Panics
    /// If there are more than 8 such keys.
    #[must_use]
    #[track_caller]
    pub fn also_opens(mut self, key: [u8; 32]) -> Self {
        let others = Arc::make_mut(self.others.get_or_insert_default());
        assert!(others.len() < Self::MAX_OTHERS, "a sealer opens state of at most {} other keys", Self::MAX_OTHERS);
        others.push(key);
        self
    }

    /// Derives a sealer whose state no other label opens, and which has keys of its own: for state of different scopes
    /// under one configured key.
    #[must_use]
    pub fn derived(&self, label: &str) -> Self {
        let derive = |key: &[u8; 32]| HMAC::mac(label, key);
        let others = self.others.as_ref().map(|others| Arc::new(others.iter().map(derive).collect()));
        Self { key: derive(&self.key), others, seconds: self.seconds, limit: self.limit }
    }

    /// Sets the lifetime of sealed state in seconds (default: 600).
    #[must_use]
    pub fn lifetime(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// Sets the maximum size of sealed state in bytes (default: 8 KiB).
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Seals a content for one subject, as of `now` (seconds since the Unix epoch).
    ///
    /// # Errors
    /// -32603 if the content exceeds the maximum size.
    pub(crate) fn seal<T: Serialize>(&self, subject: &Subject, now: u64, content: &T) -> Result<String, RpcError> {
        let sealed = Sealed { until: now.saturating_add(self.seconds), subject: subject.digest(), content };
        let text = serde_json::to_vec(&sealed).map_err(|e| RpcError::internal(e.to_string()))?;
        let mut bytes = HMAC::mac(&text, self.key).to_vec();
        bytes.extend_from_slice(&text);
        let state = URL_SAFE_NO_PAD.encode(bytes);
        if state.len() > self.limit {
            let message =
                format!("the state of this call is {} bytes, more than {} may travel", state.len(), self.limit);
            return Err(RpcError::internal(message));
        }
        Ok(state)
    }

    /// The keys that open state, the one that seals first.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8; 32]> {
        iter::once(&self.key).chain(self.others.iter().flat_map(|others| others.iter()))
    }

    /// Verifies and opens sealed state for the same subject, unless it has expired.
    ///
    /// # Errors
    /// -32602 if the state is not valid. The message does not tell why.
    pub(crate) fn open<T: DeserializeOwned>(&self, subject: &Subject, now: u64, state: &str) -> Result<T, RpcError> {
        let invalid = |why: &str| RpcError::invalid_params(format!("`{STATE}` is not valid: {why}"));
        if state.len() > self.limit {
            return Err(invalid("it is too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(state).map_err(|_| invalid("it was not made here"))?;
        let (mac, text) = bytes.split_at_checked(MAC).ok_or_else(|| invalid("it was not made here"))?;
        let mac: &[u8; MAC] = mac.try_into().expect("split at that length");
        if !self.keys().any(|key| HMAC::verify(text, key, mac)) {
            return Err(invalid("it was not made here"));
        }
        let sealed: Sealed<T> = serde_json::from_slice(text).map_err(|_| invalid("it was not made here"))?;
        if sealed.subject != subject.digest() {
            return Err(invalid("it belongs to another request"));
        }
        if sealed.until < now {
            return Err(invalid("it has expired"));
        }
        Ok(sealed.content)
    }
}

/// The same as [`Sealer::new`].
impl From<[u8; 32]> for Sealer {
    fn from(key: [u8; 32]) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("seconds", &self.seconds).field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed<T> {
    until: u64,
    subject: String,
    content: T,
}

/// The subject that sealed state is bound to.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    principal: Option<String>,
    request: [u8; 32],
}

impl Subject {
    /// The principal, the method, and the parameters that describe the request.
    pub(crate) fn new<'a>(
        principal: Option<&str>,
        method: &str,
        params: impl Iterator<Item = (std::borrow::Cow<'a, str>, JsonText)>,
    ) -> Self {
        let mut members: Vec<_> = params.collect();
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let mut hash = Hash::new();
        hash.update(method);
        for (key, value) in members {
            hash.update([0]);
            hash.update(key.as_bytes());
            hash.update([0]);
            hash.update(canonical(&value));
        }
        Self { principal: principal.map(str::to_owned), request: hash.finalize() }
    }

    fn digest(&self) -> String {
        let mut hash = Hash::new();
        hash.update([u8::from(self.principal.is_some())]);
        hash.update(self.principal.as_deref().unwrap_or_default());
        hash.update([0]);
        hash.update(self.request);
        short(&hash.finalize())
    }
}

/// A digest of a client request, to detect that it has changed between rounds.
pub(crate) fn fingerprint(method: &str, params: &str) -> String {
    let mut hash = Hash::new();
    hash.update(method);
    hash.update([0]);
    hash.update(params);
    short(&hash.finalize())
}

fn short(digest: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(&digest[..16])
}

/// The canonical form of a value, with sorted keys and no spaces: a client may serialize its parameters differently in each
/// round.
fn canonical(value: &JsonText) -> String {
    match value.parse::<serde_json::Value>() {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(_) => value.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::message::Params;
    use crate::server::seal::*;

    fn subject(principal: Option<&str>, method: &str, params: &str) -> Subject {
        let params = Params::from_text(JsonText::new(params.to_owned()).unwrap()).unwrap();
        Subject::new(principal, method, params.iter())
    }

    #[test]
    fn sealed_state_opens_for_its_own_request_only() {
        let sealer = Sealer::new([7; 32]).lifetime(60);
        let mine = subject(Some("ann"), "tools/call", r#"{"name":"a","arguments":{"x":1,"y":2}}"#);
        let state = sealer.seal(&mine, 1000, &"content").unwrap();
        let open = |subject: &Subject, now, state: &str| sealer.open::<String>(subject, now, state);

        assert_eq!(open(&mine, 1060, &state).unwrap(), "content");
        let printed_anew = subject(Some("ann"), "tools/call", r#"{ "arguments":{"y":2, "x":1}, "name":"a" }"#);
        assert_eq!(open(&printed_anew, 1060, &state).unwrap(), "content");

        assert!(open(&mine, 1061, &state).unwrap_err().message.contains("expired"));
        for other in [
            subject(Some("bob"), "tools/call", r#"{"name":"a","arguments":{"x":1,"y":2}}"#),
            subject(None, "tools/call", r#"{"name":"a","arguments":{"x":1,"y":2}}"#),
            subject(Some("ann"), "prompts/get", r#"{"name":"a","arguments":{"x":1,"y":2}}"#),
            subject(Some("ann"), "tools/call", r#"{"name":"a","arguments":{"x":1,"y":3}}"#),
        ] {
            assert!(open(&other, 1000, &state).unwrap_err().message.contains("another request"));
        }
        for at in 0..state.len() {
            let mut bytes = state.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            // The last character of unpadded base64 has bits that do not count; the decoder rejects those too.
            assert!(open(&mine, 1000, std::str::from_utf8(&bytes).unwrap()).is_err(), "byte {at}");
        }
        assert!(open(&mine, 1000, "").is_err());
        assert!(Sealer::new([8; 32]).open::<String>(&mine, 1000, &state).is_err());
    }

    #[test]
    fn keys_are_rotated() {
        let (old, new) = ([1; 32], [2; 32]);
        let about = subject(None, "m", "{}");
        let opens = |sealer: &Sealer, state: &str| sealer.open::<String>(&about, 0, state).is_ok();
        let before = Sealer::new(old).seal(&about, 0, &"content").unwrap();
        let rotated = Sealer::new(new).also_opens([3; 32]).also_opens(old);
        let after = rotated.seal(&about, 0, &"content").unwrap();
        assert!(opens(&rotated, &before) && opens(&rotated, &after));
        assert!(opens(&Sealer::new(new), &after), "the key itself seals, and no other");
        assert!(!opens(&Sealer::new(old), &after) && !opens(&Sealer::new(new), &before));
        assert!(opens(&Sealer::new(old).also_opens(new), &after), "the next key can be known before it is used");
        assert!(!opens(&Sealer::new([4; 32]).also_opens([5; 32]), &before));
        assert!(!format!("{rotated:?}").contains('3'), "keys are not shown");
    }

    #[test]
    fn derived_keys_differ_by_label_and_rotate_with_their_key() {
        let about = subject(None, "m", "{}");
        let (old, new) = (Sealer::new([1; 32]), Sealer::new([2; 32]).also_opens([1; 32]));
        let state = old.derived("a").seal(&about, 0, &"content").unwrap();
        assert!(new.derived("a").open::<String>(&about, 0, &state).is_ok());
        assert!(new.derived("b").open::<String>(&about, 0, &state).is_err());
        assert!(old.open::<String>(&about, 0, &state).is_err());
    }

    #[test]
    #[should_panic(expected = "at most 8 other keys")]
    fn the_number_of_keys_is_limited() {
        (0..9).fold(Sealer::random(), |sealer, key| sealer.also_opens([key; 32]));
    }

    #[test]
    fn too_much_state_is_an_error() {
        let sealer = Sealer::random().limit(100);
        let error = sealer.seal(&subject(None, "m", "{}"), 0, &"x".repeat(100)).unwrap_err();
        assert!(error.message.contains("more than 100"));
    }
}
