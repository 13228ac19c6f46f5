//! The configuration of a client's login.

use std::{future::Future, sync::Arc, time::Duration};

use couplet_core::{Error, ErrorKind, Metric};
use couplet_http::client::{Authorize, HttpClient, HyperClient, HyperClientBuilder};

use super::{
    config::{Config, Enterprise, Grant, Page, Source, Way},
    device::DeviceCode,
    identity::Credential,
    login::Login,
    logout::{self, LogOut},
    send::Authorized,
    session::Session,
    store::{Bounded, MemoryStore, Store},
};
use crate::{
    Secret,
    fetch::{Fetcher, Reach, parse},
};

/// The OAuth configuration of a client. Nothing happens until a server responds with a challenge.
///
/// ```no_run
/// # async fn example() -> Result<(), couplet_core::Error> {
/// use couplet_auth::client::OAuth;
/// use couplet_client::Client;
///
/// // Opens a browser if the server asks for a login.
/// let target = couplet_http::connect("https://example.com/mcp").authorize(OAuth::new("Notes"));
/// let client = Client::new("notes", "1.0.0").connect(target).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
///
/// Everything else is discovered: the authorization server, the client registration, the scopes. Issued tokens are
/// saved in a [`Store`] by issuer, and sent to no other party. Clones share the store.
#[must_use = "pass it to `HttpTarget::authorize`"]
#[derive(Clone, Debug)]
pub struct OAuth(Arc<Config>);

impl OAuth {
    /// Logs in with the browser of this machine (authorization code with PKCE). The name is shown to the user on the
    /// consent page.
    pub fn new(name: impl Into<String>) -> Self {
        let page = Page { way: Way::Browser, redirect: None, timeout: Duration::from_secs(300) };
        Self::with(Grant::Page(page), name.into(), None)
    }

    /// Logs in with a browser on another machine (device code, RFC 8628), for programs on machines without one. `show`
    /// presents the page and the code to the user; the login then waits until the code is entered.
    ///
    /// ```no_run
    /// use couplet_auth::client::OAuth;
    ///
    /// let oauth = OAuth::device("Notes", |code| async move {
    ///     tracing::info!("open {} and enter {}", code.verification_uri, code.user_code);
    ///     Ok(())
    /// });
    /// # drop(oauth);
    /// ```
    ///
    /// Not every authorization server supports this.
    pub fn device<F, W>(name: impl Into<String>, show: F) -> Self
    where
        F: Fn(DeviceCode) -> W + Send + Sync + 'static,
        W: Future<Output = Result<(), Error>> + Send + 'static,
    {
        Self::with(Grant::Device(Arc::new(move |code| Box::pin(show(code)))), name.into(), None)
    }

    /// Logs in as the program itself (client credentials), with a [`Secret`] or a [`SigningKey`](super::SigningKey).
    pub fn client_credentials(client_id: impl Into<String>, credential: impl Into<Credential>) -> Self {
        Self::with(Grant::Client, String::new(), Some((client_id.into(), credential.into())))
    }

    /// Logs in through a company's identity provider (enterprise-managed authorization). The user is not asked for
    /// consent.
    pub fn enterprise(provider: Enterprise, client_id: impl Into<String>, credential: impl Into<Credential>) -> Self {
        Self::with(Grant::Enterprise(provider), String::new(), Some((client_id.into(), credential.into())))
    }

    /// Logs in with the identity of the platform that the program runs on (JWT bearer grant). `assertion` returns a JWT
    /// of the platform; its argument is the issuer of the authorization server, which is the audience.
    pub fn workload<F, W>(client_id: impl Into<String>, assertion: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Secret, Error>> + Send + 'static,
    {
        let fixed = Some((client_id.into(), Credential::Public));
        Self::with(Grant::Workload(Source::new(assertion)), String::new(), fixed)
    }

    fn with(grant: Grant, name: String, fixed: Option<(String, Credential)>) -> Self {
        Self(Arc::new(Config {
            name,
            grant,
            fixed,
            issuer: None,
            document: None,
            scopes: Vec::new(),
            trusted_pkce: Vec::new(),
            bound: false,
            reach: None,
            fetcher: None,
            settings: HyperClient::builder(),
            store: Arc::new(MemoryStore::new()),
            outage: Arc::default(),
        }))
    }

    /// Sets a preregistered client id and its credential. It takes precedence over a metadata document and dynamic
    /// registration.
    pub fn registered(self, client_id: impl Into<String>, credential: impl Into<Credential>) -> Self {
        self.set(|config| config.fixed = Some((client_id.into(), credential.into())))
    }

    /// Sets the authorization server that the client is registered with, by its issuer. No other server receives the
    /// client's credential. By default it is the first one that the server lists.
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        self.set(|config| config.issuer = Some(issuer.into()))
    }

    /// Logs in at this authorization server although its metadata says nothing about PKCE, which a login is otherwise
    /// refused for: for servers that support PKCE with `S256` nevertheless. Microsoft Entra ID and Amazon Cognito are such.
    ///
    /// Without such support, a stolen authorization code could be used by a thief: read the documentation of the server.
    ///
    /// ```
    /// use couplet_auth::client::{Credential, OAuth};
    ///
    /// let issuer = "https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0";
    /// let oauth = OAuth::new("Notes").registered("the client id", Credential::Public).issuer(issuer).trust_pkce(issuer);
    /// # drop(oauth);
    /// ```
    pub fn trust_pkce(self, issuer: impl Into<String>) -> Self {
        self.set(|config| config.trusted_pkce.push(issuer.into()))
    }

    /// Sets the URL of the client's metadata document, an https URL that is also its client id. The authorization
    /// server fetches it; it must list the redirect URIs.
    pub fn metadata_document(self, url: impl Into<String>, credential: impl Into<Credential>) -> Self {
        self.set(|config| config.document = Some((url.into(), credential.into())))
    }

    /// Requests these scopes, in addition to those that the server names.
    pub fn scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|config| config.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Requires DPoP-bound tokens, which are useless to a thief without the key. Where a server requires them, they are
    /// used in any case.
    pub fn require_dpop(self) -> Self {
        self.set(|config| config.bound = true)
    }

    /// Sets the store for tokens and registrations (default: [`MemoryStore`], which is lost with the process).
    pub fn store(self, store: impl Store) -> Self {
        self.set(|config| {
            config.outage = Arc::default();
            config.store = Arc::new(Bounded { store, outage: config.outage.clone() });
        })
    }

    /// Returns the number of operations of the store that failed, as `couplet_store_errors_total` with the label `logins`. A
    /// server that is a client, too, reports it with [`Extension::metrics`].
    ///
    /// ```
    /// use couplet_auth::client::OAuth;
    ///
    /// let oauth = OAuth::new("Notes");
    /// let [errors] = oauth.metrics();
    /// assert_eq!((errors.name, errors.label, errors.value), ("couplet_store_errors_total", Some(("store", "logins")), 0));
    /// ```
    ///
    /// [`Extension::metrics`]: https://docs.rs/couplet-server/latest/couplet_server/struct.Extension.html#method.metrics
    pub fn metrics(&self) -> [Metric; 1] {
        [self.0.outage.metric("logins")]
    }

    /// Opens the login page with this function instead of the local browser. The redirect must reach a loopback port of
    /// this machine.
    pub fn browser<F, W>(self, open: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.page(|page| page.way = Way::Opened(Arc::new(move |url| Box::pin(open(url)))))
    }

    /// Opens the login page with this function, which returns the redirect URL, `redirect` with a query: for programs
    /// that receive the redirect other than on a loopback port, such as web applications.
    pub fn handle_redirect<F, W>(self, redirect: impl Into<String>, open: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<String, Error>> + Send + 'static,
    {
        self.page(|page| {
            page.redirect = Some(redirect.into());
            page.way = Way::Visited(Arc::new(move |url| Box::pin(open(url))));
        })
    }

    /// Opens the login page with this function, which returns the redirect URL as the user pasted it: for a browser on
    /// another machine, where the redirect leads nowhere. A redirect to a loopback port of this machine is accepted,
    /// too; the first one counts. A pasted URL is verified like any redirect.
    pub fn paste<F, W>(self, open: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<String, Error>> + Send + 'static,
    {
        self.page(|page| page.way = Way::Pasted(Arc::new(move |url| Box::pin(open(url)))))
    }

    /// Sets a fixed loopback redirect URI, such as `http://127.0.0.1:7777/callback`, instead of an arbitrary free port.
    pub fn redirect_uri(self, redirect: impl Into<String>) -> Self {
        self.page(|page| page.redirect = Some(redirect.into()))
    }

    /// Sets the timeout of a login by a user (default: 5 minutes). A device code expires by itself.
    pub fn login_timeout(self, timeout: Duration) -> Self {
        self.page(|page| page.timeout = timeout)
    }

    /// Sets which addresses discovery and token requests may connect to. By default these are public addresses over
    /// https, and loopback addresses if the server itself is on one. Requests to the server itself are always allowed.
    pub fn reach(self, reach: Reach) -> Self {
        self.set(|config| config.reach = Some(reach))
    }

    /// Replaces the fetcher for discovery and token requests.
    pub fn fetcher(self, fetcher: Fetcher) -> Self {
        self.set(|config| config.fetcher = Some(fetcher))
    }

    /// Sets the HTTP settings towards authorization servers: root certificates, a client certificate, a proxy.
    /// [`reach`](Self::reach) still limits the addresses.
    pub fn client_settings(self, settings: HyperClientBuilder) -> Self {
        self.set(|config| config.settings = settings)
    }

    /// Logs out of a server: revokes its tokens at the authorization server (RFC 7009), if supported, and deletes them
    /// from the store in any case. The client's registration stays.
    ///
    /// # Errors
    /// Fails if the store fails. A failed revocation is not an error: see [`LogOut::Failed`].
    pub async fn log_out(&self, server: &str) -> Result<LogOut, Error> {
        logout::log_out(&self.0, server).await
    }

    /// Deletes the token for a server from the store without revoking it; see [`log_out`](Self::log_out). The client's
    /// registration stays.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn delete_token(&self, server: &str) -> Result<(), Error> {
        Login::forget(&*self.0.store, server).await
    }

    fn set(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    fn page(self, change: impl FnOnce(&mut Page)) -> Self {
        self.set(|config| {
            if let Grant::Page(page) = &mut config.grant {
                change(page);
            }
        })
    }
}

impl Authorize for OAuth {
    fn authorize(&self, server: &str, client: Arc<dyn HttpClient>) -> Result<Arc<dyn HttpClient>, Error> {
        let wrong = || Error::new(ErrorKind::Config, "the server's URL must be `http` or `https`");
        let uri = parse(server).ok_or_else(wrong)?;
        let session = Arc::new(Session::new(self.0.clone(), server, uri, client.clone())?);
        Ok(Arc::new(Authorized { session, client }))
    }
}
