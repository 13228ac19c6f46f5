//! Who asks, as whoever checked it says.

use std::{any::Any, fmt, sync::Arc};

/// Somebody who was authenticated, and what they may do.
///
/// Whoever lets requests in makes it: over HTTP that is what `Endpoint::authorize` was given. It has no token in it, so
/// nothing that answers a call can pass one on.
///
/// ```
/// use couplet_core::Caller;
///
/// struct Tenant(u32);
///
/// let caller = Caller::new("alice").with_scopes(["files:read"]).with_claims(Tenant(7));
/// assert!(caller.has_scope("files:read") && !caller.has_scope("files:write"));
/// assert_eq!(caller.claims::<Tenant>().map(|tenant| tenant.0), Some(7));
/// ```
#[derive(Clone)]
pub struct Caller {
    principal: Arc<str>,
    scopes: Vec<String>,
    claims: Option<Arc<dyn Any + Send + Sync>>,
    expires: Option<u64>,
}

impl Caller {
    /// Somebody by the name that tells them from everybody else: sessions, tasks and what travels through the client
    /// belong to it.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), scopes: Vec::new(), claims: None, expires: None }
    }

    /// The same, with what they may do.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The same, with what else is known about them, for handlers.
    #[must_use]
    pub fn with_claims<T: Send + Sync + 'static>(mut self, claims: T) -> Self {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// The same, until a time in seconds since 1970: what goes on by itself, such as a stream of changes, ends then.
    #[must_use]
    pub fn with_expiry(mut self, seconds: u64) -> Self {
        self.expires = Some(seconds);
        self
    }

    /// The name that tells them from everybody else.
    pub fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    /// What they may do.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Whether they may do something.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope)
    }

    /// Whether they may do all of these.
    pub fn has_scopes<'s>(&self, scopes: impl IntoIterator<Item = &'s String>) -> bool {
        scopes.into_iter().all(|scope| self.has_scope(scope))
    }

    /// What else is known about them, if it has this type.
    pub fn claims<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.claims.clone()?.downcast().ok()
    }

    /// Until when they are who they are, in seconds since 1970.
    pub fn expires(&self) -> Option<u64> {
        self.expires
    }

    /// Whether anything else is known about them, of whatever type.
    pub fn has_claims(&self) -> bool {
        self.claims.is_some()
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("principal", &self.principal)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
