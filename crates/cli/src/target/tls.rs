//! TLS options for URLs.

use std::{fs, path::PathBuf};

use clap::Args;
use couplet::http::client::{HyperClient, HyperClientBuilder};

use crate::{exit::Failure, output::Output};

/// The TLS options.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsArgs {
    /// Trust the CA certificates in this PEM file, in addition to the system's and those of SSL_CERT_FILE
    #[arg(long, help_heading = "Connection", value_name = "FILE")]
    pub(crate) cacert: Vec<PathBuf>,
    /// Client certificate (PEM)
    #[arg(long, help_heading = "Connection", value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, help_heading = "Connection", value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Do not verify the server's certificate; the connection can be intercepted
    #[arg(long, help_heading = "Connection")]
    pub(crate) insecure: bool,
}

impl TlsArgs {
    /// Whether any option is set.
    pub(crate) fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// Builds the settings of the HTTP client, for the server and the authorization server.
    ///
    /// # Errors
    /// If a file cannot be read. Its content is parsed when the connection is made.
    pub(crate) fn settings(&self, output: &Output) -> Result<HyperClientBuilder, Failure> {
        let read = |path: &PathBuf| fs::read(path).map_err(|e| Failure::file(path, "read", &e));
        let mut settings = HyperClient::builder().system_roots();
        for file in &self.cacert {
            settings = settings.add_root_certificates_pem(&read(file)?);
        }
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            settings = settings.client_certificate_pem(&read(cert)?, &read(key)?);
        }
        if self.insecure {
            output.warn("--insecure: the server's certificate is not verified");
            settings = settings.danger_accept_invalid_certificates();
        }
        Ok(settings)
    }
}
