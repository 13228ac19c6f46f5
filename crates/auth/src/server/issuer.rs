//! An authorization server whose tokens are believed.

use std::{fmt, time::Duration};

use ring::hmac;
use zeroize::Zeroizing;

use super::algorithm::Algorithm;
use crate::{Secret, fetch::Reach};

/// An authorization server whose tokens are believed. Where its keys are, and where it can be asked about a token, is
/// found out from the metadata that it publishes.
///
/// ```
/// use couplet_auth::server::Issuer;
///
/// // Tokens that are signed.
/// let signed = Issuer::new("https://login.example.com");
/// // Tokens that only their issuer understands: it is asked about each, as this client.
/// let opaque = Issuer::new("https://login.example.com").introspect("mcp-server", "the secret of this server");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a verifier uses it"]
pub struct Issuer {
    pub(crate) name: String,
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) asks: Option<Asks>,
    pub(crate) keys: Option<String>,
    /// Keys that are given instead of read.
    pub(crate) jwks: Option<String>,
    pub(crate) secret: Option<SharedSecret>,
    pub(crate) reach: Option<Reach>,
    pub(crate) pause: Duration,
}

/// As whom, and where, an issuer is asked about tokens.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    pub(crate) client: String,
    pub(crate) secret: Secret,
    pub(crate) endpoint: Option<String>,
}

/// A secret that signs tokens, and checks them.
#[derive(Clone)]
pub(crate) struct SharedSecret(Zeroizing<Vec<u8>>);

impl SharedSecret {
    /// As many bytes as the hash has (RFC 7518, section 3.2).
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
    /// The issuer of this name, exactly as it stands in its metadata and in its tokens.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            algorithms: Algorithm::ALL.to_vec(),
            asks: None,
            keys: None,
            jwks: None,
            secret: None,
            reach: None,
            pause: Duration::from_secs(30),
        }
    }

    /// Believes signatures of these kinds alone. Whatever is said, tokens that anybody could make are never believed.
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Its keys are at this address; its metadata is not looked at.
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {
        self.keys = Some(url.into());
        self
    }

    /// These are its keys: a set of keys as JSON (RFC 7517), with public keys alone. Nothing is read over the network, so
    /// the name of the issuer need not be an address.
    ///
    /// ```
    /// use couplet_auth::server::{Issuer, Verifier};
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let keys = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    /// let verifier = Verifier::new("https://mcp.example.com/mcp", Issuer::new("our company").keys(keys))?;
    /// # drop(verifier);
    /// # Ok(())
    /// # }
    /// ```
    pub fn keys(mut self, jwks: impl Into<String>) -> Self {
        self.jwks = Some(jwks.into());
        self
    }

    /// Believes tokens that are signed with this secret (HS256), which the issuer of the tokens has, too: at least 32 bytes,
    /// random ones. A server that checks tokens can then make them as well. Nothing is read over the network.
    pub fn hs256(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.secret = Some(SharedSecret(Zeroizing::new(secret.as_ref().to_vec())));
        self
    }

    /// Asks it about each of its tokens (RFC 7662), as a client that it knows. Without this, tokens that are not signed
    /// are refused.
    pub fn introspect(mut self, client: impl Into<String>, secret: impl Into<Secret>) -> Self {
        self.asks = Some(Asks { client: client.into(), secret: secret.into(), endpoint: None });
        self
    }

    /// The same, at this address; its metadata is not looked at.
    pub fn introspect_at(
        mut self,
        url: impl Into<String>,
        client: impl Into<String>,
        secret: impl Into<Secret>,
    ) -> Self {
        self.asks = Some(Asks { client: client.into(), secret: secret.into(), endpoint: Some(url.into()) });
        self
    }

    /// How far its addresses may lead: over https to the internet, or to this machine if the issuer is there.
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = Some(reach);
        self
    }

    /// How long to wait before its keys are read once more because of a key that is not among them: 30 seconds.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
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
