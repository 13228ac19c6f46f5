//! The headers with which reverse proxies name the client: `X-Forwarded-For`, `-Proto` and `-Host`, or `Forwarded`
//! (RFC 7239).
//!
//! A list grows at its end: what stands before the first address that is not a trusted proxy was written by the client.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

use crate::server::{
    listen::network::Network,
    request::{client::HttpPeer, guard::is_host},
};

/// The reverse proxies whose headers name the client of a request.
///
/// The list in the header is read from its end, where the nearest proxy appended its peer. The client is the first
/// address from there that is not a trusted proxy; a malformed entry ends the search. Requests of other peers are taken
/// as they come, and their headers are not looked at.
///
/// By default `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` are read. Only one family is, because a proxy
/// that writes one passes the other on as the client sent it.
///
/// ```
/// use couplet_http::{listen, server::TrustedProxies};
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let proxies = TrustedProxies::new(["10.0.0.0/8".parse()?, "2001:db8::1".parse()?]);
/// let transport = listen("0.0.0.0:8080").trust_proxy(proxies);
/// # drop(transport);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<Network>,
    is_standard: bool,
}

impl TrustedProxies {
    /// Creates the list of the networks of the proxies. Every hop that belongs to the deployment has to be in it: the
    /// client is the first one that is not. Without any network no header is believed.
    #[must_use]
    pub fn new(networks: impl IntoIterator<Item = Network>) -> Self {
        Self { networks: networks.into_iter().collect(), is_standard: false }
    }

    /// Reads the header `Forwarded` of RFC 7239 instead of `X-Forwarded-*`. Its parameters `for`, `proto` and `host`
    /// are used; an obfuscated node such as `for=_hidden` names no address, and ends the search.
    ///
    /// ```
    /// use couplet_http::{listen, server::{Network, TrustedProxies}};
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let proxies = TrustedProxies::new([Network::UNIX, "10.0.0.0/8".parse()?]).standard_header();
    /// let transport = listen("0.0.0.0:8080").trust_proxy(proxies);
    /// # drop(transport);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn standard_header(mut self) -> Self {
        self.is_standard = true;
        self
    }

    /// Finds the client of a request that came over a connection of this peer.
    pub(super) fn client(&self, peer: Option<SocketAddr>, headers: &HeaderMap) -> HttpPeer {
        let peer = peer.map(|peer| peer.ip().to_canonical());
        if !self.trusts(peer) {
            return peer.into();
        }
        if self.is_standard { self.standard(peer, headers) } else { self.usual(peer, headers) }
    }

    fn trusts(&self, peer: Option<IpAddr>) -> bool {
        self.networks.iter().any(|network| network.contains(peer))
    }

    fn usual(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> HttpPeer {
        let (mut client, mut hops) = (HttpPeer::from(peer), 0);
        for entry in entries(headers, "x-forwarded-for") {
            if !self.trusts(client.address) {
                break;
            }
            let Some(address) = node(entry) else {
                malformed("x-forwarded-for");
                break;
            };
            client.address = Some(address);
            hops += 1;
        }
        client.scheme = at(headers, "x-forwarded-proto", hops).and_then(scheme);
        client.host = at(headers, "x-forwarded-host", hops).and_then(host);
        client
    }

    fn standard(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> HttpPeer {
        let mut client = HttpPeer::from(peer);
        for entry in entries(headers, "forwarded") {
            if !self.trusts(client.address) {
                break;
            }
            let Some(next) = element(entry) else {
                malformed("forwarded");
                break;
            };
            client = next;
        }
        client
    }
}

fn malformed(header: &'static str) {
    tracing::debug!(header, "a header of a trusted proxy is malformed and ignored");
}

/// The entries of a list, the last one first.
fn entries<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(name).iter().rev();
    lines.flat_map(|line| Pieces { rest: Some(line.as_bytes()), separator: b',' }).filter(|entry| !entry.is_empty())
}

/// The entry of a list that belongs to the client, so many hops away: a proxy that does not append has one for all.
fn at<'a>(headers: &'a HeaderMap, name: &'static str, hops: usize) -> Option<&'a [u8]> {
    let mut all = entries(headers, name).peekable();
    let last = *all.peek()?;
    match all.nth(hops.saturating_sub(1)) {
        Some(entry) => Some(entry),
        None => (entries(headers, name).count() == 1).then_some(last),
    }
}

/// The pieces of a line between separators that are not in quotes, the last one first.
///
/// From its end the line is well-formed for as long as trusted proxies wrote it. An open quote at its beginning must not
/// hide what they appended.
struct Pieces<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let mut is_quoted = false;
        let end = rest.iter().rposition(|byte| {
            is_quoted ^= *byte == b'"';
            *byte == self.separator && !is_quoted
        });
        let (before, piece) = match end {
            Some(end) => (Some(&rest[..end]), &rest[end + 1..]),
            None => (None, rest),
        };
        self.rest = before;
        Some(piece.trim_ascii())
    }
}

/// An element of `Forwarded`, if it names an address.
fn element(text: &[u8]) -> Option<HttpPeer> {
    let mut peer = HttpPeer::default();
    for pair in (Pieces { rest: Some(text), separator: b';' }) {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&pair[..at], unquoted(&pair[at + 1..])?);
        if name.eq_ignore_ascii_case(b"for") && peer.address.is_none() {
            peer.address = Some(node(value)?);
        } else if name.eq_ignore_ascii_case(b"proto") {
            peer.scheme = scheme(value);
        } else if name.eq_ignore_ascii_case(b"host") {
            peer.host = host(value);
        }
    }
    peer.address.is_some().then_some(peer)
}

fn unquoted(value: &[u8]) -> Option<&[u8]> {
    let inner = value.strip_prefix(b"\"").map_or(Some(value), |value| value.strip_suffix(b"\""))?;
    (!inner.iter().any(|byte| matches!(byte, b'"' | b'\\'))).then_some(inner)
}

/// An address, perhaps with a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn node(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse().map(IpAddr::V6).ok(),
        None => text.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip())),
    };
    address.map(|address| address.to_canonical())
}

fn scheme(text: &[u8]) -> Option<&'static str> {
    ["https", "http"].into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.as_bytes()))
}

fn host(text: &[u8]) -> Option<Box<str>> {
    std::str::from_utf8(text).ok().filter(|text| text.len() <= 255 && is_host(text)).map(Into::into)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Headers of a request, and what is made of them when 10.0.0.0/8 and Unix domain sockets are trusted: address, scheme
    /// and host.
    #[track_caller]
    fn check(proxies: &TrustedProxies, peer: &str, lines: &[(&'static str, &str)], expected: &str) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).expect("it is a value"));
        }
        let HttpPeer { address, scheme, host } = proxies.client(peer.parse().ok(), &headers);
        let address = address.map(|address| address.to_string());
        let text = [address.as_deref(), scheme, host.as_deref()].map(|part| part.unwrap_or("-")).join(" ");
        assert_eq!(text, expected, "{peer} {lines:?}");
    }

    fn proxies() -> TrustedProxies {
        TrustedProxies::new(["10.0.0.0/8", "fd00::/8", "unix"].map(|text| text.parse().expect(text)))
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_proxy() {
        let all = |peer, list: &str, expected| check(&proxies(), peer, &[("x-forwarded-for", list)], expected);
        for (peer, list, expected) in [
            ("10.0.0.1:9", "192.0.2.1", "192.0.2.1 - -"),
            ("unix", "192.0.2.1", "192.0.2.1 - -"),
            ("[::ffff:10.0.0.1]:9", "::ffff:192.0.2.1", "192.0.2.1 - -"),
            ("10.0.0.1:9", "192.0.2.1:55", "192.0.2.1 - -"),
            ("10.0.0.1:9", "2001:db8::1", "2001:db8::1 - -"),
            ("10.0.0.1:9", "[2001:db8::1]", "2001:db8::1 - -"),
            ("[fd00::1]:9", "[2001:db8::1]:443", "2001:db8::1 - -"),
            // A client that pretends to be another one.
            ("203.0.113.9:9", "192.0.2.1", "203.0.113.9 - -"),
            ("10.0.0.1:9", "127.0.0.1, 192.0.2.1", "192.0.2.1 - -"),
            ("10.0.0.1:9", "10.9.9.9, 192.0.2.1, 10.0.0.2,10.0.0.3", "192.0.2.1 - -"),
            // Requests of the proxies themselves.
            ("10.0.0.1:9", "10.0.0.3, 10.0.0.2", "10.0.0.3 - -"),
            ("10.0.0.1:9", "", "10.0.0.1 - -"),
            ("unix", "", "- - -"),
            // Garbage is never reached, or ends the list.
            ("10.0.0.1:9", "garbage, 192.0.2.1", "192.0.2.1 - -"),
            ("10.0.0.1:9", "192.0.2.1, unknown", "10.0.0.1 - -"),
            ("10.0.0.1:9", "192.0.2.1, garbage, 10.0.0.2", "10.0.0.2 - -"),
            ("10.0.0.1:9", "é, 192.0.2.1", "192.0.2.1 - -"),
            ("10.0.0.1:9", "192.0.2.1:99999", "10.0.0.1 - -"),
            ("10.0.0.1:9", "[192.0.2.1]", "10.0.0.1 - -"),
            ("10.0.0.1:9", "fe80::1%eth0", "10.0.0.1 - -"),
            ("10.0.0.1:9", ", ,,192.0.2.1,, ", "192.0.2.1 - -"),
        ] {
            all(peer, list, expected);
        }
        let many = format!("192.0.2.1{}", ", 10.0.0.2".repeat(1000));
        all("10.0.0.1:9", &many, "192.0.2.1 - -");
        all("10.0.0.1:9", &"9".repeat(8000), "10.0.0.1 - -");
        check(
            &proxies(),
            "10.0.0.1:9",
            &[("x-forwarded-for", "127.0.0.1, 192.0.2.1"), ("x-forwarded-for", "10.0.0.2")],
            "192.0.2.1 - -",
        );
    }

    #[test]
    fn scheme_and_host_belong_to_the_same_hop() {
        let all = |list, proto, host, expected| {
            let lines = [("x-forwarded-for", list), ("x-forwarded-proto", proto), ("x-forwarded-host", host)];
            check(&proxies(), "10.0.0.1:9", &lines, expected);
        };
        for (list, proto, host, expected) in [
            ("192.0.2.1", "https", "a.example", "192.0.2.1 https a.example"),
            ("192.0.2.1", "http, HTTPS", "evil, a.example:8443", "192.0.2.1 https a.example:8443"),
            ("192.0.2.1, 10.0.0.2", "https, http", "a, b", "192.0.2.1 https a"),
            ("192.0.2.1, 10.0.0.2", "https", "a", "192.0.2.1 https a"),
            ("192.0.2.1, 10.0.0.2, 10.0.0.3", "https, http", "a, b", "192.0.2.1 - -"),
            ("192.0.2.1", "javascript", "a b/c", "192.0.2.1 - -"),
            ("", "https", "a", "10.0.0.1 https a"),
        ] {
            all(list, proto, host, expected);
        }
        let lines = [("x-forwarded-proto", "https"), ("x-forwarded-host", "a.example")];
        check(&proxies(), "203.0.113.9:9", &lines, "203.0.113.9 - -");
    }

    #[test]
    fn the_standard_header_is_parsed_from_its_end() {
        let all = |list: &str, expected| {
            let lines = [("forwarded", list), ("x-forwarded-for", "127.0.0.1")];
            check(&proxies().standard_header(), "10.0.0.1:9", &lines, expected);
        };
        for (list, expected) in [
            ("for=192.0.2.1", "192.0.2.1 - -"),
            ("For=192.0.2.1;Proto=https;host=a.example;by=10.0.0.1", "192.0.2.1 https a.example"),
            (r#"for="[2001:db8::1]:4711""#, "2001:db8::1 - -"),
            (r#"for=127.0.0.1, for=192.0.2.1;proto=http, for="10.0.0.2:80";proto=https"#, "192.0.2.1 http -"),
            // A quote of the client does not hide what the proxy appends.
            (r#"for=", for=192.0.2.1"#, "192.0.2.1 - -"),
            (r#"for="a, for=192.0.2.1;host="a.example""#, "192.0.2.1 - a.example"),
            ("for=unknown", "10.0.0.1 - -"),
            ("for=_hidden", "10.0.0.1 - -"),
            ("for=", "10.0.0.1 - -"),
            ("proto=https", "10.0.0.1 - -"),
            ("192.0.2.1", "10.0.0.1 - -"),
            (r#"for="192.0.2.1\"""#, "10.0.0.1 - -"),
            (r#"for="192.0.2.1"#, "10.0.0.1 - -"),
        ] {
            all(list, expected);
        }
        // Without being asked to, it is not read.
        check(&proxies(), "10.0.0.1:9", &[("forwarded", "for=192.0.2.1")], "10.0.0.1 - -");
    }
}
