//! Hosts and origins that are allowed while endpoints serve.

use std::sync::{Arc, PoisonError, RwLock};

/// Host names and origins to allow in addition to those of [`Endpoint::allow_host`] and [`Endpoint::allow_origin`], which can be
/// replaced while endpoints serve. Clones are the same list.
///
/// ```
/// use couplet_http::server::{AllowList, Endpoint};
/// use couplet_server::Server;
///
/// let list = AllowList::new();
/// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build()).allow_list(&list);
/// // Later, when the configuration has changed:
/// list.replace(["mcp.example.com"], ["https://app.example.com"]);
/// # drop(endpoint);
/// ```
///
/// [`Endpoint::allow_host`]: crate::server::Endpoint::allow_host
/// [`Endpoint::allow_origin`]: crate::server::Endpoint::allow_origin
#[derive(Clone, Debug, Default)]
pub struct AllowList(Arc<RwLock<Allowed>>);

#[derive(Debug, Default)]
struct Allowed {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl AllowList {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces all host names and all origins. Requests that are answered already are not affected, nor are open streams.
    pub fn replace(
        &self,
        hosts: impl IntoIterator<Item = impl Into<String>>,
        origins: impl IntoIterator<Item = impl Into<String>>,
    ) {
        let hosts = hosts.into_iter().map(Into::into).collect();
        let allowed = Allowed { hosts, origins: origins.into_iter().map(Into::into).collect() };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    pub(crate) fn has_host(&self, is_it: impl Fn(&String) -> bool) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).hosts.iter().any(is_it)
    }

    pub(crate) fn has_origin(&self, is_it: impl Fn(&String) -> bool) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).origins.iter().any(is_it)
    }
}
