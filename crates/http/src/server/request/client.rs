//! The client of a request, as far as its connection and trusted proxies tell.

use std::net::{IpAddr, Ipv6Addr};

/// The client of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpPeer {
    /// Its address.
    pub(crate) address: Option<IpAddr>,
    /// The scheme of the URL that it used, as a trusted proxy says.
    pub(crate) scheme: Option<&'static str>,
    /// The host of that URL.
    pub(crate) host: Option<Box<str>>,
}

impl From<Option<IpAddr>> for HttpPeer {
    fn from(address: Option<IpAddr>) -> Self {
        Self { address, ..Self::default() }
    }
}

/// Returns the network that limits count for an address: of IPv6 a household has as many addresses as it wants within a
/// /64. `None` for this machine, which is usually a reverse proxy that is not trusted.
pub(crate) fn network_of(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V6(address) => Some(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()),
        address => Some(address),
    }
}
