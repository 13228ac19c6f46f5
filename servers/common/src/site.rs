//! The flags of an HTTP endpoint: path, allowed hosts and origins, limits.

use std::{error, fmt, io, time::Duration};

use couplet::http::server::{HttpLimits, HttpTransport};
use tokio::net::TcpListener;

/// The flags of an HTTP endpoint.
#[derive(clap::Args, Clone, Debug)]
pub struct SiteArgs {
    /// Path of the endpoint
    #[arg(long, help_heading = "HTTP", value_name = "PATH", default_value = "/mcp")]
    pub path: String,
    /// Allow requests to this host name, in addition to loopback names
    #[arg(long, help_heading = "HTTP", value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Allow browser requests from this origin, such as `https://app.example.com`
    #[arg(long, help_heading = "HTTP", value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Serve the deprecated HTTP+SSE transport too, with a GET at the same path
    #[arg(long, help_heading = "HTTP")]
    pub sse: bool,
    /// Maximum size of a request body, such as 512K or 64M (default: 4M)
    #[arg(long, help_heading = "HTTP", value_name = "BYTES", value_parser = bytes)]
    pub max_body: Option<usize>,
    /// Maximum number of open connections (default: 4096)
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_connections: Option<usize>,
    /// Maximum number of concurrent requests (default: 4096)
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_requests: Option<usize>,
    /// Maximum number of sessions (default: 16384)
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_sessions: Option<usize>,
    /// Maximum number of open streams (default: 1024)
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_streams: Option<usize>,
    /// Idle timeout of sessions (default: 1800)
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", value_parser = seconds)]
    pub session_idle: Option<Duration>,
    /// Grace period for running calls after SIGTERM or SIGINT; a second signal stops at once
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub grace: Duration,
}

impl SiteArgs {
    /// Creates the transport on a listener.
    #[must_use]
    pub fn transport(&self, listener: TcpListener) -> HttpTransport {
        let site = self.clone();
        let transport =
            HttpTransport::from_listener(listener).path(self.path.clone()).limits(self.limits()).grace(self.grace);
        transport.endpoint(move |endpoint| {
            let endpoint = site.allow_host.into_iter().fold(endpoint, |endpoint, host| endpoint.allow_host(host));
            let endpoint =
                site.allow_origin.into_iter().fold(endpoint, |endpoint, origin| endpoint.allow_origin(origin));
            if site.sse { endpoint.http_sse() } else { endpoint }
        })
    }

    fn limits(&self) -> HttpLimits {
        let mut limits = HttpLimits::default();
        let set = |limit: &mut usize, wanted: Option<usize>| *limit = wanted.unwrap_or(*limit);
        set(&mut limits.body, self.max_body);
        set(&mut limits.connections, self.max_connections);
        set(&mut limits.requests, self.max_requests);
        set(&mut limits.sessions, self.max_sessions);
        set(&mut limits.streams, self.max_streams);
        limits.idle = self.session_idle.unwrap_or(limits.idle);
        // The limits per caller are at most the total limits.
        limits.requests_per_principal = limits.requests_per_principal.min(limits.requests);
        limits.sessions_per_principal = limits.sessions_per_principal.min(limits.sessions);
        limits.streams_per_principal = limits.streams_per_principal.min(limits.streams);
        limits
    }
}

/// The error for an address that cannot be bound.
#[derive(Debug)]
pub struct BindError {
    address: String,
    error: io::Error,
}

impl BindError {
    /// Returns a hint for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.error.kind() {
            io::ErrorKind::AddrInUse => "another program uses the address; port 0 selects a free port",
            io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; use another port",
            _ => "expected an address such as 127.0.0.1:8080",
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on `{}`: {}", self.address, self.error)
    }
}

impl error::Error for BindError {}

/// Binds an address; a port alone is bound on the loopback interface.
///
/// # Errors
/// If the address is invalid, in use, or not permitted.
pub async fn bind(address: &str) -> Result<TcpListener, BindError> {
    let address = match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    };
    TcpListener::bind(&address).await.map_err(|error| BindError { address, error })
}

/// Returns the URL of an endpoint.
#[must_use]
pub fn url(listener: &TcpListener, site: &SiteArgs) -> String {
    let address = listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string());
    format!("http://{address}{}", site.path)
}

/// Parses a number of bytes: `65536`, `64K`, `16M`, `1G`.
///
/// # Errors
/// If the text is not a size; the error is a message for the user.
pub fn bytes(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: usize =
        digits.parse().map_err(|_| "expected a number of bytes, such as 65536, 64K or 16M".to_owned())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(|| "the size is out of range".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        site: SiteArgs,
    }

    #[test]
    fn limits_are_set_by_flags() {
        let all =
            "x --max-body 64K --max-connections 9 --max-requests 8 --max-sessions 7 --max-streams 6 --session-idle 5";
        let limits = Flags::parse_from(all.split(' ')).site.limits();
        assert_eq!((limits.body, limits.connections, limits.requests), (65_536, 9, 8));
        assert_eq!((limits.sessions, limits.streams, limits.idle), (7, 6, Duration::from_secs(5)));
        assert_eq!((limits.requests_per_principal, limits.sessions_per_principal), (8, 7));
        assert_eq!(Flags::parse_from(["x"]).site.limits(), HttpLimits::default());
    }

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [("1", Some(1)), ("64K", Some(65_536)), ("16m", Some(16 << 20)), ("2G", Some(2 << 30))]
        {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
        for text in ["", "K", "0", "-1", "1.5M", "99999999999999999999G", "1é"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
