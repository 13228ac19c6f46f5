//! The authenticated caller of a request.

use std::{any::Any, fmt, sync::Arc};

use crate::service::Call;

/// An authenticated caller: a principal, its scopes and its claims.
///
/// The transport's authorizer creates it; over HTTP that is the argument of `Endpoint::authorize`. It does not contain the
/// token, so no handler can pass one on.
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
    /// Creates a caller from its principal: the unique name that sessions, tasks and sealed request state belong to.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), scopes: Vec::new(), claims: None, expires: None }
    }

    /// Sets the scopes that were granted.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Attaches claims of any type, which handlers extract as `Auth<T>`.
    #[must_use]
    pub fn with_claims<T: Send + Sync + 'static>(mut self, claims: T) -> Self {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// Sets the expiry in seconds since the Unix epoch. Streams that outlive it, such as subscriptions, are closed then.
    #[must_use]
    pub fn with_expiry(mut self, seconds: u64) -> Self {
        self.expires = Some(seconds);
        self
    }

    /// Returns the principal.
    pub fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    /// Returns the granted scopes.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope)
    }

    /// Returns whether all of these scopes were granted.
    pub fn has_scopes<'s>(&self, scopes: impl IntoIterator<Item = &'s String>) -> bool {
        scopes.into_iter().all(|scope| self.has_scope(scope))
    }

    /// Returns the claims if they have this type.
    pub fn claims<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.claims.clone()?.downcast().ok()
    }

    /// Returns the expiry in seconds since the Unix epoch, if there is one.
    pub fn expires(&self) -> Option<u64> {
        self.expires
    }

    /// Returns whether there are claims of any type.
    pub fn has_claims(&self) -> bool {
        self.claims.is_some()
    }
}

/// The sender of a request, as far as a transport knows it before the request is accepted.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Sender<'a> {
    /// The authenticated caller, if there is one.
    pub caller: Option<&'a Caller>,
    /// The session id, if the transport has one.
    pub session: Option<&'a str>,
}

impl<'a> Sender<'a> {
    /// Creates a sender from its caller and its session id.
    pub fn new(caller: Option<&'a Caller>, session: Option<&'a str>) -> Self {
        Self { caller, session }
    }
}

impl<'a> From<&'a Call> for Sender<'a> {
    fn from(call: &'a Call) -> Self {
        Self::new(call.caller.as_deref(), call.session_id())
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
