//! Networks of peers, for what is believed of some and not of others.

use std::{fmt, net::IpAddr, str::FromStr};

use couplet_core::{Error, ErrorKind};

/// A network of peers: an address, addresses with a common prefix, or the Unix domain socket.
///
/// ```
/// use couplet_http::server::Network;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let network: Network = "10.0.0.0/8".parse()?;
/// assert!(network.contains("10.1.2.3".parse().ok()) && !network.contains("192.0.2.1".parse().ok()));
/// // A peer of a Unix domain socket has no address.
/// assert!("unix".parse::<Network>()?.contains(None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(Peers);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peers {
    /// The addresses that have the first bits in common with this one.
    Prefix(IpAddr, u8),
    Unix,
}

impl Network {
    /// The peers of a Unix domain socket, `unix` as text. They have no address.
    pub const UNIX: Self = Self(Peers::Unix);

    /// Returns whether a peer belongs to the network; `None` is a peer of a Unix domain socket. An IPv4 address that is
    /// written as an IPv6 one is an IPv4 address.
    ///
    /// ```
    /// use couplet_http::server::Network;
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let network: Network = "192.0.2.0/24".parse()?;
    /// assert!(network.contains("::ffff:192.0.2.9".parse().ok()));
    /// assert!(!network.contains("2001:db8::1".parse().ok()) && !network.contains(None));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn contains(&self, peer: Option<IpAddr>) -> bool {
        match (self.0, peer.map(|peer| peer.to_canonical())) {
            (Peers::Unix, None) => true,
            (Peers::Prefix(IpAddr::V4(network), bits), Some(IpAddr::V4(peer))) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                network.to_bits() & mask == peer.to_bits() & mask
            }
            (Peers::Prefix(IpAddr::V6(network), bits), Some(IpAddr::V6(peer))) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                network.to_bits() & mask == peer.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self(Peers::Prefix(address, width(address)))
    }
}

/// Parses `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32` or `unix`. Bits beyond the prefix are ignored.
///
/// ```
/// use couplet_core::ErrorKind;
/// use couplet_http::server::Network;
///
/// assert_eq!("2001:db8::/32".parse::<Network>().unwrap().to_string(), "2001:db8::/32");
/// assert_eq!("192.0.2.1/32".parse::<Network>().unwrap().to_string(), "192.0.2.1");
/// assert_eq!("10.0.0.0/33".parse::<Network>().unwrap_err().kind(), ErrorKind::Config);
/// ```
impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "unix" {
            return Ok(Self::UNIX);
        }
        let malformed = || {
            let what = format!("invalid network `{text}`; expected an address, a network such as 10.0.0.0/8, or unix");
            Error::new(ErrorKind::Config, what)
        };
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let Some(bits) = bits else { return Ok(address.into()) };
        let bits: u8 = bits.parse().map_err(|_| malformed())?;
        // Of `::ffff:10.0.0.0/104` the first 96 bits say that it is an IPv4 network.
        let canonical = address.to_canonical();
        let bits = bits.checked_sub(width(address) - width(canonical)).ok_or_else(malformed)?;
        if bits > width(canonical) { Err(malformed()) } else { Ok(Self(Peers::Prefix(canonical, bits))) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Peers::Unix => f.write_str("unix"),
            Peers::Prefix(address, bits) if bits == width(address) => write!(f, "{address}"),
            Peers::Prefix(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

/// The number of bits of an address.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        for (network, peer, expected) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("::ffff:10.0.0.0/104", "10.9.9.9", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("unix", "127.0.0.1", false),
        ] {
            let parsed: Network = network.parse().expect(network);
            assert_eq!(parsed.contains(peer.parse().ok()), expected, "{network} {peer}");
            assert_eq!(parsed.contains(None), network == "unix");
            assert_eq!(parsed.to_string().parse::<Network>().ok(), Some(parsed));
        }
        let bad = [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/-1",
            "10.0.0.0/",
            "10.0.0/8",
            "a",
            "::ffff:1.2.3.4/8",
            "1.2.3.4:80",
        ];
        for text in bad {
            let error = text.parse::<Network>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
