//! TLS to a server.

use std::{io, sync::Arc};

use couplet_core::{Error, ErrorKind};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// Verifies the host's name against the roots that Mozilla trusts.
    pub(crate) fn new(host: &str) -> Result<Self, Error> {
        let name = name(host)?;
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Ok(Self { config: config(roots)?, name })
    }

    /// The same for another host.
    #[cfg(any(feature = "cluster", feature = "sentinel"))]
    pub(crate) fn of(&self, host: &str) -> Result<Self, Error> {
        Ok(Self { config: self.config.clone(), name: name(host)? })
    }

    /// Replaces the roots by the certificates of a PEM file.
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), Error> {
        let wrong = || Error::new(ErrorKind::Config, "expected root certificates in PEM");
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.add(certificate.map_err(|_| wrong())?).map_err(|_| wrong())?;
        }
        if roots.is_empty() {
            return Err(wrong());
        }
        self.config = config(roots)?;
        Ok(())
    }

    pub(crate) async fn handshake(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(self.config.clone()).connect(self.name.clone(), socket).await
    }
}

fn name(host: &str) -> Result<ServerName<'static>, Error> {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let wrong = |_| Error::new(ErrorKind::Config, "the host of a `rediss://` URL must be a DNS name or an IP address");
    ServerName::try_from(host).map_err(wrong)
}

/// With ring, whichever other provider the program has.
fn config(roots: RootCertStore) -> Result<Arc<ClientConfig>, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::new(ErrorKind::Config, "TLS is not available").with_source(error))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
