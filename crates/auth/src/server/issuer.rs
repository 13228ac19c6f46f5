//! A trusted authorization server.

use std::{fmt, time::Duration};

use ring::hmac;
use zeroize::Zeroizing;

use super::algorithm::Algorithm;
use crate::{Secret, fetch::Reach};

/// A trusted authorization server. The URLs of its keys and of its introspection endpoint are discovered from its
/// metadata.
///
/// ```
/// use couplet_auth::server::Issuer;
///
/// // Signed tokens (JWT).
/// let signed = Issuer::new("https://login.example.com");
/// // Opaque tokens: the issuer is asked about each of them, as this client.
/// let opaque = Issuer::new("https://login.example.com").introspect("mcp-server", "the secret of this server");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a verifier uses it"]
pub struct Issuer {
    pub(crate) name: String,
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) asks: Option<Asks>,
    pub(crate) jwks_uri: Option<String>,
    /// Keys that are configured and not fetched.
    pub(crate) jwks: Option<String>,
    pub(crate) secret: Option<SharedSecret>,
    pub(crate) reach: Option<Reach>,
    pub(crate) pause: Duration,
    /// Whether clients can log in there, so that the metadata lists it.
    pub(crate) listed: bool,
}

/// The introspection credentials and endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    pub(crate) client: String,
    pub(crate) secret: Secret,
    pub(crate) endpoint: Option<String>,
}

/// A shared secret for HS256.
#[derive(Clone)]
pub(crate) struct SharedSecret(Zeroizing<Vec<u8>>);

impl SharedSecret {
    /// At least the size of the hash (RFC 7518, section 3.2).
    pub(crate) fn is_long_enough(&self) -> bool {
        self.0.len() >= 32
    }

    pub(crate) fn verify(&self, signed: &[u8], by: &[u8]) -> bool {
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), signed, by).is_ok()
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}

impl Issuer {
    /// Creates an issuer by its identifier, exactly as in its metadata and in the `iss` of its tokens.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            algorithms: Algorithm::ALL.to_vec(),
            asks: None,
            jwks_uri: None,
            jwks: None,
            secret: None,
            reach: None,
            pause: Duration::from_secs(30),
            listed: true,
        }
    }

    /// Restricts the accepted signature algorithms (default: [`Algorithm::ALL`]). `none` is never accepted.
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Sets the URL of its keys, instead of the one in its metadata.
    pub fn jwks_uri(mut self, url: impl Into<String>) -> Self {
        self.jwks_uri = Some(url.into());
        self
    }

    /// Sets its public keys as a JSON Web Key Set (RFC 7517). Nothing is fetched, so the identifier of the issuer need
    /// not be a URL.
    ///
    /// ```
    /// use couplet_auth::server::{Issuer, Verifier};
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let keys = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    /// let verifier = Verifier::new("https://mcp.example.com/mcp", Issuer::new("our company").jwks(keys))?;
    /// # drop(verifier);
    /// # Ok(())
    /// # }
    /// ```
    pub fn jwks(mut self, jwks: impl Into<String>) -> Self {
        self.jwks = Some(jwks.into());
        self
    }

    /// Accepts tokens signed with a shared secret (HS256) of at least 32 random bytes. A server that verifies such
    /// tokens can also issue them. Nothing is fetched.
    pub fn hs256(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.secret = Some(SharedSecret(Zeroizing::new(secret.as_ref().to_vec())));
        self
    }

    /// Asks the issuer about each token (token introspection, RFC 7662), authenticated as this client. Without it,
    /// opaque tokens are rejected.
    pub fn introspect(mut self, client: impl Into<String>, secret: impl Into<Secret>) -> Self {
        self.asks = Some(Asks { client: client.into(), secret: secret.into(), endpoint: None });
        self
    }

    /// Like [`introspect`](Self::introspect), at this URL instead of the one in the metadata.
    pub fn introspect_at(
        mut self,
        url: impl Into<String>,
        client: impl Into<String>,
        secret: impl Into<Secret>,
    ) -> Self {
        self.asks = Some(Asks { client: client.into(), secret: secret.into(), endpoint: Some(url.into()) });
        self
    }

    /// Sets which addresses its URLs may have. By default these are public addresses over https, and loopback addresses
    /// if the issuer is on one.
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = Some(reach);
        self
    }

    /// Leaves it out of the metadata: it issues tokens to workloads, and clients cannot log in there.
    pub(crate) fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// Sets the minimum interval between fetches of its keys for tokens with an unknown key (default: 30 s).
    pub fn min_refresh_interval(mut self, interval: Duration) -> Self {
        self.pause = interval;
        self
    }
}

impl From<&str> for Issuer {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Issuer {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}
