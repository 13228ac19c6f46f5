//! Forwarding: a request for a session that another replica owns is sent there.

pub(crate) mod accept;
mod dial;
pub(crate) mod envelope;
pub(crate) mod forward;
pub(crate) mod nonces;
pub(crate) mod owners;
pub(crate) mod relay;

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{Error, ErrorKind};
use hmac_sha256::HMAC;
use http::HeaderName;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use crate::server::{
    replica::{
        dial::{Connector, Dial, is_reachable},
        nonces::Nonces,
        owners::Owners,
    },
    request::claim_types::ClaimTypes,
};

/// The header that makes a request one of another replica.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("couplet-replica");

/// This replica, as the others of the same server reach it: the argument of [`Endpoint::replica`].
///
/// A request for a session that another replica owns is forwarded to that replica's URL, and the response is passed on as
/// it comes. The other replica trusts the forwarded request, its caller included, because of a message authentication
/// code: all replicas share a secret key. Such a request is valid once, within a minute, for one replica. The clocks of
/// the replicas must not differ by more than that.
///
/// The header fields of the request are forwarded except `authorization`, `cookie` and those of the connection; its
/// extensions are not. With `http` the traffic is not encrypted: use it in a private network. With the feature `client` the
/// URL may be one of `https`, for replicas behind something that terminates TLS.
///
/// ```
/// use couplet_http::server::{Endpoint, MemorySessions, Replica};
/// use couplet_server::{Server, tool};
/// use std::sync::Arc;
///
/// # fn run(key: [u8; 32]) -> Result<(), couplet_core::Error> {
/// let server = Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).build();
/// // Several replicas share a store of another process instead.
/// let store = Arc::new(MemorySessions::new());
/// let replica = Replica::new("http://10.0.0.7:8080/mcp", key)?;
/// let endpoint = Endpoint::new(server).sessions(store).replica(replica);
/// # let _ = endpoint;
/// # Ok(())
/// # }
/// # run([7; 32]).unwrap();
/// ```
#[doc = include_str!("../../docs/replica.md")]
///
/// [`Endpoint::replica`]: crate::server::Endpoint::replica
#[derive(Clone)]
pub struct Replica {
    pub(crate) url: Arc<str>,
    /// The first one signs.
    keys: Vec<[u8; 32]>,
    claims: ClaimTypes,
    dial: Dial,
}

impl Replica {
    /// The number of keys.
    const KEYS: usize = 8;

    /// Creates a replica from the URL of its endpoint, which the other replicas can reach, and the key that they share:
    /// 32 random bytes.
    ///
    /// # Errors
    /// If it is not a URL with the scheme `http` or, with the feature `client`, `https`.
    ///
    /// ```
    /// use couplet_core::ErrorKind;
    /// use couplet_http::server::Replica;
    ///
    /// let error = Replica::new("10.0.0.7:8080", [7; 32]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Config);
    /// ```
    pub fn new(url: impl Into<String>, key: [u8; 32]) -> Result<Self, Error> {
        let url = url.into();
        if !url.parse().is_ok_and(|uri| is_reachable(&uri)) {
            let what = format!("`{url}` is not the URL of a replica: expected {}", Dial::URLS);
            return Err(Error::new(ErrorKind::Config, what));
        }
        Ok(Self { url: url.into(), keys: vec![derive(&key)], claims: ClaimTypes::none(), dial: Dial::new()? })
    }

    /// Trusts the certificates of a PEM text too, for the `https` URLs of other replicas: those of a private authority.
    /// Otherwise the roots that Mozilla trusts are trusted, or with the feature `system-roots` those of the system and of
    /// `SSL_CERT_FILE`.
    ///
    /// # Errors
    /// If the text has no certificate.
    #[cfg(feature = "client")]
    pub fn add_root_certificates_pem(mut self, pem: &[u8]) -> Result<Self, Error> {
        self.dial = self.dial.trusting(pem)?;
        Ok(self)
    }

    /// Also accepts requests that are signed with another key, so that the key can be changed while replicas run: first
    /// every replica accepts the new key, then each uses it. At most seven are used.
    ///
    /// ```
    /// use couplet_http::server::Replica;
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// # let (old, new) = ([1; 32], [2; 32]);
    /// // First everywhere: sign with the old key, accept both.
    /// let first = Replica::new("http://10.0.0.7:8080/mcp", old)?.also_accepts(new);
    /// // Then everywhere: sign with the new key. In the end, without the old one.
    /// let second = Replica::new("http://10.0.0.7:8080/mcp", new)?.also_accepts(old);
    /// # drop((first, second));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn also_accepts(mut self, key: [u8; 32]) -> Self {
        if self.keys.len() < Self::KEYS {
            self.keys.push(derive(&key));
        }
        self
    }

    /// Adds a type of claims that the authorizer attaches to callers; they are sent as JSON. It is not needed for types that
    /// the authorizer names itself ([`Authorize::claim_types`](crate::server::Authorize::claim_types)), such as those of
    /// `couplet_auth`. A request of a caller with claims of another type is not forwarded: its response is an error (500).
    ///
    /// ```
    /// use couplet_http::server::Replica;
    /// use serde::{Deserialize, Serialize};
    ///
    /// /// What the authorizer attaches with `Caller::with_claims`.
    /// #[derive(Serialize, Deserialize)]
    /// struct Tenant {
    ///     name: String,
    /// }
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let replica = Replica::new("http://10.0.0.7:8080/mcp", [7; 32])?.claims::<Tenant>();
    /// # drop(replica);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn claims<T: Serialize + DeserializeOwned + Send + Sync + 'static>(mut self) -> Self {
        self.claims = self.claims.and(ClaimTypes::of::<T>());
        self
    }
}

/// Derives the key of this use from the shared one.
fn derive(key: &[u8; 32]) -> [u8; 32] {
    HMAC::mac(b"couplet forwarded request v1", key)
}

/// The state of forwarding.
pub(crate) struct Replicas {
    pub(crate) replica: Replica,
    /// Those of the replica and of the authorizer.
    pub(crate) claims: ClaimTypes,
    pub(crate) nonces: Mutex<Nonces>,
    owners: Mutex<Owners>,
    started: Instant,
    client: Client<Connector, Full<Bytes>>,
}

impl Replicas {
    /// Creates the state for callers with claims of these types.
    #[track_caller]
    pub(crate) fn new(replica: Replica, attached: ClaimTypes) -> Self {
        let claims = replica.claims.clone().and(attached);
        if let Some(name) = claims.unsendable() {
            panic!("the claims `{name}` of callers cannot be sent to other replicas: name them with `Replica::claims`");
        }
        let owners = Mutex::new(Owners::new());
        Self {
            nonces: Mutex::default(),
            owners,
            started: Instant::now(),
            client: replica.dial.client(),
            claims,
            replica,
        }
    }

    /// Whether an earlier process at this address can have valid leases: they end with the lease of a session after its own
    /// end. Later, such leases are those of a process that runs, and has the same URL by mistake.
    pub(crate) fn has_predecessor(&self, lease: Duration) -> bool {
        self.started.elapsed() < lease
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are secrets.
        f.debug_struct("Replica").field("url", &self.url).finish_non_exhaustive()
    }
}
