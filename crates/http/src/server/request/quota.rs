//! Quotas per principal.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use crate::server::lock;

/// The counts of one thing by principal.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<HashMap<Arc<str>, usize>>);

impl Quotas {
    /// Counts one more for a principal; `None` at its limit. Anonymous callers are not counted.
    pub(crate) fn take(self: &Arc<Self>, principal: Option<&Arc<str>>, most: usize) -> Option<Share> {
        let Some(principal) = principal else { return Some(Share(None)) };
        let mut shares = lock(&self.0);
        let own = shares.get(principal).copied().unwrap_or_default();
        if own >= most {
            return None;
        }
        shares.insert(principal.clone(), own + 1);
        Some(Share(Some((self.clone(), principal.clone()))))
    }
}

/// One of what a principal has, until it is dropped.
pub(crate) struct Share(Option<(Arc<Quotas>, Arc<str>)>);

impl Drop for Share {
    fn drop(&mut self) {
        let Some((shares, principal)) = self.0.take() else { return };
        let mut shares = lock(&shares.0);
        if let Some(count) = shares.get_mut(&principal) {
            *count -= 1;
            if *count == 0 {
                shares.remove(&principal);
            }
        }
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::request::quota::*;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let shares: Arc<Quotas> = Arc::default();
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        let first = shares.take(Some(&alice), 1).expect("she has none");
        assert!(shares.take(Some(&alice), 1).is_none());
        assert!(shares.take(Some(&bob), 1).is_some());
        assert!(shares.take(None, 0).is_some());
        drop(first);
        assert!(shares.take(Some(&alice), 1).is_some());
        assert!(lock(&shares.0).is_empty(), "a principal without any is removed");
    }
}
