//! Which hosts and origins are let in: a page in a user's browser must not reach a server on their machine.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, Mutex},
};

use http::{HeaderValue, header, request::Parts, uri::Authority};

use crate::server::{lock, request::allow_list::AllowList};

/// Which requests are let in. Names of this machine always are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) list: AllowList,
    pub(crate) any_host: bool,
    /// Whether pages of the endpoint's own origin are allowed: there is one.
    #[cfg(feature = "inspector")]
    pub(crate) own_pages: bool,
    warned: Arc<Mutex<HashSet<String>>>,
}

impl Guard {
    /// Checks where a request was sent to and where it came from.
    ///
    /// # Errors
    /// Why it is not let in.
    pub(crate) fn check<'p>(&self, parts: &'p Parts) -> Result<Option<&'p HeaderValue>, &'static str> {
        self.check_host(parts)?;
        let mut origins = parts.headers.get_all(header::ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => return Ok(None),
            (Some(origin), None) => Some(origin),
            _ => None,
        };
        let text = origin.and_then(|origin| origin.to_str().ok());
        if text.is_some_and(|text| self.allows_origin(text)) {
            return Ok(origin);
        }
        #[cfg(feature = "inspector")]
        if self.own_pages && text.is_some_and(|text| is_own(text, parts)) {
            return Ok(origin);
        }
        if let Some(origin) = text.filter(|text| self.is_news(text)) {
            tracing::warn!(
                "requests of pages from `{origin}` are refused; to serve them, add `.allow_origin(\"{origin}\")`"
            );
        }
        Err("requests from this origin are not allowed")
    }

    /// The header and, where the target of the request names a host as well, that one.
    fn check_host(&self, parts: &Parts) -> Result<(), &'static str> {
        const MALFORMED: &str = "the host must be a name or an address, and perhaps a port";
        let mut named = parts.headers.get_all(header::HOST).iter();
        let header = match (named.next(), named.next()) {
            (_, Some(_)) => return Err("there must be one `host` header"),
            (host, None) => host.map(HeaderValue::to_str).transpose().map_err(|_| MALFORMED)?,
        };
        let target = parts.uri.authority().map(Authority::as_str);
        if header.is_none() && target.is_none() && !self.any_host {
            return Err("the request names no host");
        }
        for text in header.into_iter().chain(target) {
            if is_plainly_loopback(text) {
                continue;
            }
            let host = Host::parse(text).ok_or(MALFORMED)?;
            if !self.allows_host(&host) {
                if self.is_news(text) {
                    let name = host.name;
                    tracing::warn!(
                        "requests to the host `{name}` are refused; to serve them, add `.allow_host(\"{name}\")`"
                    );
                }
                return Err("this host name is not served here");
            }
        }
        Ok(())
    }

    /// Returns whether operators may read metrics under the host name of a request: a name that is allowed, or an address,
    /// which no page of a foreign site can have as its own.
    #[cfg(all(feature = "listen", feature = "metrics"))]
    pub(crate) fn allows_operator(&self, parts: &Parts) -> bool {
        let is_address = |host: &Host<'_>| host.name.starts_with('[') || host.name.parse::<Ipv4Addr>().is_ok();
        let header = parts.headers.get(header::HOST);
        header.is_none_or(|text| {
            let host = text.to_str().ok().and_then(Host::parse);
            host.is_some_and(|host| is_address(&host) || self.allows_host(&host))
        })
    }

    fn allows_host(&self, host: &Host<'_>) -> bool {
        let is_named = |h: &String| h.eq_ignore_ascii_case(host.text) || h.eq_ignore_ascii_case(host.name);
        self.any_host || host.is_loopback() || self.hosts.iter().any(is_named) || self.list.has_host(is_named)
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let is_named = |o: &String| o.eq_ignore_ascii_case(origin);
        let host = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
        host.and_then(Host::parse).is_some_and(|host| host.is_loopback())
            || self.origins.iter().any(is_named)
            || self.list.has_origin(is_named)
    }

    /// Whether no warning was written about a name yet. After some of them there is none about any other, so that an
    /// attacker cannot fill the log.
    fn is_news(&self, name: &str) -> bool {
        const MOST: usize = 32;
        let mut warned = lock(&self.warned);
        name.len() <= 255 && warned.len() < MOST && !warned.contains(name) && warned.insert(name.to_owned())
    }
}

/// A host and perhaps a port, and nothing else.
#[derive(Debug)]
struct Host<'a> {
    text: &'a str,
    name: &'a str,
}

impl<'a> Host<'a> {
    /// Nothing if there is anything else, such as user information or a path.
    fn parse(text: &'a str) -> Option<Self> {
        let end = if text.starts_with('[') { text.find(']')? + 1 } else { text.find(':').unwrap_or(text.len()) };
        let (name, port) = text.split_at(end);
        let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)),
        };
        (is_name && (port.is_empty() || is_port(port.strip_prefix(':')?))).then_some(Self { text, name })
    }

    fn is_loopback(&self) -> bool {
        if self.name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let address = match self.name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(address) => address.parse().map(IpAddr::V6),
            None => self.name.parse::<Ipv4Addr>().map(IpAddr::V4),
        };
        address.is_ok_and(|address| address.is_loopback())
    }
}

/// Whether this is a host and perhaps a port, and nothing else.
#[cfg(feature = "listen")]
pub(crate) fn is_host(text: &str) -> bool {
    Host::parse(text).is_some()
}

/// Whether a page has the origin that the request is for. The host of the request is allowed already.
#[cfg(feature = "inspector")]
fn is_own(origin: &str, parts: &Parts) -> bool {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| parts.uri.authority().map(Authority::as_str));
    let of = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
    of.is_some_and(|of| host.is_some_and(|host| host.eq_ignore_ascii_case(of)))
}

/// Whether this is a common name of this machine, and perhaps a port: what most requests name is known without parsing.
fn is_plainly_loopback(text: &str) -> bool {
    let rest = text.strip_prefix("127.0.0.1").or_else(|| text.strip_prefix("localhost"));
    rest.is_some_and(|rest| match rest.as_bytes() {
        [] => true,
        // What begins with `6` and has five digits may be more than a port can be; that is for the parser to say.
        [b':', first @ b'1'..=b'9', rest @ ..] => {
            rest.len() <= if *first < b'6' { 4 } else { 3 } && rest.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    })
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use crate::server::request::guard::*;

    #[test]
    fn common_names_are_known_without_parsing() {
        for text in ["127.0.0.1", "localhost", "localhost:1", "127.0.0.1:8080", "127.0.0.1:59999"] {
            assert!(is_plainly_loopback(text), "{text}");
            assert!(Host::parse(text).is_some_and(|host| host.is_loopback()), "{text}");
        }
        for text in ["localhost.", "localhost:", "localhost:0", "127.0.0.1:60000", "127.0.0.1:1@evil", "127.0.0.10", ""]
        {
            assert!(!is_plainly_loopback(text), "{text}");
        }
    }

    #[test]
    fn the_log_cannot_be_filled() {
        let guard = Guard::default();
        assert!(guard.is_news("a.example") && !guard.is_news("a.example"));
        let news = (0..1000).filter(|n| guard.is_news(&format!("{n}.example"))).count();
        assert_eq!(news, 31);
    }
}
