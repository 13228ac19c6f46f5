//! A cache of verified tokens. It holds the SHA-256 of a token, never the token.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{Caller, sync::lock};
use hmac_sha256::Hash;
use tokio::time::Instant;

use super::refusal::Refusal;

pub(crate) type Digest = [u8; 32];

/// The outcome of a verification.
pub(crate) type Found = Result<Arc<Verified>, Refusal>;

/// A valid token.
pub(crate) struct Verified {
    pub(crate) caller: Arc<Caller>,
    /// The thumbprint of the key that it is bound to.
    pub(crate) key: Option<String>,
    pub(crate) expires: Option<u64>,
}

/// A bounded cache of tokens. When it is full, the older half is evicted.
pub(crate) struct Memo {
    halves: Mutex<[HashMap<Digest, (Found, Instant)>; 2]>,
}

impl Memo {
    const HALF: usize = 4096;

    pub(crate) fn new() -> Self {
        Self { halves: Mutex::default() }
    }

    pub(crate) fn digest(token: &str) -> Digest {
        Hash::hash(token.as_bytes())
    }

    pub(crate) fn get(&self, token: &Digest) -> Option<Found> {
        let halves = lock(&self.halves);
        let (found, until) = halves.iter().find_map(|half| half.get(token))?;
        (Instant::now() < *until).then(|| found.clone())
    }

    pub(crate) fn put(&self, token: Digest, found: Found, good_for: Duration) {
        if good_for.is_zero() {
            return;
        }
        let mut halves = lock(&self.halves);
        if halves[0].len() >= Self::HALF {
            halves[1] = std::mem::take(&mut halves[0]);
        }
        // An older entry in the other half would reappear when this one expires.
        halves[1].remove(&token);
        halves[0].insert(token, (found, Instant::now() + good_for));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_grow() {
        let memo = Memo::new();
        let hour = Duration::from_secs(3600);
        for n in 0..20_000_u32 {
            memo.put(Memo::digest(&n.to_string()), Err(Refusal::Missing), hour);
        }
        assert!(memo.get(&Memo::digest("19999")).is_some());
        assert!(memo.get(&Memo::digest("0")).is_none());
        let held: usize = lock(&memo.halves).iter().map(HashMap::len).sum();
        assert!(held <= 2 * Memo::HALF, "{held}");
    }

    #[tokio::test(start_paused = true)]
    async fn it_forgets() {
        let (memo, token) = (Memo::new(), Memo::digest("a"));
        memo.put(token, Err(Refusal::Missing), Duration::ZERO);
        assert!(memo.get(&token).is_none());
        memo.put(token, Err(Refusal::Missing), Duration::from_secs(5));
        assert!(memo.get(&token).is_some());
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(memo.get(&token).is_none());
    }
}
