//! TLS: which certificates of servers are trusted, and which certificate the client presents.

use std::sync::Arc;

use couplet_core::{Error, ErrorKind};
use rustls::{
    ClientConfig, RootCertStore,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};

/// The TLS settings of a client.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// A whole configuration in the place of everything below.
    pub(crate) config: Option<ClientConfig>,
    /// Whether the roots are those of the system instead of the compiled-in ones.
    #[cfg(feature = "system-roots")]
    pub(crate) system_roots: bool,
    extra_roots: Vec<CertificateDer<'static>>,
    identity: Option<(Vec<CertificateDer<'static>>, Arc<PrivateKeyDer<'static>>)>,
    pub(crate) accept_invalid: bool,
    /// The first setting that could not be read.
    wrong: Option<Error>,
}

impl Tls {
    pub(crate) fn add_roots(&mut self, pem: &[u8]) {
        match certificates(pem) {
            Ok(found) => self.extra_roots.extend(found),
            Err(error) => self.refuse(error),
        }
    }

    pub(crate) fn present(&mut self, certificate: &[u8], key: &[u8]) {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| {
            wrong("the PEM has no private key that can be read; decrypt an encrypted key first").with_source(e)
        });
        match certificates(certificate).and_then(|chain| Ok((chain, Arc::new(key?)))) {
            Ok(identity) => self.identity = Some(identity),
            Err(error) => self.refuse(error),
        }
    }

    fn refuse(&mut self, error: Error) {
        self.wrong.get_or_insert(error);
    }

    /// The configuration that the settings amount to.
    pub(crate) fn build(mut self) -> Result<ClientConfig, Error> {
        if let Some(error) = self.wrong.take() {
            return Err(error);
        }
        if let Some(config) = self.config.take() {
            return if self.is_default() {
                Ok(config)
            } else {
                Err(wrong("a whole TLS configuration takes no others"))
            };
        }
        let provider = Arc::new(ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let versions = versions.map_err(|e| wrong("TLS cannot be set up").with_source(e))?;
        let verified = if self.accept_invalid {
            tracing::warn!(
                "certificates of servers are not verified: anyone on the network can read and change requests"
            );
            versions.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        } else {
            versions.with_root_certificates(self.roots()?)
        };
        match self.identity {
            None => Ok(verified.with_no_client_auth()),
            Some((chain, key)) => verified
                .with_client_auth_cert(chain, key.clone_key())
                .map_err(|e| wrong("the client's certificate and its key do not belong together").with_source(e)),
        }
    }

    fn is_default(&self) -> bool {
        #[cfg(feature = "system-roots")]
        let compiled_in = !self.system_roots;
        #[cfg(not(feature = "system-roots"))]
        let compiled_in = true;
        compiled_in && self.extra_roots.is_empty() && self.identity.is_none() && !self.accept_invalid
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        #[cfg(feature = "system-roots")]
        let mut roots = if self.system_roots { system_roots()? } else { mozilla_roots() };
        #[cfg(not(feature = "system-roots"))]
        let mut roots = mozilla_roots();
        for certificate in &self.extra_roots {
            let added = roots.add(certificate.clone());
            added.map_err(|e| wrong("a certificate to be trusted is not one of X.509").with_source(e))?;
        }
        Ok(roots)
    }
}

fn mozilla_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

/// The roots of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`. A system without any, such as an image with one
/// program in it, gets the compiled-in ones; but what the environment names has to be there.
#[cfg(feature = "system-roots")]
fn system_roots() -> Result<RootCertStore, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        for error in &found.errors {
            tracing::debug!(%error, "a trusted certificate of the system cannot be read");
        }
        return Ok(roots);
    }
    if let Some(name) = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find(|name| std::env::var_os(name).is_some()) {
        let error = wrong(&format!("there is no certificate where `{name}` leads; it has to name PEM files"));
        return Err(match found.errors.into_iter().next() {
            Some(cause) => error.with_source(cause),
            None => error,
        });
    }
    tracing::debug!("the system has no trusted certificates; those of Mozilla are used");
    Ok(mozilla_roots())
}

/// Every certificate of a PEM text, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|e| wrong("a certificate is not PEM that can be read").with_source(e))?;
    if found.is_empty() {
        return Err(wrong("the PEM has no certificate; it has to begin with `-----BEGIN CERTIFICATE-----`"));
    }
    Ok(found)
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Config, what)
}

/// Takes any certificate, as long as the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
