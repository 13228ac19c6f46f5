//! The configuration of a login.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error, Outage};
use couplet_http::client::HyperClientBuilder;

use super::{device::DeviceCode, identity::Credential, store::Store};
use crate::{
    Secret,
    fetch::{Fetcher, Reach},
};

#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) name: String,
    pub(crate) grant: Grant,
    /// The client's preregistered id and credential.
    pub(crate) fixed: Option<(String, Credential)>,
    /// The only authorization server that may receive the preregistered credential.
    pub(crate) issuer: Option<String>,
    /// The URL of the client's metadata document.
    pub(crate) document: Option<(String, Credential)>,
    pub(crate) scopes: Vec<String>,
    /// The issuers that support PKCE although their metadata says nothing about it.
    pub(crate) trusted_pkce: Vec<String>,
    /// Whether tokens must be DPoP-bound.
    pub(crate) bound: bool,
    pub(crate) reach: Option<Reach>,
    pub(crate) fetcher: Option<Fetcher>,
    /// The HTTP settings towards authorization servers, if there is no fetcher.
    pub(crate) settings: HyperClientBuilder,
    pub(crate) store: Arc<dyn Store>,
    /// The outages of the store, and its failures.
    pub(crate) outage: Arc<Outage>,
}

impl Config {
    /// The fetcher for authorization servers, within a reach.
    pub(crate) fn fetcher(&self, reach: Reach) -> Result<Fetcher, Error> {
        match &self.fetcher {
            Some(fetcher) => Ok(fetcher.clone()),
            None => Fetcher::with_settings(reach, self.settings.clone()),
        }
    }
}

/// The grant that tokens are obtained with.
#[derive(Clone)]
pub(crate) enum Grant {
    /// Authorization code: the user consents on a page.
    Page(Page),
    /// Device code: the user consents on another machine. The function shows page and code.
    Device(Shower),
    /// Client credentials: the client acts on its own behalf.
    Client,
    /// Identity assertion: the company's identity provider vouches for the user.
    Enterprise(Enterprise),
    /// JWT bearer: the platform that the program runs on vouches for it.
    Workload(Source),
}

#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) way: Way,
    /// The redirect URI, if it is not an arbitrary loopback port.
    pub(crate) redirect: Option<String>,
    pub(crate) timeout: Duration,
}

#[derive(Clone)]
pub(crate) enum Way {
    /// The browser of this machine.
    Browser,
    /// A function opens the page; the redirect arrives on a loopback port.
    Opened(Opener),
    /// A function opens the page and returns the redirect URL.
    Visited(Visitor),
    /// The same, but the redirect may also arrive on a loopback port.
    Pasted(Visitor),
}

pub(crate) type Opener = Arc<dyn Fn(String) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
pub(crate) type Visitor = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, Error>> + Send + Sync>;

pub(crate) type Shower = Arc<dyn Fn(DeviceCode) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// A source of assertions. Its argument is the audience.
#[derive(Clone)]
pub(crate) struct Source(Arc<dyn Fn(String) -> BoxFuture<'static, Result<Secret, Error>> + Send + Sync>);

impl Source {
    pub(crate) fn new<F, W>(source: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Secret, Error>> + Send + 'static,
    {
        Self(Arc::new(move |audience| Box::pin(source(audience))))
    }

    pub(crate) async fn get(&self, audience: &str) -> Result<Secret, Error> {
        (self.0)(audience.to_owned()).await
    }
}

/// A company's identity provider, for enterprise-managed authorization.
///
/// ```no_run
/// use couplet_auth::{Secret, client::{Enterprise, OAuth}};
///
/// # async fn id_token() -> Result<Secret, couplet_core::Error> { Ok(Secret::new("")) }
/// let sso = Enterprise::new("https://sso.example.com/token", "notes-at-sso", |_| async { id_token().await });
/// let oauth = OAuth::enterprise(sso, "notes", Secret::new("secret"));
/// let target = couplet_http::connect("https://example.com/mcp").authorize(oauth);
/// # drop(target);
/// ```
#[derive(Clone)]
pub struct Enterprise {
    pub(crate) endpoint: String,
    pub(crate) id: String,
    pub(crate) credential: Credential,
    pub(crate) subject: Source,
    pub(crate) subject_type: &'static str,
}

impl Enterprise {
    /// Creates an identity provider from its token endpoint, the client's id there, and a function that returns the ID
    /// token of the signed-in user. The function's argument is the token endpoint.
    ///
    /// The endpoint is configured and not discovered, so it may be in a private network.
    pub fn new<F, W>(endpoint: impl Into<String>, client_id: impl Into<String>, id_token: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Secret, Error>> + Send + 'static,
    {
        Self {
            endpoint: endpoint.into(),
            id: client_id.into(),
            credential: Credential::Public,
            subject: Source::new(id_token),
            subject_type: "urn:ietf:params:oauth:token-type:id_token",
        }
    }

    /// Sets how the client authenticates to the identity provider (default: [`Credential::Public`]).
    #[must_use]
    pub fn credential(mut self, credential: impl Into<Credential>) -> Self {
        self.credential = credential.into();
        self
    }

    /// Uses SAML 2.0 assertions instead of ID tokens.
    #[must_use]
    pub fn saml(mut self) -> Self {
        self.subject_type = "urn:ietf:params:oauth:token-type:saml2";
        self
    }
}

impl fmt::Debug for Enterprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enterprise").field("endpoint", &self.endpoint).field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("name", &self.name).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}
