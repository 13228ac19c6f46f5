//! Requests to servers whose URLs come from other parties: metadata, keys, tokens.
//!
//! A party that supplies a URL chooses where this program sends a request (SSRF). A [`Fetcher`] therefore connects only
//! to public addresses over https, unless a [`Reach`] allows more. It checks the resolved address and not the name,
//! again at each redirect. Responses are limited in size and time.

mod reach;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{Error, ErrorKind};
use couplet_http::client::{HttpClient, HyperClient, HyperClientBuilder};
use http::{
    HeaderMap, HeaderValue, Request, StatusCode, Uri,
    header::{ACCEPT, LOCATION},
    uri::Scheme,
};
use serde::de::DeserializeOwned;

pub use reach::Reach;
pub(crate) use reach::host;
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use reach::is_local;

/// An HTTP fetcher for URLs from other parties. Clones share connections.
///
/// ```no_run
/// # async fn example() -> Result<(), couplet_core::Error> {
/// use couplet_auth::fetch::{Fetcher, Reach};
///
/// let fetcher = Fetcher::new(Reach::Public)?;
/// let keys: serde_json::Value = fetcher.get("https://login.example.com/jwks.json").await?.json()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fetcher {
    reach: Reach,
    client: Arc<dyn HttpClient>,
    home: Option<(Uri, Arc<dyn HttpClient>)>,
    limit: usize,
    timeout: Duration,
}

impl Fetcher {
    const LIMIT: usize = 1 << 20;
    const TIMEOUT: Duration = Duration::from_secs(10);
    const REDIRECTS: usize = 3;

    /// Creates a fetcher with a client of its own, which connects to no address outside of `reach`.
    ///
    /// If the environment configures a proxy, the proxy resolves names and decides which addresses they may have.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up.
    pub fn new(reach: Reach) -> Result<Self, Error> {
        Self::with_settings(reach, HyperClient::builder())
    }

    /// Creates a fetcher with these HTTP settings: root certificates, a client certificate, a proxy. `reach` limits the
    /// addresses.
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub fn with_settings(reach: Reach, settings: HyperClientBuilder) -> Result<Self, Error> {
        let client = settings.allow_address(move |address| reach.allows(address.ip())).build()?;
        Ok(Self::with_client(reach, Arc::new(client)))
    }

    /// Creates a fetcher with a given HTTP client. The client resolves names and decides which addresses they may have:
    /// only URLs with an IP address are checked against `reach`.
    pub fn with_client(reach: Reach, client: Arc<dyn HttpClient>) -> Self {
        Self { reach, client, home: None, limit: Self::LIMIT, timeout: Self::TIMEOUT }
    }

    /// Sends requests for one origin with another client, without checks: for the server that the program itself is
    /// configured to use.
    #[must_use]
    pub fn trust_origin(mut self, server: &Uri, client: Arc<dyn HttpClient>) -> Self {
        self.home = Some((server.clone(), client));
        self
    }

    /// Sets the maximum size of a response in bytes (default: 1 MiB).
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets the timeout of a request, including redirects and the body (default: 10 s).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Fetches a document. Follows up to three redirects, none of them from https to http.
    ///
    /// # Errors
    /// Fails if the server is out of reach, cannot be reached, or exceeds the limits. A response with any status is
    /// `Ok`.
    pub async fn get(&self, url: &str) -> Result<Fetched, Error> {
        self.get_with(url, &HeaderMap::new()).await
    }

    /// Like [`get`](Self::get), with headers.
    pub(crate) async fn get_with(&self, url: &str, headers: &HeaderMap) -> Result<Fetched, Error> {
        let mut uri = parse(url).ok_or_else(|| failed("a metadata URL is not a valid `http` or `https` URL"))?;
        let work = async {
            for _ in 0..=Self::REDIRECTS {
                let mut request = Request::new(Bytes::new());
                *request.uri_mut() = uri.clone();
                *request.headers_mut() = headers.clone();
                request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
                let fetched = self.once(request).await?;
                if !matches!(fetched.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                    return Ok(fetched);
                }
                uri = fetched.redirect(&uri)?;
            }
            Err(failed(format!("`{}` redirects more than {} times", host(&uri), Self::REDIRECTS)))
        };
        tokio::time::timeout(self.timeout, work).await.unwrap_or_else(|_| Err(self.late()))
    }

    /// Sends a request. Redirects are not followed: its content is meant for this server only.
    ///
    /// # Errors
    /// Fails if the server is out of reach, cannot be reached, or exceeds the limits. A response with any status is
    /// `Ok`.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Fetched, Error> {
        tokio::time::timeout(self.timeout, self.once(request)).await.unwrap_or_else(|_| Err(self.late()))
    }

    async fn once(&self, request: Request<Bytes>) -> Result<Fetched, Error> {
        let uri = request.uri();
        let name = host(uri).to_owned();
        let home = self.home.as_ref().filter(|(home, _)| same_origin(home, uri));
        let client = match home {
            Some((_, client)) => client,
            None => {
                self.reach.check(uri).map_err(|why| failed(format!("`{name}` {why}")))?;
                &self.client
            }
        };
        let response = client.send(request).await?;
        let (head, body) = response.into_parts();
        let too_long = |e: Error| match e.kind() {
            ErrorKind::Protocol => failed(format!("`{name}` answers with more than {} bytes", self.limit)),
            _ => e,
        };
        let body = body.read(self.limit).await.map_err(too_long)?;
        Ok(Fetched { status: head.status, headers: head.headers, body })
    }

    fn late(&self) -> Error {
        failed(format!("no answer within {:?}", self.timeout))
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// A response. `Debug` does not show its body, which may be a secret.
#[derive(Clone)]
#[non_exhaustive]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Fetched {
    /// Parses the JSON body of a response with the status 200 or 201.
    ///
    /// # Errors
    /// Fails if the status is another, or the body cannot be parsed.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if !matches!(self.status, StatusCode::OK | StatusCode::CREATED) {
            return Err(failed(format!("expected status 200 or 201, got {}", self.status.as_u16())));
        }
        // The parser's error may quote a secret.
        serde_json::from_slice(&self.body)
            .map_err(|e| failed(format!("the response cannot be parsed: line {}, column {}", e.line(), e.column())))
    }

    fn redirect(&self, from: &Uri) -> Result<Uri, Error> {
        let to = self.headers.get(LOCATION).and_then(|l| l.to_str().ok()).and_then(|l| resolve(from, l));
        let Some(to) = to else { return Err(failed(format!("`{}` redirects to an invalid URL", host(from)))) };
        if from.scheme() == Some(&Scheme::HTTPS) && to.scheme() != Some(&Scheme::HTTPS) {
            return Err(failed(format!("`{}` redirects from https to http", host(from))));
        }
        Ok(to)
    }
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").field("status", &self.status).finish_non_exhaustive()
    }
}

pub(crate) fn failed(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Auth, what)
}

/// Parses an `http` or `https` URL. URLs with user information are rejected.
pub(crate) fn parse(text: &str) -> Option<Uri> {
    let uri: Uri = text.split('#').next()?.parse().ok()?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    (known && !host(&uri).is_empty() && !uri.authority()?.as_str().contains('@')).then_some(uri)
}

/// Whether two URLs have the same scheme, host and port.
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    a.scheme() == b.scheme() && host(a).eq_ignore_ascii_case(host(b)) && port(a) == port(b)
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 })
}

/// Resolves a redirect: an absolute URL, or an absolute path.
fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with('/') && !location.starts_with("//") {
        return parse(&format!("{}://{}{location}", from.scheme_str()?, from.authority()?));
    }
    parse(location)
}
