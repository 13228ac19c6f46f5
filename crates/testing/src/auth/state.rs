//! The state of the server.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, MutexGuard},
};

use couplet_core::{clock::unix_seconds, sync::lock};
use serde_json::{Value, json};

use super::{
    device::Device,
    jwt::{SigningKey, merged},
    misbehaviour::Misbehaviour,
    settings::AuthSettings,
};

pub(super) struct State {
    pub(super) issuer: String,
    pub(super) settings: AuthSettings,
    inner: Mutex<Inner>,
}

pub(super) struct Inner {
    pub(super) user: String,
    /// In seconds.
    pub(super) lifetime: u64,
    pub(super) misbehaviours: BTreeSet<Misbehaviour>,
    pub(super) keys: Vec<SigningKey>,
    pub(super) clients: HashMap<String, Client>,
    /// The metadata documents of clients, by URL.
    pub(super) documents: HashMap<String, Value>,
    /// Pending authorization requests, by the token of the page.
    pub(super) pages: HashMap<String, Grant>,
    pub(super) codes: HashMap<String, Grant>,
    /// Device codes.
    pub(super) devices: HashMap<String, Device>,
    pub(super) refreshes: HashMap<String, Grant>,
    /// Valid tokens and their claims.
    pub(super) tokens: HashMap<String, Value>,
    /// The keys of trusted identity providers, by issuer.
    pub(super) trusted: HashMap<String, Vec<Value>>,
    /// Every request: path and parameters.
    pub(super) log: Vec<(String, BTreeMap<String, String>)>,
}

#[derive(Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) secret: Option<String>,
    pub(super) key: Option<Value>,
    pub(super) redirects: Vec<String>,
}

/// A grant, approved or pending.
#[derive(Clone)]
pub(super) struct Grant {
    pub(super) client: String,
    pub(super) user: String,
    pub(super) redirect: String,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    pub(super) challenge: String,
    pub(super) state: Option<String>,
    /// The thumbprint of the key that the tokens are bound to.
    pub(super) key: Option<String>,
}

impl Client {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), name: id.to_owned(), secret: None, key: None, redirects: Vec::new() }
    }
}

impl Grant {
    /// Creates the grant of a client that acts for itself.
    pub(super) fn of(client: &Client) -> Self {
        Self {
            client: client.id.clone(),
            user: client.id.clone(),
            redirect: String::new(),
            scope: String::new(),
            resource: None,
            challenge: String::new(),
            state: None,
            key: None,
        }
    }
}

impl State {
    pub(super) fn new(origin: &str, settings: AuthSettings) -> Self {
        let inner = Inner {
            user: "alice".to_owned(),
            lifetime: 3600,
            misbehaviours: BTreeSet::new(),
            keys: vec![SigningKey::new()],
            clients: HashMap::new(),
            documents: HashMap::new(),
            pages: HashMap::new(),
            codes: HashMap::new(),
            devices: HashMap::new(),
            refreshes: HashMap::new(),
            tokens: HashMap::new(),
            trusted: HashMap::new(),
            log: Vec::new(),
        };
        Self { issuer: format!("{origin}{}", settings.path), settings, inner: Mutex::new(inner) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    pub(super) fn does(&self, how: Misbehaviour) -> bool {
        self.lock().misbehaviours.contains(&how)
    }

    /// Issues a signed token, with claims and a header that replace the usual ones.
    pub(super) fn token(&self, claims: Value, header: Value) -> String {
        let (claims, forced) = (merged(self.usual(), &claims), self.forced_header());
        let mut inner = self.lock();
        let token = inner.keys[0].sign(&[&forced, &header], &claims);
        inner.tokens.insert(token.clone(), claims);
        token
    }

    /// Issues an opaque token.
    pub(super) fn opaque(&self, claims: Value) -> String {
        let (claims, token) = (merged(self.usual(), &claims), random());
        self.lock().tokens.insert(token.clone(), claims);
        token
    }

    fn usual(&self) -> Value {
        let (now, inner) = (unix_seconds(), self.lock());
        let bad = |how| inner.misbehaviours.contains(&how);
        let expires = if bad(Misbehaviour::Expired) { now - 3600 } else { now + inner.lifetime };
        let issuer = if bad(Misbehaviour::AnotherIssuer) { "https://another.example" } else { &self.issuer };
        json!({ "iss": issuer, "sub": inner.user, "client_id": "test", "iat": now, "exp": expires, "jti": random() })
    }

    fn forced_header(&self) -> Value {
        match () {
            () if self.does(Misbehaviour::Unsigned) => json!({ "alg": "none", "kid": null }),
            () if self.does(Misbehaviour::SharedSecret) => json!({ "alg": "HS256" }),
            () => json!({}),
        }
    }
}

/// Returns an unguessable string.
pub(super) fn random() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
