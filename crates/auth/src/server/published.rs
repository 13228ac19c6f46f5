//! The published metadata and keys of an issuer.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{Error, ErrorKind, sync::lock};
use serde::Deserialize;
use tokio::{sync::Mutex as Turn, time::Instant};

use super::{
    issuer::Issuer,
    jws::Jws,
    key::{Jwk, Key},
    refusal::Refusal,
};
use crate::{
    fetch::{Fetcher, Reach, parse},
    places::server_places,
};

/// An issuer with a cache of its published metadata and keys. It is filled on demand and refreshed when stale.
pub(crate) struct Known {
    pub(crate) issuer: Issuer,
    pub(crate) fetcher: Fetcher,
    /// The possible URLs of its metadata.
    places: Vec<String>,
    /// Configured keys, which are not fetched.
    given: Option<Published>,
    published: Mutex<Option<Published>>,
    /// Held by the request that fetches; others wait, or use the cached value. The value is when the next fetch is
    /// allowed.
    turn: Turn<Option<Instant>>,
}

#[derive(Clone)]
struct Published {
    keys: Arc<[Key]>,
    introspection: Option<String>,
    read: Instant,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Option<String>,
    introspection_endpoint: Option<String>,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

impl Published {
    /// Unusable keys are skipped.
    fn new(keys: &[serde_json::Value], introspection: Option<String>) -> Self {
        let read = |key: &serde_json::Value| Key::new(&Jwk::deserialize(key).ok()?);
        let keys = keys.iter().take(Known::MOST_KEYS).filter_map(read).collect();
        Self { keys, introspection, read: Instant::now() }
    }
}

/// The configured keys; the error says what is wrong with them.
fn given(issuer: &Issuer) -> Result<Option<Published>, &'static str> {
    if issuer.secret.as_ref().is_some_and(|secret| !secret.is_long_enough()) {
        return Err("has a secret for HS256 that is shorter than 32 bytes");
    }
    let Some(jwks) = &issuer.jwks else {
        return Ok(issuer.secret.as_ref().map(|_| Published::new(&[], None)));
    };
    let set: Set = serde_json::from_str(jwks)
        .map_err(|_| "has `jwks` that are not a set of keys: expected `{\"keys\": [...]}`")?;
    let published = Published::new(&set.keys, None);
    if published.keys.is_empty() {
        return Err("has no key that can verify signatures");
    }
    Ok(Some(published))
}

impl Known {
    /// After this time the keys are fetched again.
    const FRESH: Duration = Duration::from_secs(60 * 60);
    /// After this time they are not used any more, even if they cannot be fetched.
    const STALE: Duration = Duration::from_secs(24 * 60 * 60);
    /// After this time a failed fetch is retried, unless the minimum interval is shorter.
    const FAILED: Duration = Duration::from_secs(5);
    const MOST_KEYS: usize = 100;

    /// # Errors
    /// Fails if the identifier is not a URL, or TLS cannot be set up.
    pub(crate) fn new(issuer: Issuer) -> Result<Self, Error> {
        let wrong = |what: &str| Error::new(ErrorKind::Config, format!("`{}` {what}", issuer.name));
        let given = given(&issuer).map_err(wrong)?;
        let uri = match (parse(&issuer.name), &given) {
            (None, None) => {
                return Err(wrong("is not the URL of an issuer; without a URL, configure its keys with `jwks`"));
            }
            (uri, _) => uri,
        };
        let reach = issuer.reach.or(uri.as_ref().map(Reach::of)).unwrap_or_default();
        let places = uri.as_ref().map(server_places).unwrap_or_default();
        let fetcher = Fetcher::new(reach)?;
        Ok(Self { issuer, fetcher, places, given, published: Mutex::default(), turn: Turn::new(None) })
    }

    /// Verifies a signature by this issuer.
    pub(crate) async fn signed(&self, jws: &Jws<'_>) -> Result<(), Refusal> {
        let forged = Refusal::Invalid("the signature of the token is invalid");
        // The shared secret is used for HS256 only, and no other key is.
        if let Some(good) = self.issuer.secret.as_ref().and_then(|secret| jws.is_by_secret(secret)) {
            return if good { Ok(()) } else { Err(forged) };
        }
        let unsigned = Refusal::Invalid("the token's signature algorithm is not allowed");
        let algorithm = jws.algorithm(&self.issuer.algorithms).ok_or(unsigned)?;
        let fits = |key: &&Key| key.fits(algorithm) && (jws.header.kid.is_none() || key.kid == jws.header.kid);
        let published = self.published(|published| published.keys.iter().any(|key| fits(&key))).await?;
        // Without a key id there may be several candidates.
        let mut keys = published.keys.iter().filter(fits).take(8).peekable();
        if keys.peek().is_none() {
            return Err(Refusal::Invalid("the token is signed with a key that its issuer does not publish"));
        }
        match keys.any(|key| jws.is_by(key, algorithm)) {
            true => Ok(()),
            false => Err(forged),
        }
    }

    /// The introspection endpoint.
    pub(crate) async fn introspection(&self) -> Result<String, Refusal> {
        if let Some(given) = self.issuer.asks.as_ref().and_then(|asks| asks.endpoint.clone()) {
            return Ok(given);
        }
        let published = self.published(|published| published.introspection.is_some()).await?;
        published.introspection.ok_or(Refusal::Unavailable("the token's issuer has no introspection endpoint"))
    }

    /// The published metadata and keys; fetched again if stale or insufficient.
    async fn published(&self, is_enough: impl Fn(&Published) -> bool) -> Result<Published, Refusal> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let kept = self.kept();
        let mut turn = match kept {
            Some(kept) if is_enough(&kept) => {
                if kept.read.elapsed() < Self::FRESH {
                    return Ok(kept);
                }
                match self.turn.try_lock() {
                    Ok(turn) => turn,
                    Err(_) => return Ok(kept),
                }
            }
            _ => self.turn.lock().await,
        };
        // Another request may have fetched it meanwhile.
        let kept = self.kept();
        let too_soon = turn.is_some_and(|next| Instant::now() < next);
        if let Some(kept) = &kept
            && (too_soon || (is_enough(kept) && kept.read.elapsed() < Self::FRESH))
        {
            return Ok(kept.clone());
        }
        let unavailable = Refusal::Unavailable("the keys of the token's issuer are unavailable");
        if too_soon {
            return Err(unavailable);
        }
        let read = self.read().await;
        let pause = if read.is_ok() { self.issuer.pause } else { self.issuer.pause.min(Self::FAILED) };
        *turn = Some(Instant::now() + pause);
        match read {
            Ok(read) => {
                *lock(&self.published) = Some(read.clone());
                Ok(read)
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer.name, %error, "the metadata or keys of an issuer cannot be fetched");
                kept.ok_or(unavailable)
            }
        }
    }

    fn kept(&self) -> Option<Published> {
        let kept = lock(&self.published);
        kept.clone().filter(|published| published.read.elapsed() < Self::STALE)
    }

    async fn read(&self) -> Result<Published, Error> {
        let (jwks, introspection) = match &self.issuer.jwks_uri {
            Some(keys) => (Some(keys.clone()), None),
            None => {
                let metadata = self.metadata().await?;
                (metadata.jwks_uri, metadata.introspection_endpoint)
            }
        };
        let keys = match jwks {
            Some(url) => self.fetcher.get(&url).await?.json::<Set>()?.keys,
            None => Vec::new(),
        };
        Ok(Published::new(&keys, introspection))
    }

    /// The metadata, from the first URL that has any.
    async fn metadata(&self) -> Result<Metadata, Error> {
        let wrong = |what: String| Error::new(ErrorKind::Auth, what);
        for url in &self.places {
            let fetched = self.fetcher.get(url).await?;
            if fetched.status.is_client_error() {
                continue;
            }
            let metadata: Metadata = fetched.json()?;
            if metadata.issuer != self.issuer.name {
                return Err(wrong(format!("the metadata of `{}` names another issuer", self.issuer.name)));
            }
            return Ok(metadata);
        }
        Err(wrong(format!("`{}` publishes no metadata", self.issuer.name)))
    }
}
