//! The sockets that our own listener accepts connections from.

use std::{io, net::SocketAddr, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};

/// Something that connections come from.
pub(crate) trait Listen: Send {
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, and the address of its other end if it has one.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Io, Option<SocketAddr>)>> + Send;
}

/// A TCP listener.
#[derive(Debug)]
pub(crate) struct Tcp {
    listener: TcpListener,
    half_open: Duration,
}

impl Tcp {
    /// A listener whose connections are given up after that much time without a sign of life.
    pub(crate) fn new(listener: TcpListener, half_open: Duration) -> Self {
        Self { listener, half_open }
    }
}

impl Listen for Tcp {
    type Io = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        let (stream, remote) = self.listener.accept().await?;
        if let Err(error) = prepare(&stream, self.half_open) {
            // A peer that is gone already is found out soon enough.
            tracing::debug!(%error, "an option of a connection cannot be set");
        }
        Ok((stream, Some(remote)))
    }
}

/// Lets the system find out that the other end is gone: whether there is something to send or not.
fn prepare(stream: &TcpStream, half_open: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let at_least_a_second = |time: Duration| time.max(Duration::from_secs(1));
    let probes = TcpKeepalive::new().with_time(at_least_a_second(half_open / 2));
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "freebsd", windows))]
    let probes = probes.with_interval(at_least_a_second(half_open / 8)).with_retries(4);
    socket.set_tcp_keepalive(&probes)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket.set_tcp_user_timeout(Some(half_open))?;
    Ok(())
}

#[cfg(unix)]
pub(crate) mod unix {
    //! Unix domain sockets.

    use std::{
        fs, io,
        net::SocketAddr,
        os::unix::fs::{PermissionsExt, chown},
        path::Path,
    };

    use socket2::{Domain, SockAddr, Socket, Type};
    use tokio::net::{UnixListener, UnixStream};

    /// A Unix domain socket that listens.
    #[derive(Debug)]
    pub(crate) struct Unix(UnixListener);

    /// The permissions and the group of a socket's file.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct SocketAccess {
        pub(crate) mode: u32,
        pub(crate) group: Option<u32>,
    }

    impl From<UnixListener> for Unix {
        fn from(listener: UnixListener) -> Self {
            Self(listener)
        }
    }

    impl Unix {
        /// Listens at a path, in the place of a socket that nothing listens on any more.
        pub(crate) fn bind(path: &Path, access: SocketAccess) -> io::Result<Self> {
            let socket = claim(path, access)?;
            socket.listen(1024)?;
            socket.set_nonblocking(true)?;
            UnixListener::from_std(socket.into()).map(Self)
        }
    }

    impl super::Listen for Unix {
        type Io = UnixStream;

        async fn accept(&mut self) -> io::Result<(UnixStream, Option<SocketAddr>)> {
            self.0.accept().await.map(|(stream, _)| (stream, None))
        }
    }

    /// A socket that has its path and its mode and does not listen yet: nothing can connect to it before the mode is
    /// what it should be.
    fn claim(path: &Path, access: SocketAccess) -> io::Result<Socket> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let address = SockAddr::unix(path)?;
        match socket.bind(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(error);
                }
                fs::remove_file(path)?;
                socket.bind(&address)?;
            }
            bound => bound?,
        }
        // The group first: with the mode, its members may connect.
        let permit = || {
            if access.group.is_some() {
                chown(path, None, access.group)?;
            }
            fs::set_permissions(path, fs::Permissions::from_mode(access.mode))
        };
        if let Err(error) = permit() {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(socket)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_socket_has_its_mode_before_anything_can_connect() {
            let path = std::env::temp_dir().join(format!("couplet-mode-{}.sock", std::process::id()));
            // The group that a file of this process has anyway.
            drop(claim(&path, SocketAccess { mode: 0o600, group: None }).expect("the path is free"));
            let own = std::os::unix::fs::MetadataExt::gid(&fs::metadata(&path).expect("it is there"));
            for (mode, group) in [(0o600, None), (0o660, Some(own))] {
                let access = SocketAccess { mode, group };
                let socket = claim(&path, access).expect("the path is free");
                assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, mode);
                let refused = std::os::unix::net::UnixStream::connect(&path).expect_err("it does not listen yet");
                assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
                socket.listen(1).expect("it can listen");
                assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
                let taken = claim(&path, access).expect_err("something listens there");
                assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
            }
            fs::remove_file(&path).expect("it can be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::server::listen::socket::*;

    #[tokio::test]
    async fn a_connection_that_is_half_open_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let address = listener.local_addr().expect("it has an address");
        let mut listener = Tcp::new(listener, Duration::from_secs(60));
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (stream, remote) = accepted.expect("a client connects");
        assert_eq!(remote, client.expect("it can connect").local_addr().ok());
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().expect("it can be asked"));
        #[cfg(target_os = "linux")]
        {
            assert_eq!(socket.tcp_keepalive_time().expect("it can be asked"), Duration::from_secs(30));
            assert_eq!(socket.tcp_user_timeout().expect("it can be asked"), Some(Duration::from_secs(60)));
        }
    }
}
