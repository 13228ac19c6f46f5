//! Connections to other replicas: plain, and with the feature `client` over TLS.

use std::time::Duration;

use bytes::Bytes;
use couplet_core::Error;
use http::{Uri, uri::Scheme};
use http_body_util::Full;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};

#[cfg(feature = "client")]
use crate::client::tls::Tls;

#[cfg(feature = "client")]
pub(crate) type Connector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "client"))]
pub(crate) type Connector = HttpConnector;

/// How other replicas are connected to.
#[derive(Clone)]
pub(crate) struct Dial {
    #[cfg(feature = "client")]
    tls: Tls,
    #[cfg(feature = "client")]
    config: rustls::ClientConfig,
}

impl Dial {
    /// The URLs that can be used, for messages.
    #[cfg(feature = "client")]
    pub(crate) const URLS: &str = "`http://host:port/path` or `https://host:port/path`";
    #[cfg(not(feature = "client"))]
    pub(crate) const URLS: &str = "`http://host:port/path`";

    #[cfg(feature = "client")]
    pub(crate) fn new() -> Result<Self, Error> {
        #[cfg_attr(not(feature = "system-roots"), expect(unused_mut, reason = "there are no others"))]
        let mut tls = Tls::default();
        #[cfg(feature = "system-roots")]
        {
            tls.system_roots = true;
        }
        Ok(Self { config: tls.clone().build()?, tls })
    }

    #[cfg(not(feature = "client"))]
    #[expect(clippy::unnecessary_wraps, reason = "TLS may not be available")]
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self {})
    }

    /// The same with more trusted certificates.
    #[cfg(feature = "client")]
    pub(crate) fn trusting(mut self, pem: &[u8]) -> Result<Self, Error> {
        self.tls.add_roots(pem);
        self.config = self.tls.clone().build()?;
        Ok(self)
    }

    pub(crate) fn client(&self) -> Client<Connector, Full<Bytes>> {
        /// The timeout for a connection.
        const CONNECT: Duration = Duration::from_secs(2);
        /// The timeout of an idle connection: shorter than a lame-duck time, in which a replica that shuts down closes the
        /// connections that are used. A request on a connection that is being closed would have no known outcome.
        const IDLE: Duration = Duration::from_millis(500);
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        #[cfg(feature = "client")]
        let connector = {
            connector.enforce_http(false);
            let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(self.config.clone());
            builder.https_or_http().enable_http1().wrap_connector(connector)
        };
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(32)
            .build(connector)
    }
}

/// Whether a URL is one of a replica.
pub(crate) fn is_reachable(uri: &Uri) -> bool {
    let is_known = |scheme: &Scheme| *scheme == Scheme::HTTP || cfg!(feature = "client") && *scheme == Scheme::HTTPS;
    uri.scheme().is_some_and(is_known) && uri.authority().is_some()
}
