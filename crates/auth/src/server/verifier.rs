//! Who may ask: whoever sends a token that one of the issuers made for this server.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Caller, Error, ErrorKind};
use couplet_http::server::{Authorize, Challenge};
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

/// Lets in whoever sends a token that an authorization server made for this server, and tells everybody else how to get
/// one. Give it to `Endpoint::authorize`.
///
/// A token is good if its issuer is the one that is named here and says so (by its signature, or when it is asked), if
/// it is for this server and no other, and at this time. What is compared is compared as it was given.
///
/// ```
/// use couplet_auth::server::Verifier;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// // The address of the server, as clients know it, and who makes tokens for it.
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
    pub(crate) proofs: Proofs,
    pub(crate) leeway: u64,
    pub(crate) remember: Duration,
    pub(crate) describe: Describe,
    pub(crate) memo: Memo,
}

/// Makes of what a token says what handlers take.
pub(crate) type Describe = Box<dyn Fn(Caller, Claims) -> Option<Caller> + Send + Sync>;

impl Verifier {
    /// Lets in whoever has a token of this issuer for this server: the address that clients have, all of it, and as
    /// they write it.
    ///
    /// # Errors
    /// When an address is not one, when that of the server needs https, or when TLS cannot be set up.
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
            proofs: Proofs::new(),
            leeway: 60,
            remember: Duration::from_secs(30),
            describe: Box::new(|caller, claims| Some(caller.with_claims(claims))),
            memo: Memo::new(),
        };
        verifier.also(issuer).map(Self::told)
    }

    /// Believes another issuer, too.
    ///
    /// # Errors
    /// When its address is not one, when it is the second that has to be asked about tokens (which of them to ask about
    /// one could not be told), or when TLS cannot be set up.
    pub fn also(mut self, issuer: impl Into<Issuer>) -> Result<Self, Error> {
        let issuer = issuer.into();
        if issuer.asks.is_some() && self.issuers.iter().any(|known| known.issuer.asks.is_some()) {
            return Err(Error::new(ErrorKind::Config, "only one issuer can be asked about tokens"));
        }
        // Clients can do nothing with a name that is no address.
        if parse(&issuer.name).is_some() {
            self.metadata.authorization_servers.push(issuer.name.clone());
        }
        self.issuers.push(Known::new(issuer)?);
        Ok(self)
    }

    /// What everybody needs, whatever they ask for. Clients are told.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.challenges.scopes = advertised(scopes);
        self
    }

    /// All the scopes that there are, for clients that want to know; those that everybody needs, if nothing is said.
    pub fn scopes_supported(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.scopes_supported = advertised(scopes);
        self
    }

    /// Whoever has a scope has these as well.
    pub fn implies(mut self, scope: impl Into<String>, others: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.implied.push((scope.into(), others.into_iter().map(Into::into).collect()));
        self
    }

    /// Takes tokens that are for another name of this server, too.
    pub fn audience(mut self, name: impl Into<String>) -> Self {
        self.audience.push(name.into());
        self
    }

    /// What the server is called, for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.metadata.resource_name = Some(name.into());
        self
    }

    /// Where people can read about the server.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.metadata.resource_documentation = Some(url.into());
        self
    }

    /// How far clocks may be apart: a minute, if nothing is said.
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.as_secs();
        self
    }

    /// How long what was found out about a token is believed without looking again: 30 seconds, if nothing is said. So
    /// long can a token be used after it was revoked, with an issuer that is asked.
    pub fn remember(mut self, time: Duration) -> Self {
        self.remember = time;
        self
    }

    /// Takes only tokens that are bound to a key, with the proof of it (DPoP). Without this, tokens that are bound need
    /// their proof, and others do not.
    pub fn require_dpop(mut self) -> Self {
        self.proofs.required = true;
        self.told()
    }

    /// Proofs have to repeat a number that the server has given: then nobody can have made one in advance. The key is for
    /// several processes that serve the same; make it of random bytes.
    pub fn dpop_nonces(mut self, key: [u8; 32]) -> Self {
        self.proofs.nonces = Some(key);
        self
    }

    /// Makes of what a token says what handlers take as `Auth<T>`, instead of [`Claims`]. Whoever it makes nothing of is
    /// not let in.
    pub fn map_claims<T: Send + Sync + 'static>(
        mut self,
        map: impl Fn(Claims) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        self.describe = Box::new(move |caller, claims| Some(caller.with_claims(map(claims)?)));
        self
    }

    /// The document about this server, as it is served (RFC 9728).
    pub fn metadata(&self) -> Bytes {
        let mut metadata = self.metadata.clone();
        if metadata.scopes_supported.is_empty() {
            metadata.scopes_supported.clone_from(&self.challenges.scopes);
        }
        metadata.print()
    }

    fn told(mut self) -> Self {
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
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
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
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

/// Scopes that clients may be told of. That a client may renew its tokens is between it and the issuer.
fn advertised(scopes: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    scopes.into_iter().map(Into::into).filter(|scope: &String| scope != "offline_access").collect()
}
