//! Address ranges that may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{Uri, uri::Scheme};

/// The address ranges that a [`Fetcher`](super::Fetcher) may connect to. Each includes the previous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reach {
    /// Public addresses, over https.
    #[default]
    Public,
    /// Loopback addresses, too, with or without TLS.
    Loopback,
    /// Private networks, too, over https.
    Private,
    /// Any address, with or without TLS: tokens can then be intercepted on the network.
    Anywhere,
}

impl Reach {
    /// Returns the reach that discovery for this server needs by default: [`Loopback`](Self::Loopback) if the server is
    /// on a loopback address, and [`Public`](Self::Public) otherwise.
    pub fn of(server: &Uri) -> Self {
        if is_local(server) { Self::Loopback } else { Self::Public }
    }

    /// Returns whether this reach includes an address.
    pub fn allows(self, address: IpAddr) -> bool {
        self >= needed(address)
    }

    /// Checks a server's URL, as far as its host name tells.
    pub(crate) fn check(self, server: &Uri) -> Result<(), &'static str> {
        let literal = host(server).parse::<IpAddr>().ok();
        if literal.is_some_and(|ip| !self.allows(ip)) || is_local(server) && self < Self::Loopback {
            return Err("has an address that the configured `Reach` does not allow");
        }
        let encrypted = server.scheme() == Some(&Scheme::HTTPS);
        if !encrypted && !is_local(server) && self < Self::Anywhere {
            return Err("must use https, or needs a wider `Reach`");
        }
        Ok(())
    }
}

/// The host of a URL, without the brackets of IPv6.
pub(crate) fn host(uri: &Uri) -> &str {
    uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

/// Whether a URL has a loopback host.
pub(crate) fn is_local(uri: &Uri) -> bool {
    let host = host(uri);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| needed(ip) == Reach::Loopback)
}

/// The reach that an address needs.
fn needed(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(v4) => needed_v4(v4),
        IpAddr::V6(v6) => needed_v6(v6),
    }
}

fn needed_v4(v4: Ipv4Addr) -> Reach {
    let [a, b, c, _] = v4.octets();
    match (a, b, c) {
        (127, ..) => Reach::Loopback,
        // This host, private, shared by carriers, link-local.
        (0 | 10, ..) | (100, 64..=127, _) | (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => Reach::Private,
        // Protocols, documentation, relays, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => Reach::Private,
        // Multicast, reserved, broadcast.
        (224.., ..) => Reach::Private,
        _ => Reach::Public,
    }
}

fn needed_v6(v6: Ipv6Addr) -> Reach {
    let within = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        needed_v4(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Loopback,
        // An IPv4-mapped address connects to the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] => within(high, low),
        // Through a gateway (NAT64, 6to4): the gateway's loopback is not this machine's.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            if within(high, low) == Reach::Public {
                Reach::Public
            } else {
                Reach::Private
            }
        }
        // Teredo, benchmarks and the like, documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Private,
        // Everything else of the internet; the rest is local in one way or another.
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_what_they_lead_to() {
        for (address, expected) in [
            ("8.8.8.8", Reach::Public),
            ("172.32.0.1", Reach::Public),
            ("100.128.0.1", Reach::Public),
            ("2606:4700::1111", Reach::Public),
            ("64:ff9b::8.8.8.8", Reach::Public),
            ("2002:808:808::1", Reach::Public),
            ("::ffff:8.8.8.8", Reach::Public),
            ("127.0.0.1", Reach::Loopback),
            ("127.9.9.9", Reach::Loopback),
            ("::1", Reach::Loopback),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("0.0.0.0", Reach::Private),
            ("10.1.2.3", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("169.254.169.254", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("192.168.1.1", Reach::Private),
            ("198.19.255.1", Reach::Private),
            ("224.0.0.1", Reach::Private),
            ("255.255.255.255", Reach::Private),
            ("::", Reach::Private),
            ("::127.0.0.1", Reach::Private),
            ("::ffff:169.254.169.254", Reach::Private),
            ("64:ff9b::169.254.169.254", Reach::Private),
            ("64:ff9b::127.0.0.1", Reach::Private),
            ("64:ff9b:1::8.8.8.8", Reach::Private),
            ("2002:a9fe:a9fe::1", Reach::Private),
            ("2001::1", Reach::Private),
            ("2001:db8::1", Reach::Private),
            ("fc00::1", Reach::Private),
            ("fd12:3456::1", Reach::Private),
            ("fe80::1", Reach::Private),
            ("fec0::1", Reach::Private),
            ("ff02::1", Reach::Private),
        ] {
            assert_eq!(needed(address.parse().expect(address)), expected, "{address}");
        }
    }

    #[test]
    fn names_are_checked_as_far_as_they_tell() {
        for (server, least) in [
            ("https://a.example/x", Some(Reach::Public)),
            ("http://a.example/x", Some(Reach::Anywhere)),
            ("http://localhost:80/", Some(Reach::Loopback)),
            ("https://LOCALHOST/", Some(Reach::Loopback)),
            ("http://[::1]:8080/", Some(Reach::Loopback)),
            ("https://10.0.0.1/", Some(Reach::Private)),
            ("http://10.0.0.1/", Some(Reach::Anywhere)),
            ("https://[64:ff9b::a9fe:a9fe]/", Some(Reach::Private)),
        ] {
            let server: Uri = server.parse().expect(server);
            let all = [Reach::Public, Reach::Loopback, Reach::Private, Reach::Anywhere];
            assert_eq!(all.into_iter().find(|r| r.check(&server).is_ok()), least, "{server}");
        }
    }
}
