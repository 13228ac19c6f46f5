//! The nonces of requests that were accepted, so that none is accepted twice.

use std::collections::HashSet;

/// The nonces of the last minutes, in two halves: the older one is dropped when all of it has expired.
#[derive(Debug, Default)]
pub(crate) struct Nonces {
    since: u64,
    new: HashSet<[u8; 16]>,
    old: HashSet<[u8; 16]>,
}

/// The result of using a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nonce {
    /// It is used for the first time.
    Fresh,
    /// It was used before.
    Used,
    /// There are too many.
    Full,
}

impl Nonces {
    /// The time for which a nonce is stored at least, in seconds: from one end of the window to the other.
    const LIFETIME: u64 = 2 * super::envelope::WINDOW + 1;
    /// The number of nonces in a half. Only other replicas can add any.
    const MOST: usize = 1 << 18;

    /// Uses a nonce at a time in seconds.
    pub(crate) fn take(&mut self, nonce: [u8; 16], now: u64) -> Nonce {
        let age = now.saturating_sub(self.since);
        if age >= Self::LIFETIME {
            self.old = std::mem::take(&mut self.new);
            if age >= 2 * Self::LIFETIME {
                self.old = HashSet::new();
            }
            self.since = now;
        }
        if self.new.contains(&nonce) || self.old.contains(&nonce) {
            Nonce::Used
        } else if self.new.len() >= Self::MOST {
            Nonce::Full
        } else {
            self.new.insert(nonce);
            Nonce::Fresh
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::server::replica::nonces::*;

    #[test]
    fn a_nonce_is_used_once_within_its_lifetime() {
        let mut nonces = Nonces::default();
        assert_eq!(nonces.take([1; 16], 1000), Nonce::Fresh);
        for now in [1000, 1060, 1121, 1120] {
            assert_eq!(nonces.take([1; 16], now), Nonce::Used, "{now}");
            assert_eq!(nonces.take([2; 16], now), if now == 1000 { Nonce::Fresh } else { Nonce::Used }, "{now}");
        }
        assert_eq!(nonces.take([1; 16], 5000), Nonce::Fresh, "an old one has expired anyway");
    }

    #[test]
    fn there_is_a_limit() {
        let mut nonces = Nonces::default();
        let nonce = |n: usize| (n as u128).to_be_bytes();
        assert!((0..Nonces::MOST).all(|n| nonces.take(nonce(n), 1000) == Nonce::Fresh));
        assert_eq!(nonces.take(nonce(Nonces::MOST), 1000), Nonce::Full);
        assert_eq!(nonces.take(nonce(Nonces::MOST), 1000 + Nonces::LIFETIME), Nonce::Fresh);
    }
}
