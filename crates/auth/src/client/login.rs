//! Stored logins and registrations.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD as BASE64};
use couplet_core::{Error, clock::unix_seconds};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

use super::{identity::Credential, identity::Identity, key::SigningKey, store::Store, token::Issued};
use crate::Secret;

/// A token for a server, with its refresh token.
#[derive(Debug)]
pub(crate) struct Login {
    /// The issuer of the token. No other party receives any of this.
    pub(crate) issuer: String,
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    expires: Option<u64>,
    /// The requested scopes.
    pub(crate) asked: Vec<String>,
    /// The key that the token is bound to.
    pub(crate) key: Option<BoundKey>,
}

/// A key with its stored encoding.
#[derive(Clone, Debug)]
pub(crate) struct BoundKey {
    pub(crate) key: SigningKey,
    kept: Secret,
}

impl BoundKey {
    pub(crate) fn generate() -> Result<Self, Error> {
        let (key, kept) = SigningKey::generate()?;
        Ok(Self { key, kept: Secret::new(BASE64.encode(&*kept)) })
    }

    fn read(kept: String) -> Option<Self> {
        let bytes = Zeroizing::new(BASE64.decode(&kept).ok()?);
        Some(Self { key: SigningKey::from_pkcs8(&bytes)?, kept: Secret::new(kept) })
    }
}

impl Login {
    pub(crate) fn new(issuer: &str, issued: Issued, asked: Vec<String>, key: Option<BoundKey>) -> Self {
        let Issued { access, refresh, expires } = issued;
        Self { issuer: issuer.to_owned(), access, refresh, expires, asked, key }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.expires.is_some_and(|end| end <= unix_seconds())
    }

    /// Loads the last login to a server.
    pub(crate) async fn load(store: &dyn Store, server: &str) -> Result<Option<Self>, Error> {
        let Some(issuer) = store.load(&last(server)).await? else { return Ok(None) };
        let issuer = issuer.reveal();
        let Some(saved) = load::<SavedLogin>(store, &token(issuer, server)).await? else { return Ok(None) };
        let key = saved.key.map(BoundKey::read);
        if matches!(key, Some(None)) {
            return Ok(None);
        }
        Ok(Some(Self {
            issuer: issuer.to_owned(),
            access: Secret::new(saved.access),
            refresh: saved.refresh.map(Secret::new),
            expires: saved.expires,
            asked: saved.asked,
            key: key.flatten(),
        }))
    }

    pub(crate) async fn save(&self, store: &dyn Store, server: &str) -> Result<(), Error> {
        let reveal = |secret: &Secret| secret.reveal().to_owned();
        let saved = SavedLogin {
            access: reveal(&self.access),
            refresh: self.refresh.as_ref().map(reveal),
            expires: self.expires,
            asked: self.asked.clone(),
            key: self.key.as_ref().map(|k| reveal(&k.kept)),
        };
        save(store, &token(&self.issuer, server), &saved).await?;
        store.save(&last(server), Some(Secret::new(self.issuer.clone()))).await
    }

    /// Deletes the token that was issued last for a server.
    pub(crate) async fn forget(store: &dyn Store, server: &str) -> Result<(), Error> {
        if let Some(issuer) = store.load(&last(server)).await? {
            store.save(&token(issuer.reveal(), server), None).await?;
        }
        store.save(&last(server), None).await
    }
}

#[derive(Serialize, Deserialize)]
struct SavedLogin {
    access: String,
    refresh: Option<String>,
    expires: Option<u64>,
    asked: Vec<String>,
    key: Option<String>,
}

/// The registration of a client at an authorization server.
#[derive(Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    pub(crate) method: Option<String>,
    /// The registered redirect URI.
    pub(crate) redirect: String,
    /// When the secret expires; 0 is never.
    #[serde(default)]
    pub(crate) expires: u64,
}

impl Registration {
    pub(crate) async fn load(store: &dyn Store, issuer: &str) -> Result<Option<Self>, Error> {
        let found = load::<Self>(store, &client(issuer)).await?;
        Ok(found.filter(|r| r.expires == 0 || r.expires > unix_seconds()))
    }

    pub(crate) async fn save(&self, store: &dyn Store, issuer: &str) -> Result<(), Error> {
        save(store, &client(issuer), self).await
    }

    pub(crate) async fn forget(store: &dyn Store, issuer: &str) -> Result<(), Error> {
        store.save(&client(issuer), None).await
    }

    pub(crate) fn identity(self) -> Identity {
        let credential = self.secret.map_or(Credential::Public, |secret| Credential::Secret(Secret::new(secret)));
        Identity { id: self.id, credential, method: self.method }
    }
}

/// The issuer that a preregistered client was first used with.
pub(crate) async fn first_issuer(store: &dyn Store, id: &str, server: &str, issuer: &str) -> Result<String, Error> {
    let key = format!("issuer of {id} for {server}");
    match store.load(&key).await? {
        Some(first) => Ok(first.reveal().to_owned()),
        None => {
            store.save(&key, Some(Secret::new(issuer))).await?;
            Ok(issuer.to_owned())
        }
    }
}

fn last(server: &str) -> String {
    format!("issuer for {server}")
}

fn token(issuer: &str, server: &str) -> String {
    format!("token of {issuer} for {server}")
}

fn client(issuer: &str) -> String {
    format!("client of {issuer}")
}

/// An entry that cannot be parsed counts as missing.
async fn load<T: DeserializeOwned>(store: &dyn Store, key: &str) -> Result<Option<T>, Error> {
    Ok(store.load(key).await?.and_then(|text| serde_json::from_str(text.reveal()).ok()))
}

async fn save<T: Serialize>(store: &dyn Store, key: &str, value: &T) -> Result<(), Error> {
    let text = serde_json::to_string(value).map(Secret::new);
    store.save(key, text.ok()).await
}
