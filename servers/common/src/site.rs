//! An HTTP endpoint: where it is, who may use it, what it may cost.

use std::{error, fmt, io, time::Duration};

use couplet::http::server::{HttpLimits, HttpTransport};
use tokio::net::TcpListener;

/// How a server is reached over HTTP, and what it may cost.
#[derive(clap::Args, Clone, Debug)]
pub struct SiteArgs {
    /// The path of the endpoint
    #[arg(long, help_heading = "HTTP", value_name = "PATH", default_value = "/mcp")]
    pub path: String,
    /// Answers requests to this host name, beside those of this machine
    #[arg(long, help_heading = "HTTP", value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Answers requests of pages from this origin, such as `https://app.example.com`
    #[arg(long, help_heading = "HTTP", value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Serves clients of HTTP+SSE, the transport of the first revision, too: they begin with a GET at the same path
    #[arg(long, help_heading = "HTTP")]
    pub sse: bool,
    /// The size of a request's body: 4M by default; K, M and G are for 1024
    #[arg(long, help_heading = "HTTP", value_name = "BYTES", value_parser = bytes)]
    pub max_body: Option<usize>,
    /// How many connections may be open: 4096 by default
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_connections: Option<usize>,
    /// How many requests may be under way: 4096 by default
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_requests: Option<usize>,
    /// How many sessions there may be: 16384 by default
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_sessions: Option<usize>,
    /// How many streams may be open: 1024 by default
    #[arg(long, help_heading = "HTTP", value_name = "COUNT")]
    pub max_streams: Option<usize>,
    /// After how many idle seconds a session ends: 1800 by default
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", value_parser = seconds)]
    pub session_idle: Option<Duration>,
    /// How many seconds running calls may take to finish after SIGTERM or SIGINT; a second signal ends them at once
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub grace: Duration,
}

impl SiteArgs {
    /// The endpoint on a listener.
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
        // What one caller may have is no more than what all may have.
        limits.requests_per_principal = limits.requests_per_principal.min(limits.requests);
        limits.sessions_per_principal = limits.sessions_per_principal.min(limits.sessions);
        limits.streams_per_principal = limits.streams_per_principal.min(limits.streams);
        limits
    }
}

/// An address that cannot be listened at.
#[derive(Debug)]
pub struct BindError {
    address: String,
    error: io::Error,
}

impl BindError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.error.kind() {
            io::ErrorKind::AddrInUse => "another program listens there; port 0 takes any that is free",
            io::ErrorKind::PermissionDenied => "ports below 1024 are for the system; choose another",
            _ => "an address is written as 127.0.0.1:8080",
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen at `{}`: {}", self.address, self.error)
    }
}

impl error::Error for BindError {}

/// Listens at an address; a port alone is one of this machine.
///
/// # Errors
/// When the address is none, is taken, or is not allowed.
pub async fn bind(address: &str) -> Result<TcpListener, BindError> {
    let address = match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    };
    TcpListener::bind(&address).await.map_err(|error| BindError { address, error })
}

/// The URL of an endpoint.
#[must_use]
pub fn url(listener: &TcpListener, site: &SiteArgs) -> String {
    let address = listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string());
    format!("http://{address}{}", site.path)
}

/// A number of bytes: `65536`, `64K`, `16M`, `1G`.
///
/// # Errors
/// When it is none, as a sentence.
pub fn bytes(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: usize = digits.parse().map_err(|_| "write a number of bytes, such as 65536, 64K or 16M".to_owned())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(|| "that is no size".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
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
