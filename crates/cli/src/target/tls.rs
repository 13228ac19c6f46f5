//! Whom to trust on the way to a URL, and what to show there.

use std::{fs, path::PathBuf};

use clap::Args;
use couplet::http::client::{HyperClient, HyperClientBuilder};

use crate::{exit::Failure, output::Output};

/// Whom to trust, and what to show.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsArgs {
    /// Trusts the authorities in this file (PEM) too, beside those of the system and of SSL_CERT_FILE
    #[arg(long, help_heading = "Connection", value_name = "FILE")]
    pub(crate) cacert: Vec<PathBuf>,
    /// Shows the server this certificate (PEM)
    #[arg(long, help_heading = "Connection", value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, help_heading = "Connection", value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Does not check certificates: everything can be read and changed on the way
    #[arg(long, help_heading = "Connection")]
    pub(crate) insecure: bool,
}

impl TlsArgs {
    /// Whether anything is set.
    pub(crate) fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// How connections are made, to the server and to where one logs in.
    ///
    /// # Errors
    /// When a file cannot be read. What is in it is looked at when the connection is made.
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
            output.warn("--insecure: the certificate of the server is not checked");
            settings = settings.danger_accept_invalid_certificates();
        }
        Ok(settings)
    }
}
