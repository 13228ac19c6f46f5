//! Sending requests: credentials, redirects, and busy APIs.
//!
//! Addresses are checked by the [`Fetcher`]. Credentials go to the API's own origin only.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use couplet_auth::fetch::{Fetched, Fetcher};
use couplet_core::{Call, Error, ErrorKind};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{ACCEPT, COOKIE, LOCATION, RETRY_AFTER},
};

use crate::{
    operation::{Base, Operation},
    request::{ApiRequest, component},
    security::{Applied, Credentials},
};

const REDIRECTS: usize = 3;

/// The number of retries of a busy API, the delay if it names none, and the longest delay that is waited for.
const RETRIES: u32 = 3;
const DELAY: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(20);

/// The connection to an API.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) fetcher: Fetcher,
    pub(crate) credentials: Credentials,
    /// The origins that get credentials.
    pub(crate) origins: Vec<String>,
}

/// A response, with what must not be seen of it.
pub(crate) struct Received {
    pub(crate) response: Fetched,
    pub(crate) applied: Applied,
    /// Whether the API has another origin than those that get credentials.
    pub(crate) is_foreign: bool,
}

impl Upstream {
    /// Sends a request and returns the response, whatever its status.
    pub(crate) async fn send(
        &self,
        operation: &Operation,
        request: &ApiRequest,
        call: &Call,
    ) -> Result<Received, Error> {
        let is_foreign = !self.origins.contains(&request.origin);
        let mut renewed = false;
        loop {
            let applied = match is_foreign {
                true => Applied::default(),
                false => self.credentials.apply(operation, call, &self.fetcher).await?,
            };
            let response = self.persistently(request, &applied).await?;
            if response.status.as_u16() == 401
                && let Some((scheme, scopes)) = applied.renewable.as_ref().filter(|_| !renewed)
            {
                self.credentials.expire(scheme, scopes).await;
                renewed = true;
                continue;
            }
            return Ok(Received { response, applied, is_foreign });
        }
    }

    /// Sends a request again while the API is busy. With 429 it has done nothing; with 503 that is certain only for methods
    /// that may be repeated.
    async fn persistently(&self, request: &ApiRequest, applied: &Applied) -> Result<Fetched, Error> {
        let mut waited = Duration::ZERO;
        for retry in 0.. {
            let response = self.following(request, applied).await?;
            let may_repeat = match response.status.as_u16() {
                429 => true,
                503 => request.method.is_idempotent() && response.headers.contains_key(RETRY_AFTER),
                _ => false,
            };
            let delay = retry_after(&response.headers, SystemTime::now()).unwrap_or(DELAY * 2_u32.pow(retry));
            if !may_repeat || retry == RETRIES || waited + delay > LONGEST {
                return Ok(response);
            }
            waited += delay;
            tracing::debug!(status = response.status.as_u16(), ?delay, "the API is busy");
            tokio::time::sleep(delay).await;
        }
        Err(Error::new(ErrorKind::Other, "the API is busy"))
    }

    /// Sends a request and follows redirects: all methods within the origin, and `GET` to another one without credentials.
    async fn following(&self, request: &ApiRequest, applied: &Applied) -> Result<Fetched, Error> {
        let mut next = http_request(request, applied)?;
        for _ in 0..=REDIRECTS {
            let (uri, method) = (next.uri().clone(), next.method().clone());
            let response = self.fetcher.send(next.clone()).await?;
            let target = match response.status.as_u16() {
                301 | 302 | 303 | 307 | 308 => response.headers.get(LOCATION).and_then(|to| to.to_str().ok()),
                _ => None,
            };
            let Some(target) = target else { return Ok(response) };
            let target = resolved(&uri, target).ok_or_else(|| refused("redirects to an invalid URL"))?;
            let leaves = origin(&uri) != origin(&target);
            let changes =
                matches!(response.status.as_u16(), 301..=303) && !matches!(method, Method::GET | Method::HEAD);
            if leaves && !method.is_safe() {
                return Err(refused("redirects to another origin, where this request must not be repeated"));
            }
            if uri.scheme_str() == Some("https") && target.scheme_str() != Some("https") {
                return Err(refused("redirects from https to http"));
            }
            if changes {
                *next.method_mut() = Method::GET;
                *next.body_mut() = Bytes::new();
                next.headers_mut().remove(http::header::CONTENT_TYPE);
            }
            if leaves {
                // Arguments and credentials are meant for the API only.
                *next.body_mut() = Bytes::new();
                let accept = next.headers_mut().remove(ACCEPT);
                *next.headers_mut() = HeaderMap::new();
                next.headers_mut().extend(accept.map(|accept| (ACCEPT, accept)));
            }
            *next.uri_mut() = target;
        }
        Err(refused("redirects too often"))
    }
}

fn refused(what: &str) -> Error {
    Error::new(ErrorKind::Transport, format!("the API {what}"))
}

/// Adds the credentials to a request.
fn http_request(request: &ApiRequest, applied: &Applied) -> Result<Request<Bytes>, Error> {
    let mut url = request.url();
    for (name, value) in &applied.query {
        let separator = if url.contains('?') { '&' } else { '?' };
        url = format!("{url}{separator}{}={}", component(name), component(value.reveal()));
    }
    let mut built = Request::new(request.body.clone().unwrap_or_default());
    *built.method_mut() = request.method.clone();
    *built.uri_mut() = url.parse().map_err(|_| refused("has a URL that is too long or not valid"))?;
    let headers = built.headers_mut();
    *headers = request.headers.clone();
    let own = applied.cookies.iter().map(|(name, value)| format!("{name}={}", component(value.reveal())));
    let cookies: Vec<String> = request.cookies.iter().cloned().chain(own).collect();
    if !cookies.is_empty() {
        let mut cookies = HeaderValue::from_str(&cookies.join("; ")).map_err(|_| refused("has invalid cookies"))?;
        cookies.set_sensitive(true);
        headers.insert(COOKIE, cookies);
    }
    for (name, value) in &applied.headers {
        headers.insert(name.clone(), value.clone());
    }
    headers
        .entry(HeaderName::from_static("user-agent"))
        .or_insert(HeaderValue::from_static(concat!("couplet-openapi/", env!("CARGO_PKG_VERSION"))));
    Ok(built)
}

/// Returns the delay that a busy API asks for: seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Resolves the target of a redirect.
fn resolved(from: &Uri, to: &str) -> Option<Uri> {
    let to = to.split('#').next().unwrap_or(to);
    let (scheme, authority) = (from.scheme_str()?, from.authority()?);
    let absolute = if to.starts_with("http://") || to.starts_with("https://") {
        to.to_owned()
    } else if let Some(rest) = to.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if to.starts_with('/') {
        format!("{scheme}://{authority}{to}")
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{to}")
    };
    let uri: Uri = absolute.parse().ok()?;
    (!uri.authority()?.as_str().contains('@')).then_some(uri)
}

/// Returns the scheme, host and port of a URL.
fn origin(uri: &Uri) -> Option<(String, String, u16)> {
    let scheme = uri.scheme_str()?.to_owned();
    let port = uri.port_u16().unwrap_or(if scheme == "http" { 80 } else { 443 });
    Some((scheme, uri.host()?.to_ascii_lowercase(), port))
}

/// Returns the origin of a base URL.
pub(crate) fn base_uri(base: &Base) -> Option<Uri> {
    format!("{}/", base.origin).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_resolved() {
        let from: Uri = "https://a.org/x/y?q=1".parse().expect("a URL");
        for (to, expected) in [
            ("/z", Some("https://a.org/z")),
            ("z?a=b#c", Some("https://a.org/x/z?a=b")),
            ("//b.org/z", Some("https://b.org/z")),
            ("http://b.org/", Some("http://b.org/")),
            ("https://a.org@b.org/", None),
        ] {
            let found = resolved(&from, to).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), expected, "{to}");
        }
    }

    #[test]
    fn delays_are_seconds_or_dates() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, expected) in [
            ("3", Some(3)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now).map(|delay| delay.as_secs()), expected, "{value}");
        }
    }
}
