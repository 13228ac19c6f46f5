//! The builder of the default HTTP client.

use std::{fmt, net::SocketAddr};

use couplet_core::Error;
use rustls::ClientConfig;

use super::{dial::Gate, hyper::HyperClient, proxy::Proxies, tls::Tls};

/// A builder of [`HyperClient`]s.
///
/// Certificates of servers are checked against the roots that Mozilla trusts, which are compiled in, if nothing else is
/// set. Settings that cannot be parsed are reported by [`build`](Self::build).
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use couplet_http::{client::HyperClient, connect};
///
/// // A company's own authority, besides the public ones, and a certificate of the client.
/// let client = HyperClient::builder()
///     .add_root_certificates_pem(&std::fs::read("company-ca.pem")?)
///     .client_certificate_pem(&std::fs::read("me.pem")?, &std::fs::read("me.key")?)
///     .build()?;
/// let target = connect("https://tools.example.com/mcp").client(Arc::new(client));
/// # drop(target);
/// # Ok(())
/// # }
/// ```
#[must_use = "there is no client before `build`"]
#[derive(Clone, Default)]
pub struct HyperClientBuilder {
    tls: Tls,
    proxies: Option<Result<Proxies, Error>>,
    gate: Gate,
    is_http2: bool,
}

impl HyperClientBuilder {
    /// Uses this configuration for https, for everything that the other methods do not cover. It cannot be combined
    /// with them. Which versions of HTTP are offered is decided by the client.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use couplet_http::client::HyperClient;
    /// use rustls::{ClientConfig, RootCertStore, crypto::ring};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    /// let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
    ///     .with_protocol_versions(&[&rustls::version::TLS13])?
    ///     .with_root_certificates(roots)
    ///     .with_no_client_auth();
    /// let only_tls13 = HyperClient::builder().tls(config).build()?;
    /// # drop(only_tls13);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tls(mut self, config: ClientConfig) -> Self {
        self.tls.config = Some(config);
        self
    }

    /// Checks certificates against the roots of the system instead of the compiled-in ones. `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name others, as they do for OpenSSL. On a system without any, the compiled-in ones are used.
    ///
    /// They are read by [`build`](Self::build), which takes a moment on some systems. It fails if a variable names
    /// files without a certificate.
    #[cfg(feature = "system-roots")]
    pub fn system_roots(mut self) -> Self {
        self.tls.system_roots = true;
        self
    }

    /// Trusts the certificates in this PEM text, too: those of authorities, or of single servers that signed their own.
    pub fn add_root_certificates_pem(mut self, pem: &[u8]) -> Self {
        self.tls.add_roots(pem);
        self
    }

    /// Presents this certificate to servers that ask for one (mutual TLS): a PEM text with the certificate and those
    /// that it is based on, and one with its private key, which must not be encrypted.
    pub fn client_certificate_pem(mut self, certificate: &[u8], key: &[u8]) -> Self {
        self.tls.present(certificate, key);
        self
    }

    /// Accepts any certificate of any server. **Anyone on the network can then read and change everything**, tokens
    /// included. A warning is logged for each client that is built like this.
    pub fn danger_accept_invalid_certificates(mut self) -> Self {
        self.tls.accept_invalid = true;
        self
    }

    /// Reaches servers through this proxy, whatever the environment says, but for those that `except` names: hosts,
    /// domains and networks with commas between them, as in `NO_PROXY`. This machine is always reached directly.
    ///
    /// ```
    /// use couplet_core::ErrorKind;
    /// use couplet_http::client::HyperClient;
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let client = HyperClient::builder().proxy("http://user:secret@proxy.internal:3128", "10.0.0.0/8,.internal").build()?;
    /// # drop(client);
    /// // Proxies of other kinds are refused, not passed by.
    /// let error = HyperClient::builder().proxy("socks5://proxy.internal:1080", "").build().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Config);
    /// # Ok(())
    /// # }
    /// ```
    pub fn proxy(mut self, url: &str, except: &str) -> Self {
        self.proxies = Some(Proxies::all(url, except));
        self
    }

    /// Reaches servers without a proxy, whatever the environment says.
    pub fn direct(mut self) -> Self {
        self.proxies = Some(Ok(Proxies::none()));
        self
    }

    /// Sets a predicate for the addresses that connections may be opened to. It is called with resolved addresses, so a
    /// name cannot lead to an address that is not allowed.
    ///
    /// Proxies are not checked: the user of the program has chosen them. Names behind a proxy are resolved there, so only
    /// servers that are named by their address are checked.
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

    /// Speaks HTTP/2 with servers at `http://` URLs, which must all speak it: without TLS there is no negotiation. All
    /// requests to a server share a connection, up to 100 at a time, which takes less processor time than HTTP/1.1 when
    /// many are sent at once. Over TLS the version is negotiated, and proxies get HTTP/1.1, with or without this.
    ///
    /// Servers of this crate speak both versions at one address. A server that does not is an error of kind
    /// [`Transport`](couplet_core::ErrorKind::Transport), with [`ConnectFailure::NotHttp2`](super::ConnectFailure::NotHttp2).
    ///
    /// ```no_run
    /// # use couplet_http as _;
    /// # async fn example() -> Result<(), couplet_core::Error> {
    /// use std::sync::Arc;
    ///
    /// use couplet_client::Client;
    /// use couplet_http::{client::HyperClient, connect};
    ///
    /// let http = Arc::new(HyperClient::builder().http2_prior_knowledge().build()?);
    /// let client = Client::new("demo", "1.0.0").connect(connect("http://10.0.0.7:8080/mcp").client(http)).await?;
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// ```
    pub fn http2_prior_knowledge(mut self) -> Self {
        self.is_http2 = true;
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    /// When a certificate or a key cannot be read, or the proxy is not one. The first mistake is reported, with the
    /// kind [`Config`](couplet_core::ErrorKind::Config):
    ///
    /// ```
    /// use couplet_core::ErrorKind;
    /// use couplet_http::client::HyperClient;
    ///
    /// let error = HyperClient::builder().add_root_certificates_pem(b"not a certificate").build().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Config);
    /// ```
    pub fn build(self) -> Result<HyperClient, Error> {
        let mut tls = self.tls.build()?;
        // The connector sets the protocols itself, and panics if they are set.
        tls.alpn_protocols.clear();
        let proxies = self.proxies.unwrap_or_else(|| Ok(Proxies::from_env()))?;
        Ok(HyperClient::over(tls, proxies, self.gate, self.is_http2))
    }
}

impl fmt::Debug for HyperClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperClientBuilder").field("gate", &self.gate).finish_non_exhaustive()
    }
}
