//! What an issuer publishes: its keys, and where it can be asked.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use couplet_core::{Error, ErrorKind};
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

/// What an issuer publishes, as far as it was read. It is read when it is needed, and again when it is old.
pub(crate) struct Known {
    pub(crate) issuer: Issuer,
    pub(crate) fetcher: Fetcher,
    /// Where its metadata may be.
    places: Vec<String>,
    /// What is not read, because the program gave it.
    given: Option<Published>,
    published: Mutex<Option<Published>>,
    /// Whoever reads; others wait, or go on with what is there. It holds when that may be tried once more.
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
    /// One key that is of no use here does not spoil the others.
    fn new(keys: &[serde_json::Value], introspection: Option<String>) -> Self {
        let read = |key: &serde_json::Value| Key::new(&Jwk::deserialize(key).ok()?);
        let keys = keys.iter().take(Known::MOST_KEYS).filter_map(read).collect();
        Self { keys, introspection, read: Instant::now() }
    }
}

/// The keys that the program gives; the error is what is wrong with them.
fn given(issuer: &Issuer) -> Result<Option<Published>, &'static str> {
    if issuer.secret.as_ref().is_some_and(|secret| !secret.is_long_enough()) {
        return Err("has a secret for HS256 that is shorter than 32 bytes");
    }
    let Some(jwks) = &issuer.jwks else {
        return Ok(issuer.secret.as_ref().map(|_| Published::new(&[], None)));
    };
    let set: Set =
        serde_json::from_str(jwks).map_err(|_| "has keys that are not a set of keys: `{\"keys\": [...]}`")?;
    let published = Published::new(&set.keys, None);
    if published.keys.is_empty() {
        return Err("has no key that signatures can be checked with");
    }
    Ok(Some(published))
}

impl Known {
    /// After this the keys are read once more.
    const FRESH: Duration = Duration::from_secs(60 * 60);
    /// After this they are not used any more, even if they cannot be read.
    const STALE: Duration = Duration::from_secs(24 * 60 * 60);
    /// After this what could not be read is tried again, if that is not too soon anyway.
    const FAILED: Duration = Duration::from_secs(5);
    const MOST_KEYS: usize = 100;

    /// # Errors
    /// When the name is not an address, or TLS cannot be set up.
    pub(crate) fn new(issuer: Issuer) -> Result<Self, Error> {
        let wrong = |what: &str| Error::new(ErrorKind::Config, format!("`{}` {what}", issuer.name));
        let given = given(&issuer).map_err(wrong)?;
        let uri = match (parse(&issuer.name), &given) {
            (None, None) => return Err(wrong("is not the address of an issuer")),
            (uri, _) => uri,
        };
        let reach = issuer.reach.or(uri.as_ref().map(Reach::of)).unwrap_or_default();
        let places = uri.as_ref().map(server_places).unwrap_or_default();
        let fetcher = Fetcher::new(reach)?;
        Ok(Self { issuer, fetcher, places, given, published: Mutex::default(), turn: Turn::new(None) })
    }

    /// Whether a signed text is by this issuer.
    pub(crate) async fn signed(&self, jws: &Jws<'_>) -> Result<(), Refusal> {
        let forged = Refusal::Invalid("the signature of the token is wrong");
        // A secret is compared with what it alone can have made; it is never used as another key, nor another as it.
        if let Some(good) = self.issuer.secret.as_ref().and_then(|secret| jws.is_by_secret(secret)) {
            return if good { Ok(()) } else { Err(forged) };
        }
        let unsigned = Refusal::Invalid("the token is not signed in a way that is allowed here");
        let algorithm = jws.algorithm(&self.issuer.algorithms).ok_or(unsigned)?;
        let fits = |key: &&Key| key.fits(algorithm) && (jws.header.kid.is_none() || key.kid == jws.header.kid);
        let published = self.published(|published| published.keys.iter().any(|key| fits(&key))).await?;
        // Without a name for the key there may be a few to try.
        let mut keys = published.keys.iter().filter(fits).take(8).peekable();
        if keys.peek().is_none() {
            return Err(Refusal::Invalid("the token is signed with a key that its issuer does not publish"));
        }
        match keys.any(|key| jws.is_by(key, algorithm)) {
            true => Ok(()),
            false => Err(forged),
        }
    }

    /// Where to ask about tokens.
    pub(crate) async fn introspection(&self) -> Result<String, Refusal> {
        if let Some(given) = self.issuer.asks.as_ref().and_then(|asks| asks.endpoint.clone()) {
            return Ok(given);
        }
        let published = self.published(|published| published.introspection.is_some()).await?;
        published
            .introspection
            .ok_or(Refusal::Unavailable("the issuer of the token does not say where to ask about it"))
    }

    /// What the issuer publishes; read once more if it is old, or not enough.
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
        // Somebody else may have read it meanwhile.
        let kept = self.kept();
        let too_soon = turn.is_some_and(|next| Instant::now() < next);
        if let Some(kept) = &kept
            && (too_soon || (is_enough(kept) && kept.read.elapsed() < Self::FRESH))
        {
            return Ok(kept.clone());
        }
        let unavailable = Refusal::Unavailable("the keys of the issuer cannot be read");
        if too_soon {
            return Err(unavailable);
        }
        let read = self.read().await;
        let pause = if read.is_ok() { self.issuer.pause } else { self.issuer.pause.min(Self::FAILED) };
        *turn = Some(Instant::now() + pause);
        match read {
            Ok(read) => {
                *self.published.lock().unwrap_or_else(PoisonError::into_inner) = Some(read.clone());
                Ok(read)
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer.name, %error, "what an issuer publishes cannot be read");
                kept.ok_or(unavailable)
            }
        }
    }

    fn kept(&self) -> Option<Published> {
        let kept = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone().filter(|published| published.read.elapsed() < Self::STALE)
    }

    async fn read(&self) -> Result<Published, Error> {
        let (jwks, introspection) = match &self.issuer.keys {
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

    /// The metadata, at the first of its addresses where there is any.
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
