//! Which requests are answered: those of the user's own browser, on the page itself.
//!
//! A page of another site must not reach the inspector, also not by a name that it controls (DNS rebinding), so the
//! host is checked for every request. Other users of the machine can connect, so everything but the page needs a token.

use http::{HeaderMap, HeaderValue, Request, StatusCode, header};

use crate::page::hex;

/// The names of this machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The checks of a listener.
#[derive(Debug)]
pub(crate) struct Guard {
    port: u16,
    token: String,
}

/// A request that is refused, and why.
pub(crate) type Refused = (StatusCode, &'static str);

impl Guard {
    /// Creates the checks for a port, with a new token.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub(crate) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        Ok(Self { port, token: hex(&random) })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Checks where a request was sent to and where it came from.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), Refused> {
        let headers = request.headers();
        let host = only(headers, header::HOST.as_str()).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.is_own(host)) {
            return Err((StatusCode::FORBIDDEN, "the inspector answers only at a loopback name and its own port"));
        }
        if request.uri().authority().is_some_and(|authority| !self.is_own(authority.as_str())) {
            return Err((StatusCode::FORBIDDEN, "the inspector answers only at a loopback name and its own port"));
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = only(headers, header::ORIGIN.as_str()).and_then(|origin| origin.to_str().ok());
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            if !host.is_some_and(|host| self.is_own(host)) {
                return Err((StatusCode::FORBIDDEN, "requests from other origins are refused"));
            }
        }
        Ok(())
    }

    /// Checks the token.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let sent =
            only(headers, header::AUTHORIZATION.as_str()).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        match sent {
            Some(sent) if equal(sent, self.token.as_bytes()) => Ok(()),
            _ => Err((
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong; open the address that `couplet inspect` printed",
            )),
        }
    }

    /// Whether a host is this machine, with the port of the listener.
    fn is_own(&self, host: &str) -> bool {
        let own = |name: &&str| host.strip_prefix(*name).and_then(|rest| rest.strip_prefix(':'));
        LOOPBACK.iter().find_map(own).is_some_and(|port| port == self.port.to_string())
    }
}

/// A header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Compares in constant time. The length is no secret.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: Option<&str>, origin: Option<&str>) -> Result<(), Refused> {
        let mut request = Request::builder().uri("/api/targets");
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            request = value.into_iter().fold(request, |request, value| request.header(&name, value));
        }
        Guard { port: 7000, token: "t".to_owned() }.check(&request.body(()).expect("it is well-formed"))
    }

    #[test]
    fn only_the_own_origin_is_served() {
        for host in ["127.0.0.1:7000", "localhost:7000", "[::1]:7000"] {
            assert!(check(Some(host), None).is_ok(), "{host}");
            assert!(check(Some(host), Some("http://127.0.0.1:7000")).is_ok(), "{host}");
        }
        for host in ["127.0.0.1", "127.0.0.1:7001", "example.com:7000", "localhost.example.com:7000", "a:7000", ":7000"]
        {
            assert!(check(Some(host), None).is_err(), "{host}");
        }
        assert!(check(None, None).is_err());
        for origin in
            ["null", "http://example.com", "https://127.0.0.1:7000", "http://127.0.0.1:7001", "http://localhost"]
        {
            assert!(check(Some("127.0.0.1:7000"), Some(origin)).is_err(), "{origin}");
        }
    }

    #[test]
    fn the_token_is_needed() {
        let guard = Guard::new(1).expect("there are random bytes");
        let check = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().expect("it is a header"));
            guard.check_token(&headers).is_ok()
        };
        assert!(check(&format!("Bearer {}", guard.token())));
        for wrong in ["", "Bearer", "Bearer ", "Bearer x", &format!("Basic {}", guard.token()), guard.token()] {
            assert!(!check(wrong), "{wrong}");
        }
        assert!(!check(&format!("Bearer {}0", guard.token())));
        assert!(guard.check_token(&HeaderMap::new()).is_err());
    }
}
