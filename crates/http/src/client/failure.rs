//! The reasons why a server could not be reached.

use std::{error::Error as StdError, io};

use couplet_core::Error;
use rustls::{AlertDescription, CertificateError};

/// The reason why a server could not be reached, as far as it is known: for programs that give advice.
///
/// ```
/// use couplet_core::{Error, ErrorKind};
/// use couplet_http::client::ConnectFailure;
///
/// fn hint(error: &Error) -> Option<&'static str> {
///     match ConnectFailure::of(error)? {
///         ConnectFailure::UnknownAuthority => Some("name the certificate of the authority with `--cacert`"),
///         _ => None,
///     }
/// }
/// assert_eq!(hint(&Error::new(ErrorKind::Transport, "no")), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// The server's certificate was issued by an authority that is not trusted, or by itself.
    UnknownAuthority,
    /// The server's certificate is for other names.
    WrongName,
    /// The server's certificate has expired, or is not valid yet.
    Expired,
    /// Something else is wrong with the server's certificate.
    BadCertificate,
    /// The server demands a certificate of the client, or does not accept the one it got.
    ClientCertificate,
    /// An `https://` address leads to a server that does not speak TLS.
    NotTls,
    /// An `http://` address leads to a server that does not speak plain HTTP; it may speak TLS.
    NotHttp,
    /// The client was told to speak HTTP/2 without TLS, and the server does not.
    NotHttp2,
    /// The proxy on the way to the server cannot be reached, or does not connect to it.
    Proxy,
    /// Nothing listens at the address.
    Refused,
}

impl ConnectFailure {
    /// Returns the reason in an error and its sources; `None` if it is another one, or not known.
    pub fn of(error: &Error) -> Option<Self> {
        Self::within(error)
    }

    pub(crate) fn within(error: &(dyn StdError + 'static)) -> Option<Self> {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        Self::named(error)
            .or_else(|| inner.and_then(|inner| Self::within(inner)))
            .or_else(|| error.source().and_then(Self::within))
    }

    fn named(error: &(dyn StdError + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Self::of_tls(error);
        }
        if error.is::<NotHttp2>() {
            return Some(Self::NotHttp2);
        }
        if error.is::<ProxyFailure>() {
            return Some(Self::Proxy);
        }
        if error.downcast_ref().is_some_and(is_no_http) {
            return Some(Self::NotHttp);
        }
        let refused = error.downcast_ref().is_some_and(|e: &io::Error| e.kind() == io::ErrorKind::ConnectionRefused);
        refused.then_some(Self::Refused)
    }

    fn of_tls(error: &rustls::Error) -> Option<Self> {
        Some(match error {
            rustls::Error::InvalidCertificate(wrong) => match wrong {
                // A bad signature is what an authority that was made anew, under its old name, leaves behind.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::UnknownAuthority,
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Self::WrongName,
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Self::Expired,
                _ => Self::BadCertificate,
            },
            rustls::Error::AlertReceived(
                AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied,
            ) => Self::ClientCertificate,
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            _ => return None,
        })
    }

    /// Returns the explanation for a user, with advice.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::UnknownAuthority => {
                "has a certificate that is not trusted; add the certificate of the authority that issued it to the \
                 trusted ones"
            }
            Self::WrongName => {
                "has a certificate that is not trusted, because it is for other names; use a name that it has"
            }
            Self::Expired => {
                "has a certificate that is not trusted, because it has expired or is not valid yet; renew it, or set \
                 the clock"
            }
            Self::BadCertificate => "has a certificate that is not trusted",
            Self::ClientCertificate => "does not let the client in without a certificate that it trusts",
            Self::NotTls => "does not speak TLS; does its address begin with `http://`?",
            Self::NotHttp => "did not answer in plain HTTP; does its address begin with `https://`?",
            Self::NotHttp2 => {
                "did not answer in HTTP/2, which is demanded of it without TLS; it may speak HTTP/1.1 only"
            }
            Self::Proxy => "cannot be reached through the proxy",
            Self::Refused => "cannot be reached",
        }
    }
}

/// Whether what came is not HTTP at all. A head that is too large is; hyper has a predicate for that only in servers.
fn is_no_http(error: &hyper::Error) -> bool {
    error.is_parse() && !error.to_string().contains("too large")
}

/// A failure of a connection on which the server has sent nothing of HTTP/2.
#[derive(Debug)]
pub(crate) struct NotHttp2(pub(crate) h2::Error);

impl std::fmt::Display for NotHttp2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no HTTP/2")
    }
}

impl StdError for NotHttp2 {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

/// A failure at a proxy.
#[derive(Debug)]
pub(crate) struct ProxyFailure {
    /// The address of the proxy, without the login in it.
    pub(crate) proxy: String,
    pub(crate) cause: Box<dyn StdError + Send + Sync>,
}

impl std::fmt::Display for ProxyFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the proxy `{}` fails", self.proxy)
    }
}

impl StdError for ProxyFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}
