//! A local authorization server for tests.
//!
//! It implements the specification (authorization code with PKCE, registration, client metadata documents, client
//! credentials, device codes, enterprise-managed authorization, refresh, introspection, revocation, signed tokens,
//! DPoP), and on request a [`Misbehaviour`]. The user of its page is logged in already, and approves with a click:
//! [`visit`] does that, and [`log_in`] also follows the redirect like a browser.

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

/// An authorization server for tests. It stops when it is dropped.
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
    /// Starts a server with default settings.
    ///
    /// # Errors
    /// If there is no port to listen on.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(AuthSettings::default()).await
    }

    /// Starts a server with settings.
    ///
    /// # Errors
    /// If there is no port to listen on.
    pub async fn start_with(settings: AuthSettings) -> io::Result<Self> {
        let port = settings.port;
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State::new(&origin, settings));
        let serving = tokio::spawn(web::serve(listener, state.clone()));
        Ok(Self { state, serving })
    }

    /// Returns the issuer, which is the URL of the server.
    pub fn issuer(&self) -> &str {
        &self.state.issuer
    }

    /// Adds a misbehaviour.
    pub fn misbehave(&self, how: Misbehaviour) {
        self.state.lock().misbehaviours.insert(how);
    }

    /// Removes all misbehaviour.
    pub fn behave(&self) {
        self.state.lock().misbehaviours.clear();
    }

    /// Sets the user who is logged in (default: `alice`).
    pub fn log_in(&self, user: &str) {
        user.clone_into(&mut self.state.lock().user);
    }

    /// Sets the lifetime of new tokens.
    pub fn lifetime(&self, lifetime: Duration) {
        self.state.lock().lifetime = lifetime.as_secs();
    }

    /// Registers a client, with a secret if it is confidential.
    pub fn client(&self, id: &str, secret: Option<&str>, redirects: &[&str]) {
        let redirects = redirects.iter().map(|&uri| uri.to_owned()).collect();
        let client = Client { secret: secret.map(str::to_owned), redirects, ..Client::new(id) };
        self.state.lock().clients.insert(id.to_owned(), client);
    }

    /// Registers a client that authenticates with a key, given as a public JWK for ES256.
    pub fn client_with_key(&self, id: &str, jwk: Value) {
        let client = Client { key: Some(jwk), ..Client::new(id) };
        self.state.lock().clients.insert(id.to_owned(), client);
    }

    /// Sets the metadata document of a client, at the URL that is the client's id.
    pub fn client_document(&self, url: &str, document: Value) {
        self.state.lock().documents.insert(url.to_owned(), document);
    }

    /// Rotates the signing key. The old keys stay published.
    pub fn rotate_keys(&self) {
        self.state.lock().keys.insert(0, jwt::SigningKey::new());
    }

    /// Removes all published keys but the current one.
    pub fn forget_old_keys(&self) {
        self.state.lock().keys.truncate(1);
    }

    /// Issues a token of the logged-in user for a server, with these scopes.
    pub fn token(&self, resource: &str, scope: &str) -> String {
        self.token_with(serde_json::json!({ "aud": resource, "scope": scope }))
    }

    /// Issues a token with other claims: they replace the usual ones, and `null` removes one.
    pub fn token_with(&self, claims: Value) -> String {
        self.state.token(claims, Value::Null)
    }

    /// Issues a token with other claims and another header.
    pub fn token_of(&self, header: Value, claims: Value) -> String {
        self.state.token(claims, header)
    }

    /// Issues an opaque token.
    pub fn opaque_token(&self, claims: Value) -> String {
        self.state.opaque(claims)
    }

    /// Revokes a token.
    pub fn revoke(&self, token: &str) {
        self.state.lock().tokens.remove(token);
    }

    /// Expires all tokens. They can be refreshed.
    pub fn expire_all(&self) {
        self.state.lock().tokens.clear();
    }

    /// Enters a device code as the logged-in user, and approves it or not. Returns whether the code exists.
    pub fn enter_device_code(&self, user_code: &str, approve: bool) -> bool {
        let mut inner = self.state.lock();
        let device = inner.devices.values_mut().find(|device| device.user_code == user_code);
        device.map(|device| device.approved = Some(approve)).is_some()
    }

    /// Revokes all tokens and refresh tokens.
    pub fn revoke_all(&self) {
        let mut inner = self.state.lock();
        inner.tokens.clear();
        inner.refreshes.clear();
    }

    /// Returns the requests to a path so far: the form or the query of each, with its headers as `header:name`.
    pub fn requests(&self, path: &str) -> Vec<BTreeMap<String, String>> {
        self.state.lock().log.iter().filter(|(at, _)| at == path).map(|(_, sent)| sent.clone()).collect()
    }
}

/// Opens the authorization page, and approves. Returns the redirect,
/// without following it.
///
/// # Errors
/// If there is no such page, or if it does not redirect.
pub async fn visit(url: &str) -> io::Result<String> {
    web::visit(url, "approve").await
}

/// Opens the authorization page, and declines. Returns the redirect.
///
/// # Errors
/// If there is no such page, or if it does not redirect.
pub async fn visit_and_deny(url: &str) -> io::Result<String> {
    web::visit(url, "deny").await
}

/// Opens the authorization page, approves, and follows the redirect, as a browser does. Returns the page that the
/// client shows at the end.
///
/// # Errors
/// If the server or the client does not answer.
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
