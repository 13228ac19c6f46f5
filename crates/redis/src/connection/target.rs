//! The address of a server, and how a connection to it is opened.

#[cfg(feature = "sentinel")]
use std::io;
use std::{fmt, future::Future, pin::Pin};

use couplet_core::{Error, ErrorKind};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo, RedisResult,
    aio::MultiplexedConnection,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
};

#[cfg(feature = "sentinel")]
use super::sentinel::{Sentinels, check};
#[cfg(feature = "tls")]
use super::tls::Tls;

/// A server that can be connected to.
#[derive(Clone)]
pub(crate) struct Target {
    address: Address,
    settings: RedisConnectionInfo,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

#[derive(Clone)]
enum Address {
    Tcp(String, u16),
    #[cfg(unix)]
    Unix(std::path::PathBuf),
    #[cfg(feature = "sentinel")]
    Sentinels(Box<Sentinels>),
}

/// An open connection. Its socket closes when the last clone is dropped.
pub(crate) struct Connection {
    pub(crate) commands: MultiplexedConnection,
    driver: AbortHandle,
}

impl Target {
    /// Parses a URL: `redis://`, `rediss://` or `redis+unix://`.
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        // The parser's error is not shown: it could quote a password.
        let expected =
            "expected a URL such as `redis://user:password@host:6379/0`, `rediss://…` or `redis+unix:///path`";
        let wrong = || Error::new(ErrorKind::Config, expected);
        // TLS is not a matter of the client library here, so it gets the URL without.
        let (plain, is_tls) = match url.strip_prefix("rediss://") {
            Some(rest) => (format!("redis://{rest}"), true),
            None => (url.to_owned(), false),
        };
        let info = plain.into_connection_info().map_err(|_| wrong())?;
        let address = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host.clone(), *port),
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => Address::Unix(path.clone()),
            _ => return Err(wrong()),
        };
        let settings = info.redis_settings().clone();
        #[cfg(feature = "tls")]
        let tls = match &address {
            Address::Tcp(host, _) if is_tls => Some(Tls::new(host)?),
            _ => None,
        };
        #[cfg(not(feature = "tls"))]
        if is_tls {
            return Err(Error::new(ErrorKind::Config, "`rediss://` needs the feature `tls` of `couplet-redis`"));
        }
        Ok(Self {
            address,
            settings,
            #[cfg(feature = "tls")]
            tls,
        })
    }

    /// Another server with the same settings.
    #[cfg(any(feature = "cluster", feature = "sentinel"))]
    pub(crate) fn at(&self, host: &str, port: u16) -> Result<Self, Error> {
        Ok(Self {
            address: Address::Tcp(host.to_owned(), port),
            settings: self.settings.clone(),
            #[cfg(feature = "tls")]
            tls: self.tls.as_ref().map(|tls| tls.of(host)).transpose()?,
        })
    }

    /// The host and port.
    #[cfg(feature = "cluster")]
    pub(crate) fn place(&self) -> Option<(String, u16)> {
        match &self.address {
            Address::Tcp(host, port) => Some((host.clone(), *port)),
            _ => None,
        }
    }

    /// The primary that sentinels know, with the same settings.
    #[cfg(feature = "sentinel")]
    pub(crate) fn behind(mut self, sentinels: Sentinels) -> Self {
        self.address = Address::Sentinels(Box::new(sentinels));
        self
    }

    /// Replaces the trusted root certificates.
    #[cfg(feature = "tls")]
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), Error> {
        #[cfg(feature = "sentinel")]
        if let Address::Sentinels(sentinels) = &mut self.address {
            sentinels.each_mut().try_for_each(|sentinel| sentinel.trust(pem))?;
        }
        match &mut self.tls {
            Some(tls) => tls.trust(pem),
            None => Err(Error::new(ErrorKind::Config, "root certificates are for `rediss://` only")),
        }
    }

    /// The same server, for a connection that receives messages. Commands need nothing that is newer than RESP2, which
    /// more proxies know.
    pub(crate) fn for_messages(&self) -> Self {
        let mut target = self.clone();
        target.settings = target.settings.set_protocol(ProtocolVersion::RESP3);
        target
    }

    /// Opens a connection. It has no timeout of its own.
    pub(crate) async fn open(&self, config: AsyncConnectionConfig) -> RedisResult<Connection> {
        #[cfg(feature = "sentinel")]
        if let Address::Sentinels(sentinels) = &self.address {
            let (host, port) = sentinels.primary().await?;
            let connection = self.at(&host, port).map_err(io::Error::other)?.connect(config).await?;
            check(&connection).await?;
            return Ok(connection);
        }
        self.connect(config).await
    }

    /// Connects to the address itself.
    pub(crate) async fn connect(&self, config: AsyncConnectionConfig) -> RedisResult<Connection> {
        match &self.address {
            Address::Tcp(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port)).await?;
                socket.set_nodelay(true)?;
                #[cfg(feature = "tls")]
                if let Some(tls) = &self.tls {
                    return self.greet(tls.handshake(socket).await?, config).await;
                }
                self.greet(socket, config).await
            }
            #[cfg(unix)]
            Address::Unix(path) => self.greet(tokio::net::UnixStream::connect(path).await?, config).await,
            #[cfg(feature = "sentinel")]
            Address::Sentinels(_) => Err(io::Error::other("sentinels have no address of their own").into()),
        }
    }

    async fn greet<S>(&self, socket: S, config: AsyncConnectionConfig) -> RedisResult<Connection>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        // The timeout is around the whole operation, where it can replace the connection.
        let config = config.set_response_timeout(None).set_connection_timeout(None);
        let (commands, driver) = MultiplexedConnection::new_with_config(&self.settings, socket, config).await?;
        let driver: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(driver);
        Ok(Connection { commands, driver: tokio::spawn(driver).abort_handle() })
    }
}

impl Connection {
    /// Whether the server has closed it.
    pub(crate) fn is_closed(&self) -> bool {
        self.driver.is_finished()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The address without user name and password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            #[cfg(unix)]
            Address::Unix(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "sentinel")]
            Address::Sentinels(sentinels) => sentinels.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for (url, shown) in [
            ("redis://localhost", Some("localhost:6379")),
            ("redis://ann:secret@cache.example:7000/3", Some("cache.example:7000")),
            ("redis://[::1]:7000", Some("::1:7000")),
            #[cfg(unix)]
            ("redis+unix:///run/redis.sock", Some("/run/redis.sock")),
            #[cfg(feature = "tls")]
            ("rediss://:secret@cache.example", Some("cache.example:6379")),
            ("http://localhost", None),
            ("redis://:secret@localhost:port", None),
            ("", None),
        ] {
            match Target::parse(url) {
                Ok(target) => assert_eq!(Some(target.to_string().as_str()), shown, "{url}"),
                Err(error) => {
                    assert_eq!(shown, None, "{url}: {error}");
                    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
                }
            }
        }
    }
}
