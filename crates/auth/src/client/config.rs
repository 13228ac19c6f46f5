//! How a client logs in, as the program has set it up.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error};
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
    /// Who the client is, where that was agreed beforehand.
    pub(crate) fixed: Option<(String, Credential)>,
    /// The only authorization server that may see what was agreed.
    pub(crate) issuer: Option<String>,
    /// Where the client's own metadata is.
    pub(crate) document: Option<(String, Credential)>,
    pub(crate) scopes: Vec<String>,
    /// Whether a token has to be bound to a key.
    pub(crate) bound: bool,
    pub(crate) reach: Option<Reach>,
    pub(crate) fetcher: Option<Fetcher>,
    /// How authorization servers are reached, if there is no fetcher.
    pub(crate) settings: HyperClientBuilder,
    pub(crate) store: Arc<dyn Store>,
}

impl Config {
    /// What asks authorization servers, as far as `reach`.
    pub(crate) fn fetcher(&self, reach: Reach) -> Result<Fetcher, Error> {
        match &self.fetcher {
            Some(fetcher) => Ok(fetcher.clone()),
            None => Fetcher::with(reach, self.settings.clone()),
        }
    }
}

/// How tokens are got.
#[derive(Clone)]
pub(crate) enum Grant {
    /// A person allows it on a page.
    Page(Page),
    /// A person allows it on a page of another machine, with a code. The function shows both.
    Device(Shower),
    /// The client itself is who asks.
    Client,
    /// The company's identity provider vouches for a person.
    Enterprise(Enterprise),
    /// The platform that the program runs on vouches for it.
    Workload(Source),
}

#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) way: Way,
    /// Where people are sent back to, if that is not anywhere on this machine.
    pub(crate) redirect: Option<String>,
    pub(crate) patience: Duration,
}

#[derive(Clone)]
pub(crate) enum Way {
    /// The browser of whoever sits here.
    Browser,
    /// Something opens the page, and whoever comes back from it knocks here.
    Opened(Opener),
    /// Something opens the page, and brings the address that it leads back to.
    Visited(Visitor),
    /// The same, but the callback may also arrive here.
    Pasted(Visitor),
}

pub(crate) type Opener = Arc<dyn Fn(String) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
pub(crate) type Visitor = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, Error>> + Send + Sync>;

pub(crate) type Shower = Arc<dyn Fn(DeviceCode) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// Where assertions come from. It is told who they are for.
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

/// A company's identity provider, which says what its people may use: enterprise-managed authorization.
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
    /// An identity provider by its token endpoint, by what the client is known to it, and with where the ID token of
    /// whoever has signed on comes from. The endpoint is the program's choice, so it may be in a private network.
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

    /// How the client shows itself to the identity provider.
    #[must_use]
    pub fn credential(mut self, credential: impl Into<Credential>) -> Self {
        self.credential = credential.into();
        self
    }

    /// What vouches for a person is an assertion of SAML 2.0 instead of an ID token.
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
