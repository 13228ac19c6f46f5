//! Setting up how a client logs in.

use std::{future::Future, sync::Arc, time::Duration};

use couplet_core::{Error, ErrorKind};
use couplet_http::client::{Authorize, HttpClient, HyperClient, HyperClientBuilder};

use super::{
    config::{Config, Enterprise, Grant, Page, Source, Way},
    device::DeviceCode,
    identity::Credential,
    login::Login,
    logout::{self, LogOut},
    send::Authorized,
    session::Session,
    store::{MemoryStore, Store},
};
use crate::{
    Secret,
    fetch::{Fetcher, Reach, parse},
};

/// How a client logs in to a server that wants to know who asks. Nothing happens before a server does.
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
/// Everything else is found out: the authorization server, who the client is to it, which scopes it takes. What was
/// issued is kept in a [`Store`] by who issued it, and shown to nobody else. Clones share their store.
#[must_use = "nobody logs in before a client connects with it"]
#[derive(Clone, Debug)]
pub struct OAuth(Arc<Config>);

impl OAuth {
    /// A person logs in, in the browser of this machine. The name is what they see when they are asked.
    pub fn new(name: impl Into<String>) -> Self {
        let page = Page { way: Way::Browser, redirect: None, patience: Duration::from_secs(300) };
        Self::with(Grant::Page(page), name.into(), None)
    }

    /// A person logs in with a browser of another machine (device code, RFC 8628): for programs on a machine without
    /// one. `show` tells the person where to go and which code to enter; the program then waits until that is done.
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
    /// The authorization server has to offer it; not all do.
    pub fn device<F, W>(name: impl Into<String>, show: F) -> Self
    where
        F: Fn(DeviceCode) -> W + Send + Sync + 'static,
        W: Future<Output = Result<(), Error>> + Send + 'static,
    {
        Self::with(Grant::Device(Arc::new(move |code| Box::pin(show(code)))), name.into(), None)
    }

    /// The program itself is who asks: client credentials, with a [`Secret`] or a [`SigningKey`](super::SigningKey).
    pub fn machine(client_id: impl Into<String>, credential: impl Into<Credential>) -> Self {
        Self::with(Grant::Client, String::new(), Some((client_id.into(), credential.into())))
    }

    /// The company's identity provider vouches for a person, who is not asked again.
    pub fn enterprise(provider: Enterprise, client_id: impl Into<String>, credential: impl Into<Credential>) -> Self {
        Self::with(Grant::Enterprise(provider), String::new(), Some((client_id.into(), credential.into())))
    }

    /// The platform that the program runs on vouches for it: `assertion` gets a JWT of the platform for the
    /// authorization server that it is told.
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
            bound: false,
            reach: None,
            fetcher: None,
            settings: HyperClient::builder(),
            store: Arc::new(MemoryStore::new()),
        }))
    }

    /// The client is known to the authorization server by this id. It comes before every other way to be known.
    pub fn registered(self, client_id: impl Into<String>, credential: impl Into<Credential>) -> Self {
        self.set(|config| config.fixed = Some((client_id.into(), credential.into())))
    }

    /// The authorization server to which the client is known, as it names itself. No other is shown the client's
    /// credentials. If nothing is said, it is the first one that the server names.
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        self.set(|config| config.issuer = Some(issuer.into()))
    }

    /// The client says who it is in a document of its own, whose https address is its id, where the authorization
    /// server can read it. Its redirect addresses have to be in there.
    pub fn metadata_document(self, url: impl Into<String>, credential: impl Into<Credential>) -> Self {
        self.set(|config| config.document = Some((url.into(), credential.into())))
    }

    /// Asks for these scopes, whatever else the server names.
    pub fn scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|config| config.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Takes only tokens that are bound to a key (DPoP), so that they are worth nothing to whoever steals them. Where a
    /// server asks for them, they are used in any case.
    pub fn bound(self) -> Self {
        self.set(|config| config.bound = true)
    }

    /// Keeps logins there; if nothing is said, they end with the program.
    pub fn store(self, store: impl Store) -> Self {
        self.set(|config| config.store = Arc::new(store))
    }

    /// Opens the page with this function instead of the browser of this machine. Whoever comes back from it has to get
    /// to this machine.
    pub fn browser<F, W>(self, open: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.page(|page| page.way = Way::Opened(Arc::new(move |url| Box::pin(open(url)))))
    }

    /// Opens the page with this function, which returns the address that the page leads back to, `redirect` with a
    /// query: for programs that are told of it in another way than on a port of this machine.
    pub fn visit<F, W>(self, redirect: impl Into<String>, visit: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<String, Error>> + Send + 'static,
    {
        self.page(|page| {
            page.redirect = Some(redirect.into());
            page.way = Way::Visited(Arc::new(move |url| Box::pin(visit(url))));
        })
    }

    /// Opens the page with this function, which may return the address that the page led back to, as the person pasted
    /// it: for a browser on another machine, where that address leads nowhere. A browser of this machine still gets
    /// through; whichever comes first counts. What is pasted is checked like what comes by itself.
    pub fn paste<F, W>(self, visit: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<String, Error>> + Send + 'static,
    {
        self.page(|page| page.way = Way::Pasted(Arc::new(move |url| Box::pin(visit(url)))))
    }

    /// Waits for people at this address of this machine, such as `http://127.0.0.1:7777/callback`, and not on any port.
    pub fn redirect(self, redirect: impl Into<String>) -> Self {
        self.page(|page| page.redirect = Some(redirect.into()))
    }

    /// How long a person may take to log in: five minutes, if nothing is said.
    pub fn patience(self, patience: Duration) -> Self {
        self.page(|page| page.patience = patience)
    }

    /// How far to go to ask about a server, and for tokens. If nothing is said: to addresses of the internet over https,
    /// and to this machine if the server is on it. The server itself can always be asked.
    pub fn reach(self, reach: Reach) -> Self {
        self.set(|config| config.reach = Some(reach))
    }

    /// Asks with this fetcher, for another way out.
    pub fn fetcher(self, fetcher: Fetcher) -> Self {
        self.set(|config| config.fetcher = Some(fetcher))
    }

    /// Reaches authorization servers with a client of these settings: other roots of trust, a certificate of the client,
    /// a proxy. [`reach`](Self::reach) still decides which addresses are dialled.
    pub fn client_settings(self, settings: HyperClientBuilder) -> Self {
        self.set(|config| config.settings = settings)
    }

    /// Ends the login to a server: its tokens are revoked at the authorization server (RFC 7009), if that is offered,
    /// and forgotten in any case. Who the client is to the authorization server is kept.
    ///
    /// # Errors
    /// When the store fails, or the address is not one. That the revocation failed is told by the outcome.
    pub async fn log_out(&self, server: &str) -> Result<LogOut, Error> {
        logout::log_out(&self.0, server).await
    }

    /// Forgets the token for a server, which stays good at the authorization server; see [`log_out`](Self::log_out).
    /// Who the client is to its authorization server is kept.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, server: &str) -> Result<(), Error> {
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
        let wrong = || Error::new(ErrorKind::Config, "the address of the server is not one of http");
        let uri = parse(server).ok_or_else(wrong)?;
        let session = Arc::new(Session::new(self.0.clone(), server, uri, client.clone())?);
        Ok(Arc::new(Authorized { session, client }))
    }
}
