//! The client of a request, as far as its connection and trusted proxies tell.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use http::request::Parts;

use crate::server::endpoint::Endpoint;

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

/// A function that finds the address of a client in the head of its request.
#[derive(Clone)]
pub(crate) struct ClientIp(Arc<Find>);

type Find = dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync;

impl fmt::Debug for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIp").finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Sets how the address of the client is found, for endpoints in a web framework (default: it is not known). The
    /// built-in listener knows it without this function.
    ///
    /// The function must not believe a header that a client can write.
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// // With axum: `parts.extensions.get::<ConnectInfo<SocketAddr>>()`
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build())
    ///     .client_ip(|parts| parts.extensions.get::<SocketAddr>().map(|address| address.ip()));
    /// # drop(endpoint);
    /// ```
    #[must_use]
    pub fn client_ip(self, find: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.with(|config| config.client_ip = Some(ClientIp(Arc::new(find))))
    }

    /// The client of a request that a web framework accepted.
    pub(crate) fn client_of(&self, parts: &Parts) -> HttpPeer {
        let address = self.config.client_ip.as_ref().and_then(|ClientIp(find)| find(parts));
        address.map(|address| address.to_canonical()).into()
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
