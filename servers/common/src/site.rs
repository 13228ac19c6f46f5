//! The flags of an HTTP endpoint: path, allowed hosts and origins, proxies, limits.

use std::time::Duration;

use couplet::http::server::{Endpoint, HttpLimits, HttpTransport, Network, TrustedProxies};

use crate::{files, socket::Socket};

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
    /// Interval of keep-alive comments on silent streams (default: 15); must be shorter than the timeouts of load balancers
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", value_parser = seconds)]
    pub keep_alive: Option<Duration>,
    /// Believe the X-Forwarded-For, -Proto and -Host headers of this proxy: an address, a network such as 10.0.0.0/8, or
    /// unix
    #[arg(long, help_heading = "HTTP", value_name = "NETWORK", value_parser = network)]
    pub trust_proxy: Vec<Network>,
    /// Read the Forwarded header of trusted proxies (RFC 7239), instead of X-Forwarded-*
    #[arg(long, help_heading = "HTTP", requires = "trust_proxy")]
    pub forwarded: bool,
    /// Expect the PROXY protocol (v1 or v2) on connections of this load balancer: an address, a network, or unix
    #[arg(long, help_heading = "HTTP", value_name = "NETWORK", value_parser = network)]
    pub proxy_protocol: Vec<Network>,
    /// Serve metrics for Prometheus at this address (127.0.0.1:9464, or a port alone), with the path /metrics
    #[arg(long, help_heading = "HTTP", value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// After SIGTERM, serve for this long while /ready answers 503, so that load balancers notice
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub lame_duck: Duration,
    /// Grace period for running calls after SIGTERM or SIGINT; a second signal stops at once
    #[arg(long, help_heading = "HTTP", value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub grace: Duration,
}

impl SiteArgs {
    /// Creates the transport on a socket. The process may open as many files as the limits require from then on, if the
    /// system allows that; otherwise there is a warning in the log.
    #[must_use]
    pub fn transport(&self, socket: Socket) -> HttpTransport {
        let (site, limits) = (self.clone(), self.limits());
        files::allow(limits.connections);
        let proxies = TrustedProxies::new(self.trust_proxy.iter().copied());
        let transport = socket
            .into_transport()
            .path(self.path.clone())
            .limits(limits)
            .trust_proxy(if self.forwarded { proxies.standard_header() } else { proxies })
            .proxy_protocol(self.proxy_protocol.iter().copied())
            .lame_duck(self.lame_duck)
            .grace(self.grace);
        transport.endpoint(move |endpoint| site.configure(endpoint))
    }

    /// Configures an endpoint: its limits, allowed hosts and origins, HTTP+SSE. [`SiteArgs::transport`] does so with its
    /// own; this is for further ones.
    #[must_use]
    pub fn configure(&self, endpoint: Endpoint) -> Endpoint {
        let endpoint = endpoint.limits(self.limits());
        let endpoint = self.allow_host.iter().fold(endpoint, Endpoint::allow_host);
        let endpoint = self.allow_origin.iter().fold(endpoint, Endpoint::allow_origin);
        if self.sse { endpoint.http_sse() } else { endpoint }
    }

    /// Returns the longest time of a graceful shutdown.
    #[must_use]
    pub fn shutdown_time(&self) -> Duration {
        self.lame_duck + self.grace
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
        limits.keep_alive = self.keep_alive.unwrap_or(limits.keep_alive);
        // The limits per caller are at most the total limits.
        limits.requests_per_address = limits.requests_per_address.min(limits.requests);
        limits.sessions_per_address = limits.sessions_per_address.min(limits.sessions);
        limits.streams_per_address = limits.streams_per_address.min(limits.streams);
        limits.requests_per_principal = limits.requests_per_principal.min(limits.requests);
        limits.sessions_per_principal = limits.sessions_per_principal.min(limits.sessions);
        limits.streams_per_principal = limits.streams_per_principal.min(limits.streams);
        limits
    }
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

fn network(text: &str) -> Result<Network, String> {
    text.parse().map_err(|error: couplet::Error| error.to_string())
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
        let all = "x --max-body 64K --max-connections 9 --max-requests 8 --max-sessions 7 --max-streams 6 --session-idle 5 --keep-alive 4";
        let limits = Flags::parse_from(all.split(' ')).site.limits();
        assert_eq!((limits.body, limits.connections, limits.requests), (65_536, 9, 8));
        assert_eq!((limits.sessions, limits.streams, limits.idle), (7, 6, Duration::from_secs(5)));
        assert_eq!(limits.keep_alive, Duration::from_secs(4));
        assert_eq!((limits.requests_per_principal, limits.sessions_per_principal), (8, 7));
        assert_eq!((limits.requests_per_address, limits.sessions_per_address, limits.streams_per_address), (8, 7, 6));
        assert_eq!(Flags::parse_from(["x"]).site.limits(), HttpLimits::default());
    }

    #[test]
    fn proxies_and_times_are_flags() {
        let all = "x --trust-proxy 10.0.0.0/8 --trust-proxy unix --forwarded --proxy-protocol ::1 --lame-duck 2.5";
        let site = Flags::parse_from(all.split(' ')).site;
        let names: Vec<_> = site.trust_proxy.iter().chain(&site.proxy_protocol).map(Network::to_string).collect();
        assert_eq!(names, ["10.0.0.0/8", "unix", "::1"]);
        assert!(site.forwarded);
        assert_eq!(site.shutdown_time(), Duration::from_millis(12_500));
        for (flags, says) in [
            ("x --trust-proxy 10.0.0.0/99", "expected an address, a network such as 10.0.0.0/8, or unix"),
            ("x --forwarded", "--trust-proxy"),
            ("x --lame-duck soon", "expected a number of seconds"),
        ] {
            let error = Flags::try_parse_from(flags.split(' ')).err().expect(flags).to_string();
            assert!(error.contains(says), "{flags}: {error}");
        }
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
