//! Asking servers that somebody else named: metadata, keys, tokens.
//!
//! Whoever names an address decides where this program sends a request, so a [`Fetcher`] sends it only where it may:
//! over https, to addresses of the internet, unless a [`Reach`] allows more. What counts is the address that is dialled,
//! whatever name led there, at every redirect anew. Answers are bounded in size and in time.

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

/// Asks servers that somebody else named. Clones share their connections.
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
    deadline: Duration,
}

impl Fetcher {
    const LIMIT: usize = 1 << 20;
    const DEADLINE: Duration = Duration::from_secs(10);
    const REDIRECTS: usize = 3;

    /// Asks with a client of its own, which dials no address that is out of reach.
    ///
    /// Where the environment names a proxy, names are looked up there, and what they lead to is the proxy's business.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(reach: Reach) -> Result<Self, Error> {
        Self::with(reach, HyperClient::builder())
    }

    /// The same with a client of these settings: other roots of trust, a certificate of the client, a proxy. Which
    /// addresses it dials is decided by the reach.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub fn with(reach: Reach, settings: HyperClientBuilder) -> Result<Self, Error> {
        let client = settings.allow_address(move |address| reach.allows(address.ip())).build()?;
        Ok(Self::over(reach, Arc::new(client)))
    }

    /// Asks with this client, for other roots of trust or another way out. What a name leads to is its business then:
    /// only servers that are named by their address are checked here.
    pub fn over(reach: Reach, client: Arc<dyn HttpClient>) -> Self {
        Self { reach, client, home: None, limit: Self::LIMIT, deadline: Self::DEADLINE }
    }

    /// Asks one origin with another client: the server that the program itself chose to talk to, wherever it is.
    #[must_use]
    pub fn home(mut self, server: &Uri, client: Arc<dyn HttpClient>) -> Self {
        self.home = Some((server.clone(), client));
        self
    }

    /// Sets how many bytes an answer may have: a mebibyte, if nothing is said.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets how long an answer may take, with everything: ten seconds, if nothing is said.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Reads a document. Up to three redirects are followed, none of them from https to http.
    ///
    /// # Errors
    /// When the server is out of reach, or does not answer within the limits. An answer with any status is an answer.
    pub async fn get(&self, url: &str) -> Result<Fetched, Error> {
        self.get_with(url, &HeaderMap::new()).await
    }

    /// The same, with headers for whatever server answers.
    pub(crate) async fn get_with(&self, url: &str, headers: &HeaderMap) -> Result<Fetched, Error> {
        let mut uri = parse(url).ok_or_else(|| failed("an address that was named is not one of http"))?;
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
        tokio::time::timeout(self.deadline, work).await.unwrap_or_else(|_| Err(self.late()))
    }

    /// Sends a request. No redirect is followed: what it carries is meant for this server alone.
    ///
    /// # Errors
    /// When the server is out of reach, or does not answer within the limits. An answer with any status is an answer.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Fetched, Error> {
        tokio::time::timeout(self.deadline, self.once(request)).await.unwrap_or_else(|_| Err(self.late()))
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
        failed(format!("no answer within {:?}", self.deadline))
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// What a server answered. Its body may be a secret, so it is not shown.
#[derive(Clone)]
#[non_exhaustive]
pub struct Fetched {
    /// Whether it is what was asked for.
    pub status: StatusCode,
    /// What is said about it.
    pub headers: HeaderMap,
    /// What it is.
    pub body: Bytes,
}

impl Fetched {
    /// Reads the body of an answer with status 200 or 201.
    ///
    /// # Errors
    /// When the status is another, or the body is not what was expected.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if !matches!(self.status, StatusCode::OK | StatusCode::CREATED) {
            return Err(failed(format!("an answer has the status {}", self.status.as_u16())));
        }
        // The error of the parser may quote a secret.
        serde_json::from_slice(&self.body)
            .map_err(|e| failed(format!("an answer cannot be read: line {}, column {}", e.line(), e.column())))
    }

    fn redirect(&self, from: &Uri) -> Result<Uri, Error> {
        let to = self.headers.get(LOCATION).and_then(|l| l.to_str().ok()).and_then(|l| resolve(from, l));
        let Some(to) = to else { return Err(failed(format!("`{}` redirects to no address", host(from)))) };
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

/// Reads an address of HTTP. One that holds a password is none.
pub(crate) fn parse(text: &str) -> Option<Uri> {
    let uri: Uri = text.split('#').next()?.parse().ok()?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    (known && !host(&uri).is_empty() && !uri.authority()?.as_str().contains('@')).then_some(uri)
}

/// Whether two addresses have the same scheme, host and port.
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    a.scheme() == b.scheme() && host(a).eq_ignore_ascii_case(host(b)) && port(a) == port(b)
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 })
}

/// Where a redirect leads: to a whole address, or to a path of the same server.
fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with('/') && !location.starts_with("//") {
        return parse(&format!("{}://{}{location}", from.scheme_str()?, from.authority()?));
    }
    parse(location)
}
