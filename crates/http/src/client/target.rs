//! Setting up a client for an address.

use std::{fmt, sync::Arc};

use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, IntoTarget, Limits};
use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING},
};

use super::{
    address::Address,
    channel::HttpChannel,
    driver,
    eras::EraCache,
    fetch::{Authorize, HttpClient},
    hyper::HyperClient,
    shared::Shared,
    uri,
};

/// Creates a target for the server at a URL, `http` or `https`. Which revision it speaks, and over which of the HTTP
/// transports, is negotiated when a client connects; see [`client`](crate::client#what-a-connection-negotiates).
///
/// A string is a target as well, with the default settings. A URL with a user or a password in it is refused when the
/// client connects: credentials belong into [`HttpTarget::bearer`] or [`HttpTarget::header`].
///
/// ```no_run
/// # async fn example(token: &str) -> Result<(), couplet_core::Error> {
/// use couplet_client::Client;
/// use couplet_http::connect;
///
/// let target = connect("https://example.com/mcp").bearer(token).header("x-tenant", "north");
/// let client = Client::new("demo", "1.0.0").connect(target).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
pub fn connect(url: impl Into<String>) -> HttpTarget {
    HttpTarget {
        url: url.into(),
        headers: HeaderMap::new(),
        client: None,
        authorization: None,
        eras: EraCache::new(),
        wrong: None,
    }
}

/// The URL of a server, to connect to. Clones share what is known about the server, and the HTTP client if one
/// [was set](HttpTarget::client).
///
/// Mistakes in its settings are errors of kind [`Config`](ErrorKind::Config) when a client connects:
///
/// ```
/// use couplet_client::Client;
/// use couplet_core::ErrorKind;
/// use couplet_http::connect;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// for target in [connect("example.com"), connect("https://ada:secret@example.com/mcp"), connect("ftp://example.com")] {
///     let error = Client::new("demo", "1.0.0").connect(target).await.unwrap_err();
///     assert_eq!(error.kind(), ErrorKind::Config);
///     assert!(!error.to_string().contains("secret"));
/// }
/// # }
/// ```
#[must_use = "nothing is sent before a client connects"]
#[derive(Clone)]
pub struct HttpTarget {
    url: String,
    headers: HeaderMap,
    client: Option<Arc<dyn HttpClient>>,
    authorization: Option<Arc<dyn Authorize>>,
    eras: EraCache,
    wrong: Option<Error>,
}

impl HttpTarget {
    /// Adds a header to every request, but never to another origin. One that cannot be sent, or that belongs to the
    /// protocol, is reported when a client connects.
    ///
    /// A second header of the same name replaces the first. Values are treated as secrets: they are in no log and no
    /// `Debug` output.
    ///
    /// ```
    /// use couplet_http::connect;
    ///
    /// let target = connect("https://example.com/mcp").header("x-api-key", "s3cret");
    /// let shown = format!("{target:?}");
    /// assert!(shown.contains("x-api-key") && !shown.contains("s3cret"));
    /// ```
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            (Ok(name), _) if is_reserved(&name) => self.refuse(&format!("the header `{name}` is not yours to set")),
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                self.headers.insert(name, value);
            }
            // The value may be a secret, so it is not shown.
            _ => self.refuse(&format!("the header `{}` cannot be sent", name.escape_debug())),
        }
        self
    }

    /// Sends a bearer token with every request, but never to another origin. For tokens that expire, see
    /// [`HttpTarget::authorize`].
    pub fn bearer(self, token: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Sets the HTTP client; the default is a [`HyperClient`] of its own. Share one between targets to share
    /// connections, or to set proxies, certificates and allowed addresses.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use couplet_http::{client::HyperClient, connect};
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let http = HyperClient::builder().proxy("http://proxy.internal:3128", "localhost,.internal").build()?;
    /// let target = connect("https://example.com/mcp").client(Arc::new(http));
    /// # drop(target);
    /// # Ok(())
    /// # }
    /// ```
    pub fn client(mut self, client: Arc<dyn HttpClient>) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the authorization of requests: `couplet_auth::client::OAuth`, for example. It wraps the HTTP client, and
    /// [`Authorize`] has an example of one.
    pub fn authorize(mut self, authorization: impl Authorize) -> Self {
        self.authorization = Some(Arc::new(authorization));
        self
    }

    /// Sets the cache for the transport that the server speaks, so that later connections need not negotiate again
    /// (default: one that the clones of this target share).
    pub fn eras(mut self, eras: &EraCache) -> Self {
        self.eras = eras.clone();
        self
    }

    fn refuse(&mut self, what: &str) {
        self.wrong = Some(Error::new(ErrorKind::Config, what));
    }

    fn address(&mut self) -> Result<Address, Error> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let uri = uri::parse(&self.url).ok_or_else(|| {
            // The URL is not quoted: what is wrong with it may be the password in it.
            let what = "the address is not `http://` or `https://` with a host and without a user";
            let hint = if self.url.contains("://") { "" } else { "; to start a program, use `Command::new`" };
            Error::new(ErrorKind::Config, format!("{what}{hint}"))
        })?;
        let client = match &self.client {
            Some(client) => client.clone(),
            None => self.client.insert(Arc::new(HyperClient::new()?)).clone(),
        };
        let client = match &self.authorization {
            Some(authorization) => authorization.authorize(&self.url, client)?,
            None => client,
        };
        Ok(Address::new(uri, self.headers.clone(), client, self.eras.clone()))
    }
}

/// Whether a header would change the meaning of a request.
fn is_reserved(name: &HeaderName) -> bool {
    let name_text = name.as_str();
    [ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING].contains(name)
        || name_text.starts_with("mcp-")
        || name_text == couplet_core::http::headers::LAST_EVENT_ID
}

impl Connect for HttpTarget {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let shared = self.address().map(|address| Shared::new(address, inbound, limits));
        Box::pin(async move {
            let shared = shared?;
            let driver = Box::pin(driver::drive(driver::Driven(shared.clone())));
            Ok(Connected { channel: Arc::new(HttpChannel(shared)), driver })
        })
    }

    /// The whole address: a query may choose what is served.
    fn server(&self) -> Option<String> {
        uri::parse(&self.url).map(|uri| uri.to_string())
    }
}

/// The kind of target that a URL is; see [`IntoTarget`]. Strings and [`http::Uri`] are targets by it:
///
/// ```no_run
/// # use couplet_http as _;
/// # async fn example() -> Result<(), couplet_core::Error> {
/// use couplet_client::Client;
///
/// let url: http::Uri = "https://example.com/mcp".parse().map_err(couplet_core::Error::other)?;
/// let client = Client::new("demo", "1.0.0").connect(url).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub enum Url {}

impl IntoTarget<Url> for &str {
    type Target = HttpTarget;

    fn into_target(self) -> HttpTarget {
        connect(self)
    }
}

impl IntoTarget<Url> for String {
    type Target = HttpTarget;

    fn into_target(self) -> HttpTarget {
        connect(self)
    }
}

impl IntoTarget<Url> for &String {
    type Target = HttpTarget;

    fn into_target(self) -> HttpTarget {
        connect(self)
    }
}

impl IntoTarget<Url> for Uri {
    type Target = HttpTarget;

    fn into_target(self) -> HttpTarget {
        connect(self.to_string())
    }
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("HttpTarget").field("headers", &headers).finish_non_exhaustive()
    }
}
