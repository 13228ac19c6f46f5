//! Which hosts and origins are let in: a page in somebody's browser must not reach a server on their machine.

use http::{HeaderMap, Uri, header, request::Parts};

/// Who may ask. Names of this machine always may.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) any_host: bool,
}

impl Guard {
    /// Checks where a request was sent to and where it came from.
    ///
    /// # Errors
    /// Why it is not let in.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), &'static str> {
        if !self.any_host && !self.host(&parts.headers, &parts.uri) {
            return Err("this host name is not served here");
        }
        let mut origins = parts.headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) if origin.to_str().is_ok_and(|o| self.origin(o)) => Ok(()),
            _ => Err("requests from this origin are not allowed"),
        }
    }

    fn host(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let mut named = headers.get_all(header::HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => uri.authority().map(http::uri::Authority::as_str),
            _ => None,
        };
        let allowed = |host: &str| {
            let (name, _) = split_port(host);
            is_loopback(name) || self.hosts.iter().any(|h| h.eq_ignore_ascii_case(host) || h.eq_ignore_ascii_case(name))
        };
        // Where the target of the request names a host as well, both count.
        host.is_some_and(|host| allowed(host) && uri.authority().is_none_or(|a| allowed(a.as_str())))
    }

    fn origin(&self, origin: &str) -> bool {
        let loopback = ["http://", "https://"].iter().find_map(|s| origin.strip_prefix(s)).is_some_and(|host| {
            let (name, port) = split_port(host);
            is_loopback(name) && port.is_none_or(|p| p.parse::<u16>().is_ok())
        });
        loopback || self.origins.iter().any(|o| o.eq_ignore_ascii_case(origin))
    }
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]")
}
