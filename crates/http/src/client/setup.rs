//! Setting up the client that sends requests.

use std::{fmt, net::SocketAddr};

use couplet_core::{Error, ErrorKind};
use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;

use super::{dial::Gate, hyper::HyperClient, proxy::Proxies};

/// A [`HyperClient`] that is not there yet.
#[must_use = "there is no client before `build`"]
#[derive(Default)]
pub struct HyperClientBuilder {
    tls: Option<ClientConfig>,
    proxies: Option<Result<Proxies, Error>>,
    gate: Gate,
}

impl HyperClientBuilder {
    /// Uses this configuration for https instead of the roots that Mozilla trusts: other roots, a certificate of the
    /// client. Which versions of HTTP are offered is decided by the client.
    pub fn tls(mut self, config: ClientConfig) -> Self {
        self.tls = Some(config);
        self
    }

    /// Reaches servers through this proxy, whatever the environment says, but for those that `except` names: hosts,
    /// domains and networks with commas between them, as in `NO_PROXY`.
    pub fn proxy(mut self, url: &str, except: &str) -> Self {
        self.proxies = Some(Proxies::all(url, except));
        self
    }

    /// Reaches servers without a proxy, whatever the environment says.
    pub fn direct(mut self) -> Self {
        self.proxies = Some(Ok(Proxies::none()));
        self
    }

    /// Shows every address to this function before a connection is opened, and opens none if it says no. It sees what
    /// a name has led to, so a name cannot lead where an address may not.
    ///
    /// Proxies are not shown: they are chosen by whoever runs the program. What is behind one is looked up there, and
    /// only servers that are named by their address are shown.
    ///
    /// ```
    /// use couplet_http::client::HyperClient;
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let client = HyperClient::builder().allow_address(|address| !address.ip().is_loopback()).build()?;
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_address(mut self, allows: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) -> Self {
        self.gate = Gate::new(allows);
        self
    }

    /// The client, with no connections yet.
    ///
    /// # Errors
    /// When TLS cannot be set up, or the proxy is not one.
    pub fn build(self) -> Result<HyperClient, Error> {
        let mut tls = self.tls.map_or_else(public_roots, Ok)?;
        // The connector says itself what it speaks, and panics if somebody else has.
        tls.alpn_protocols.clear();
        let proxies = self.proxies.unwrap_or_else(|| Ok(Proxies::from_env()))?;
        Ok(HyperClient::over(tls, proxies, self.gate))
    }
}

fn public_roots() -> Result<ClientConfig, Error> {
    let provider = rustls::crypto::ring::default_provider();
    let versions = ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions();
    let versions = versions.map_err(|e| Error::new(ErrorKind::Config, "TLS cannot be set up").with_source(e))?;
    Ok(versions.with_webpki_roots().with_no_client_auth())
}

impl fmt::Debug for HyperClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperClientBuilder").field("gate", &self.gate).finish_non_exhaustive()
    }
}
