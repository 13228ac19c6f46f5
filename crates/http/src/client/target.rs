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
/// transports, is negotiated when a client connects.
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

/// The URL of a server, to connect to. Clones share what is known about the server.
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

    /// Sends a bearer token with every request, but never to another origin.
    pub fn bearer(self, token: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Sets the HTTP client; the default is a [`HyperClient`].
    pub fn client(mut self, client: Arc<dyn HttpClient>) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the authorization of requests: `couplet_auth::client::OAuth`, for example.
    pub fn authorize(mut self, authorization: impl Authorize) -> Self {
        self.authorization = Some(Arc::new(authorization));
        self
    }

    /// Sets the cache for the transport that the server speaks, so that later connections need not negotiate again.
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

/// The kind of target that a URL is; see [`IntoTarget`].
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
