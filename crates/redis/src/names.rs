//! Names of keys and channels. Ids are hashed, so that a name reveals none; the hash is also the cluster's hash tag, so
//! that all keys of one id are in one slot.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac_sha256::Hash;

/// The bytes of a digest that a name contains: enough that no two ids meet.
const DIGEST: usize = 24;

/// The names under one prefix.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The key of a kind for an id that consists of several parts.
    pub(crate) fn key(&self, kind: &str, id: &[&str]) -> String {
        let mut hash = Hash::new();
        for part in id {
            // With its length, so that no two lists of parts have the same bytes.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = URL_SAFE_NO_PAD.encode(&hash.finalize()[..DIGEST]);
        format!("{}{kind}:{{{digest}}}", self.prefix)
    }

    /// A channel: there is one of each kind.
    pub(crate) fn channel(&self, kind: &str) -> String {
        format!("{}{kind}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_with_each_part() {
        let names = Names::new("couplet:");
        let all = [
            names.key("session", &["ab", "c"]),
            names.key("session", &["a", "bc"]),
            names.key("session", &["abc"]),
            names.key("session", &["ABC"]),
            names.key("session", &["abc", ""]),
            names.key("task", &["abc"]),
            Names::new("other:").key("session", &["abc"]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| other != one), "{one}");
        }
    }

    #[test]
    fn a_name_has_one_hash_tag_and_not_the_id() {
        let name = Names::new("couplet:").key("session", &["secret-id"]);
        assert!(name.starts_with("couplet:session:{") && name.ends_with('}') && !name.contains("secret"), "{name}");
        assert_eq!(name.matches(['{', '}']).count(), 2, "{name}");
    }
}
