//! The sockets that a program listens on.

use std::{error, fmt, io};

use couplet::http::server::HttpTransport;
use tokio::net::TcpListener;

use crate::site::SiteArgs;

/// The address that means a socket of systemd.
const SYSTEMD: &str = "systemd";

/// The flags that select the socket of an HTTP endpoint.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SocketArgs {
    /// Listen on this address (127.0.0.1:3001, or a port alone) for HTTP, instead of stdio; `systemd` is the socket that
    /// systemd passes
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,
    /// Listen on this Unix domain socket for HTTP, instead of stdio
    #[cfg(unix)]
    #[arg(long, help_heading = "HTTP", value_name = "PATH", conflicts_with = "http")]
    pub unix: Option<std::path::PathBuf>,
    /// Permissions of the Unix domain socket, in octal (default: 600); 660 lets a reverse proxy of the same group connect
    #[cfg(unix)]
    #[arg(long, help_heading = "HTTP", value_name = "MODE", requires = "unix", value_parser = mode)]
    pub unix_mode: Option<u32>,
    /// Group of the Unix domain socket: a name of /etc/group, or a number
    #[cfg(unix)]
    #[arg(long, help_heading = "HTTP", value_name = "GROUP", requires = "unix", value_parser = crate::group::find)]
    pub unix_group: Option<u32>,
}

impl SocketArgs {
    /// Returns whether the program serves HTTP.
    #[must_use]
    pub fn is_http(&self) -> bool {
        #[cfg(unix)]
        if self.unix.is_some() {
            return true;
        }
        self.http.is_some()
    }

    /// Opens the socket, and the one of the metrics; `None` if the program serves stdio.
    ///
    /// # Errors
    /// If an address is invalid, in use, or not permitted, or systemd passes no socket.
    pub async fn bind(&self, site: &SiteArgs) -> Result<Option<Socket>, BindError> {
        #[cfg(unix)]
        if let Some(path) = &self.unix {
            let file = SocketFile { path: path.clone(), mode: self.unix_mode, group: self.unix_group };
            return Ok(Some(Socket { place: Place::File(file), metrics: metrics(site).await? }));
        }
        match &self.http {
            Some(address) => bind(address, site).await.map(Some),
            None => Ok(None),
        }
    }
}

/// The socket of an HTTP endpoint, and the one of its metrics.
#[derive(Debug)]
pub struct Socket {
    place: Place,
    metrics: Option<TcpListener>,
}

#[derive(Debug)]
enum Place {
    Tcp(TcpListener),
    #[cfg(unix)]
    File(SocketFile),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

/// A Unix domain socket that is bound when the serving begins.
#[cfg(unix)]
#[derive(Debug)]
struct SocketFile {
    path: std::path::PathBuf,
    mode: Option<u32>,
    group: Option<u32>,
}

impl Socket {
    /// Returns the URL of the endpoint, or the path of its Unix domain socket.
    #[must_use]
    pub fn url(&self, site: &SiteArgs) -> String {
        match &self.place {
            Place::Tcp(listener) => format!("http://{}{}", address_of(listener), site.path),
            #[cfg(unix)]
            Place::File(file) => format!("unix:{}", file.path.display()),
            #[cfg(unix)]
            Place::Unix(listener) => {
                let path = listener.local_addr().ok().and_then(|at| Some(at.as_pathname()?.display().to_string()));
                format!("unix:{}", path.unwrap_or_default())
            }
        }
    }

    /// Returns whether only programs of this machine can connect.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.place {
            Place::Tcp(listener) => listener.local_addr().is_ok_and(|address| address.ip().is_loopback()),
            #[cfg(unix)]
            Place::File(_) | Place::Unix(_) => true,
        }
    }

    /// Returns the URL of the metrics, if they are served.
    #[must_use]
    pub fn metrics_url(&self) -> Option<String> {
        self.metrics.as_ref().map(|listener| format!("http://{}/metrics", address_of(listener)))
    }

    pub(crate) fn into_transport(self) -> HttpTransport {
        let transport = match self.place {
            Place::Tcp(listener) => HttpTransport::from_listener(listener),
            #[cfg(unix)]
            Place::File(SocketFile { path, mode, group }) => {
                let transport = couplet::http::listen_unix(path);
                let transport = mode.into_iter().fold(transport, HttpTransport::socket_mode);
                group.into_iter().fold(transport, HttpTransport::socket_group)
            }
            #[cfg(unix)]
            Place::Unix(listener) => HttpTransport::from_unix_listener(listener),
        };
        self.metrics.into_iter().fold(transport, HttpTransport::metrics_listener)
    }
}

fn address_of(listener: &TcpListener) -> String {
    listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string())
}

/// Opens the socket at an address, and the one of the metrics. A port alone is bound on the loopback interface, `systemd`
/// is the socket that systemd passes.
///
/// # Errors
/// If an address is invalid, in use, or not permitted, or systemd passes no socket.
pub async fn bind(address: &str, site: &SiteArgs) -> Result<Socket, BindError> {
    let place = if address == SYSTEMD {
        passed().map_err(|error| BindError { address: address.to_owned(), error })?
    } else {
        Place::Tcp(listen(address).await?)
    };
    Ok(Socket { place, metrics: metrics(site).await? })
}

async fn metrics(site: &SiteArgs) -> Result<Option<TcpListener>, BindError> {
    match &site.metrics {
        Some(address) => listen(address).await.map(Some),
        None => Ok(None),
    }
}

async fn listen(address: &str) -> Result<TcpListener, BindError> {
    let address = match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    };
    TcpListener::bind(&address).await.map_err(|error| BindError { address, error })
}

/// The socket that a service manager passes.
#[cfg(unix)]
fn passed() -> io::Result<Place> {
    let mut sockets = listenfd::ListenFd::from_env();
    match sockets.len() {
        0 => return Err(io::Error::other("no socket was passed: `LISTEN_FDS` and `LISTEN_PID` are not set")),
        1 => {}
        _ => return Err(io::Error::other("more than one socket was passed; the unit must have one `ListenStream=`")),
    }
    if let Ok(Some(listener)) = sockets.take_tcp_listener(0) {
        listener.set_nonblocking(true)?;
        return TcpListener::from_std(listener).map(Place::Tcp);
    }
    match sockets.take_unix_listener(0) {
        Ok(Some(listener)) => {
            listener.set_nonblocking(true)?;
            tokio::net::UnixListener::from_std(listener).map(Place::Unix)
        }
        _ => Err(io::Error::other("the socket that was passed does not listen for connections")),
    }
}

#[cfg(not(unix))]
fn passed() -> io::Result<Place> {
    Err(io::Error::other("this system has no systemd"))
}

#[cfg(unix)]
fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "expected an octal mode, such as 660".to_owned())
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
            _ if self.address == SYSTEMD => "start the program as the service of a systemd socket unit",
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

#[cfg(all(test, unix))]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        socket: SocketArgs,
    }

    #[test]
    fn a_unix_socket_has_a_mode_and_a_group() {
        let args = |flags: &str| Flags::try_parse_from(flags.split(' ')).map(|flags| flags.socket);
        let socket = args("x --unix /run/a.sock --unix-mode 660 --unix-group 7").expect("they are good");
        assert!(socket.is_http());
        assert_eq!((socket.unix_mode, socket.unix_group), (Some(0o660), Some(7)));
        assert!(!args("x").expect("none is good").is_http());
        for (flags, says) in [
            ("x --unix a --http 1", "cannot be used with"),
            ("x --unix-mode 660", "--unix"),
            ("x --unix a --unix-mode 999", "expected an octal mode"),
            ("x --unix a --unix-mode 7777", "expected an octal mode"),
            ("x --unix a --unix-group no-such-group-here", "no group"),
        ] {
            let error = args(flags).expect_err(flags).to_string();
            assert!(error.contains(says), "{flags}: {error}");
        }
    }
}
