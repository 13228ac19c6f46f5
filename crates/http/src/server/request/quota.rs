//! Quotas per principal, and per address of anonymous callers.

use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex},
};

use crate::server::lock;

/// A principal, or the network of an anonymous caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Principal(Arc<str>),
    Network(IpAddr),
}

/// The counts of one thing by principal and network.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<HashMap<Holder, usize>>);

impl Quotas {
    /// Counts one more for a principal; `None` at its limit. Anonymous callers are not counted.
    pub(crate) fn take(self: &Arc<Self>, principal: Option<&Arc<str>>, most: usize) -> Option<Share> {
        self.take_for(principal.cloned().map(Holder::Principal), most)
    }

    /// Counts one more for a network; `None` at its limit.
    pub(crate) fn take_of_network(self: &Arc<Self>, network: Option<IpAddr>, most: usize) -> Option<Share> {
        self.take_for(network.map(Holder::Network), most)
    }

    fn take_for(self: &Arc<Self>, holder: Option<Holder>, most: usize) -> Option<Share> {
        let Some(holder) = holder else { return Some(Share(None)) };
        let mut shares = lock(&self.0);
        let own = shares.get(&holder).copied().unwrap_or_default();
        if own >= most {
            return None;
        }
        shares.insert(holder.clone(), own + 1);
        Some(Share(Some((self.clone(), holder))))
    }
}

/// One of what a principal or a network has, until it is dropped.
pub(crate) struct Share(Option<(Arc<Quotas>, Holder)>);

impl Drop for Share {
    fn drop(&mut self) {
        let Some((shares, holder)) = self.0.take() else { return };
        let mut shares = lock(&shares.0);
        if let Some(count) = shares.get_mut(&holder) {
            *count -= 1;
            if *count == 0 {
                shares.remove(&holder);
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
        let network = "192.0.2.1".parse().ok();
        let address = shares.take_of_network(network, 1).expect("it has none");
        assert!(shares.take_of_network(network, 1).is_none());
        assert!(shares.take_of_network(None, 0).is_some());
        drop((first, address));
        assert!(shares.take(Some(&alice), 1).is_some());
        assert!(lock(&shares.0).is_empty(), "holders without any are removed");
    }
}
