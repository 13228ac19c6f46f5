//! The authorizer for access tokens of authorization servers.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Caller, Error, ErrorKind, clock::unix_seconds};
use couplet_http::server::{Authorize, Challenge, ClaimTypes};
use http::{Uri, request::Parts};

use super::{
    challenge::Challenges,
    claims::Claims,
    dpop::Proofs,
    issuer::Issuer,
    memo::Memo,
    metadata::{self, Metadata},
    published::Known,
    refusal::Refusal,
};
use crate::fetch::parse;

/// An authorizer that verifies access tokens of an authorization server, and tells unauthenticated clients where to log
/// in. Pass it to `Endpoint::authorize`.
///
/// A token is valid if one of the configured issuers issued it (by its signature, or by introspection), for this server
/// as audience, and it has not expired. Identifiers are compared exactly, without normalization.
///
/// ```
/// use couplet_auth::server::Verifier;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// // The server's URL, as clients use it, and the issuer of its tokens.
/// let verifier = Verifier::new("https://mcp.example.com/mcp", "https://login.example.com")?
///     .scopes(["mcp"])
///     .implies("files:write", ["files:read"]);
/// # Ok(())
/// # }
/// ```
#[must_use = "an endpoint uses it"]
pub struct Verifier {
    pub(crate) issuers: Vec<Known>,
    metadata: Metadata,
    pub(crate) at: Uri,
    pub(crate) audience: Vec<String>,
    pub(crate) challenges: Challenges,
    pub(crate) implied: Vec<(String, Vec<String>)>,
    /// Claims, each with the values of which it must have one.
    pub(crate) required: Vec<(String, Vec<String>)>,
    pub(crate) proofs: Proofs,
    pub(crate) leeway: u64,
    pub(crate) cache_ttl: Duration,
    pub(crate) describe: Describe,
    /// The types of the claims that `describe` attaches.
    claim_types: ClaimTypes,
    pub(crate) memo: Memo,
}

/// Maps verified claims to a caller.
pub(crate) type Describe = Box<dyn Fn(Caller, Claims) -> Option<Caller> + Send + Sync>;

impl Verifier {
    /// Creates a verifier for tokens of this issuer with this server as audience. `resource` is the server's URL,
    /// exactly as clients use it.
    ///
    /// # Errors
    /// Fails if a URL is invalid, the server's URL is neither https nor loopback, or TLS cannot be set up.
    pub fn new(resource: impl Into<String>, issuer: impl Into<Issuer>) -> Result<Self, Error> {
        let (metadata, at) = Metadata::new(resource.into())?;
        let challenges =
            Challenges { metadata: Some(metadata::address(&at)), scopes: Vec::new(), proofs: None, proofs_only: false };
        let verifier = Self {
            issuers: Vec::new(),
            audience: vec![metadata.resource.clone()],
            metadata,
            at,
            challenges,
            implied: Vec::new(),
            required: Vec::new(),
            proofs: Proofs::new(),
            leeway: 60,
            cache_ttl: Duration::from_secs(30),
            describe: Box::new(|caller, claims| Some(caller.with_claims(claims))),
            claim_types: ClaimTypes::of::<Claims>(),
            memo: Memo::new(),
        };
        verifier.add_issuer(issuer).map(Self::update_dpop)
    }

    /// Trusts another issuer, too.
    ///
    /// # Errors
    /// Fails if its URL is invalid, TLS cannot be set up, or it is the second issuer with introspection: an opaque
    /// token does not tell which of them to ask.
    pub fn add_issuer(mut self, issuer: impl Into<Issuer>) -> Result<Self, Error> {
        let issuer = issuer.into();
        if issuer.asks.is_some() && self.issuers.iter().any(|known| known.issuer.asks.is_some()) {
            return Err(Error::new(ErrorKind::Config, "only one issuer can use token introspection"));
        }
        // Clients cannot use an identifier that is not a URL.
        if issuer.listed && parse(&issuer.name).is_some() {
            self.metadata.authorization_servers.push(issuer.name.clone());
        }
        self.issuers.push(Known::new(issuer)?);
        Ok(self)
    }

    /// Sets the scopes that every request needs. They are advertised to clients.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.challenges.scopes = advertised(scopes);
        self
    }

    /// Sets the supported scopes in the metadata (default: those that every request needs).
    pub fn scopes_supported(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.scopes_supported = advertised(scopes);
        self
    }

    /// Declares that a scope includes others.
    pub fn implies(mut self, scope: impl Into<String>, others: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.implied.push((scope.into(), others.into_iter().map(Into::into).collect()));
        self
    }

    /// Accepts another audience, too, such as an alias of this server.
    pub fn audience(mut self, name: impl Into<String>) -> Self {
        self.audience.push(name.into());
        self
    }

    /// Requires that a claim has one of these values, or, if it is a list, contains one of them. Numbers and booleans are
    /// given as JSON (`"true"`). Several calls must all hold.
    ///
    /// ```
    /// use couplet_auth::server::Verifier;
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let verifier = Verifier::new("https://mcp.example.com/mcp", "https://login.example.com")?
    ///     .require_claim("department", ["sales", "support"])
    ///     .require_claim("email_verified", ["true"]);
    /// # drop(verifier);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if [`Claims`] has the claim as a field: `iss`, `sub`, `aud`, `exp`, `nbf`, `scope`, `scp`, `client_id`, `azp`,
    /// `cid` and `cnf`.
    #[track_caller]
    pub fn require_claim(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let name = name.into();
        assert!(!Claims::FIELDS.contains(&&*name), "the claim `{name}` cannot be required: use `map_claims`");
        self.required.push((name, values.into_iter().map(Into::into).collect()));
        self
    }

    /// Sets the server's display name in the metadata.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.metadata.resource_name = Some(name.into());
        self
    }

    /// Sets the URL of the server's documentation in the metadata.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.metadata.resource_documentation = Some(url.into());
        self
    }

    /// Sets the accepted clock skew (default: 60 s).
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.as_secs();
        self
    }

    /// Sets how long the outcome of a verification is cached (default: 30 s). With introspection, a revoked token is
    /// accepted for up to this time.
    pub fn cache_ttl(mut self, ttl: Duration) -> Self {
        self.cache_ttl = ttl;
        self
    }

    /// Requires DPoP-bound tokens with a proof. By default, bound tokens need a proof and others are accepted without.
    pub fn require_dpop(mut self) -> Self {
        self.proofs.required = true;
        self.update_dpop()
    }

    /// Requires a nonce of this server in DPoP proofs, so that they cannot be created in advance. Replicas behind a
    /// load balancer must share the key; use random bytes.
    pub fn dpop_nonces(mut self, key: [u8; 32]) -> Self {
        self.proofs.nonces = Some(key);
        self
    }

    /// Maps verified claims to the type that handlers receive as `Auth<T>`, instead of [`Claims`]. Returning `None`
    /// rejects the request.
    ///
    /// Replicas that forward requests to each other must name the type with `Replica::claims`.
    pub fn map_claims<T: Send + Sync + 'static>(
        mut self,
        map: impl Fn(Claims) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        self.describe = Box::new(move |caller, claims| Some(caller.with_claims(map(claims)?)));
        self.claim_types = ClaimTypes::opaque::<T>();
        self
    }

    /// Returns the protected resource metadata document (RFC 9728), as it is served.
    pub fn metadata(&self) -> Bytes {
        let mut metadata = self.metadata.clone();
        if metadata.scopes_supported.is_empty() {
            metadata.scopes_supported.clone_from(&self.challenges.scopes);
        }
        metadata.to_json()
    }

    fn update_dpop(mut self) -> Self {
        let names: Vec<&str> = self.proofs.algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
        self.challenges.proofs = Some(names.join(" "));
        self.challenges.proofs_only = self.proofs.required;
        self.metadata.dpop_signing_alg_values_supported.clone_from(&self.proofs.algorithms);
        self.metadata.dpop_bound_access_tokens_required = self.proofs.required;
        self
    }
}

impl Authorize for Verifier {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        Box::pin(async move {
            let now = unix_seconds();
            match self.admit(request, now).await {
                Ok(caller) => Ok(Some(caller)),
                Err(refusal) => Err(self.challenges.answer(&refusal, self.proofs.nonce(now).as_deref())),
            }
        })
    }

    fn insufficient(&self, _: &Parts, _: Option<&Caller>, needed: &[String]) -> Challenge {
        self.challenges.answer(&Refusal::Scopes(needed.to_vec()), None)
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        metadata::paths(&self.at).iter().any(|own| own == path).then(|| self.metadata())
    }

    fn claim_types(&self) -> ClaimTypes {
        self.claim_types.clone()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

/// Scopes to advertise. `offline_access` is between the client and the issuer.
fn advertised(scopes: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    scopes.into_iter().map(Into::into).filter(|scope: &String| scope != "offline_access").collect()
}
