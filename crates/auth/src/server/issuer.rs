//! An authorization server whose tokens are believed.

use std::time::Duration;

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

impl Issuer {
    /// The issuer of this name, exactly as it stands in its metadata and in its tokens.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            algorithms: Algorithm::ALL.to_vec(),
            asks: None,
            keys: None,
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
