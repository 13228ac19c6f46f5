//! An authorization server for tests, on this machine and for nobody else.
//!
//! It does what the specification asks of one (code with PKCE, registration, client metadata documents, client
//! credentials, device codes, people that an identity provider vouches for, refresh, introspection, revocation, signed tokens, bound
//! ones), and on request what a bad one does. Whoever visits its page is logged in already, and approves with a click:
//! [`visit`] is that visit, and [`log_in`] what a browser does.

mod authorize;
mod clients;
mod device;
mod documents;
mod jwt;
mod misbehaviour;
mod settings;
mod state;
mod token;
mod vouch;
mod web;

pub use misbehaviour::Misbehaviour;
pub use settings::{AuthSettings, Discovery};
pub use web::{WebReply, fetch, post_form, post_json};

use std::{collections::BTreeMap, fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use state::{Client, State};

/// An authorization server for tests. It ends when this is dropped.
///
/// ```
/// # couplet_testing::block_on(async {
/// use couplet_testing::auth::AuthServer;
///
/// let server = AuthServer::start().await?;
/// // A token as a client would get it, for a server under test.
/// let token = server.token("https://mcp.example.com/mcp", "files:read");
/// assert_eq!(token.split('.').count(), 3);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
pub struct AuthServer {
    state: Arc<State>,
    serving: JoinHandle<()>,
}

impl AuthServer {
    /// Starts one that behaves.
    ///
    /// # Errors
    /// When there is no port to listen at.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(AuthSettings::default()).await
    }

    /// Starts one with settings of its own.
    ///
    /// # Errors
    /// When there is no port to listen at.
    pub async fn start_with(settings: AuthSettings) -> io::Result<Self> {
        let port = settings.port;
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State::new(&origin, settings));
        let serving = tokio::spawn(web::serve(listener, state.clone()));
        Ok(Self { state, serving })
    }

    /// The name of the issuer, which is its address.
    pub fn issuer(&self) -> &str {
        &self.state.issuer
    }

    /// Does something that it should not, from now on.
    pub fn misbehave(&self, how: Misbehaviour) {
        self.state.lock().misbehaviours.insert(how);
    }

    /// Behaves from now on.
    pub fn behave(&self) {
        self.state.lock().misbehaviours.clear();
    }

    /// Who is logged in at its page: `alice`, if nothing is said.
    pub fn log_in(&self, user: &str) {
        user.clone_into(&mut self.state.lock().user);
    }

    /// How long tokens are good, from now on.
    pub fn lifetime(&self, lifetime: Duration) {
        self.state.lock().lifetime = lifetime.as_secs();
    }

    /// Knows a client that was registered by hand, with a secret if it can keep one.
    pub fn client(&self, id: &str, secret: Option<&str>, redirects: &[&str]) {
        let redirects = redirects.iter().map(|&uri| uri.to_owned()).collect();
        let client = Client { secret: secret.map(str::to_owned), redirects, ..Client::new(id) };
        self.state.lock().clients.insert(id.to_owned(), client);
    }

    /// Knows a client that proves itself with a key, given as a public JWK for ES256.
    pub fn client_with_key(&self, id: &str, jwk: Value) {
        let client = Client { key: Some(jwk), ..Client::new(id) };
        self.state.lock().clients.insert(id.to_owned(), client);
    }

    /// What it finds when it reads the metadata document of a client, at the address that is the client's id.
    pub fn client_document(&self, url: &str, document: Value) {
        self.state.lock().documents.insert(url.to_owned(), document);
    }

    /// Signs with a new key from now on, and publishes the old ones as well.
    pub fn rotate_keys(&self) {
        self.state.lock().keys.insert(0, jwt::SigningKey::new());
    }

    /// Publishes the key that it signs with, and no other.
    pub fn forget_old_keys(&self) {
        self.state.lock().keys.truncate(1);
    }

    /// A token for a server, with these scopes, for whoever is logged in.
    pub fn token(&self, resource: &str, scope: &str) -> String {
        self.token_with(serde_json::json!({ "aud": resource, "scope": scope }))
    }

    /// A token with claims of any kind: these take the place of the usual ones, and `null` takes one out.
    pub fn token_with(&self, claims: Value) -> String {
        self.state.token(claims, Value::Null)
    }

    /// The same, with a header of any kind.
    pub fn token_of(&self, header: Value, claims: Value) -> String {
        self.state.token(claims, header)
    }

    /// A token that says nothing by itself; only the server knows what it is.
    pub fn opaque_token(&self, claims: Value) -> String {
        self.state.opaque(claims)
    }

    /// A token is not good any more, and is said not to be.
    pub fn revoke(&self, token: &str) {
        self.state.lock().tokens.remove(token);
    }

    /// Every token that was given out has come to its end; it can be renewed.
    pub fn expire_all(&self) {
        self.state.lock().tokens.clear();
    }

    /// The user who is logged in enters the code that a client showed, and approves, or not. Whether there was such a code.
    pub fn enter_device_code(&self, user_code: &str, approve: bool) -> bool {
        let mut inner = self.state.lock();
        let device = inner.devices.values_mut().find(|device| device.user_code == user_code);
        device.map(|device| device.approved = Some(approve)).is_some()
    }

    /// No token is good any more, nor any way to renew one.
    pub fn revoke_all(&self) {
        let mut inner = self.state.lock();
        inner.tokens.clear();
        inner.refreshes.clear();
    }

    /// What was sent to a path so far: the form or the query of each request, with its headers as `header:name`.
    pub fn requests(&self, path: &str) -> Vec<BTreeMap<String, String>> {
        self.state.lock().log.iter().filter(|(at, _)| at == path).map(|(_, sent)| sent.clone()).collect()
    }
}

/// Visits the page that an authorization request leads to, and approves. Returns where the page then sends the browser,
/// without going there.
///
/// # Errors
/// When there is no such page, or it sends nobody anywhere.
pub async fn visit(url: &str) -> io::Result<String> {
    web::visit(url, "approve").await
}

/// The same visit by somebody who says no.
///
/// # Errors
/// When there is no such page, or it sends nobody anywhere.
pub async fn visit_and_deny(url: &str) -> io::Result<String> {
    web::visit(url, "deny").await
}

/// Visits the page that an authorization request leads to, approves, and goes on to where the page sends the browser:
/// what a browser does for a client that waits for it. Returns what the client shows at the end.
///
/// # Errors
/// When one of the two does not answer.
pub async fn log_in(url: &str) -> io::Result<String> {
    let back = visit(url).await?;
    Ok(fetch(&back).await?.body)
}

impl Drop for AuthServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for AuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthServer").field("issuer", &self.state.issuer).finish_non_exhaustive()
    }
}
