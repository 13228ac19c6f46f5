//! Notifications for the service manager: the protocol of `sd_notify`, a datagram to the socket that `NOTIFY_SOCKET`
//! names.

use std::env;

/// Notifies the service manager that the program serves.
pub(crate) fn ready() {
    notify("READY=1");
}

/// Notifies the service manager that the program shuts down.
pub(crate) fn stopping() {
    notify("STOPPING=1");
}

fn notify(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "the service manager cannot be notified of `{state}`");
    }
}

#[cfg(unix)]
fn send(socket: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::unix::{
        ffi::OsStrExt,
        net::{SocketAddr, UnixDatagram},
    };

    let address = match socket.as_bytes().strip_prefix(b"@") {
        None => SocketAddr::from_pathname(socket)?,
        #[cfg(target_os = "linux")]
        Some(name) => <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)?,
        #[cfg(not(target_os = "linux"))]
        Some(_) => return Err(std::io::ErrorKind::Unsupported.into()),
    };
    let sender = UnixDatagram::unbound()?;
    // A manager that does not read must not stop the program.
    sender.set_nonblocking(true)?;
    sender.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(not(unix))]
fn send(_: &std::ffi::OsStr, _: &str) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_datagram_is_sent() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).expect("it is free");
        send(path.as_os_str(), "READY=1").expect("it listens");
        let mut text = [0; 64];
        let length = manager.recv(&mut text).expect("it was sent");
        assert_eq!(&text[..length], b"READY=1");
        drop(manager);
        assert!(send(path.as_os_str(), "READY=1").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_may_have_an_abstract_name() {
        use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};

        let name = format!("couplet-notify-{}", std::process::id());
        let manager =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("it is free");
        send(format!("@{name}").as_ref(), "STOPPING=1").expect("it listens");
        let mut text = [0; 64];
        let length = manager.recv(&mut text).expect("it was sent");
        assert_eq!(&text[..length], b"STOPPING=1");
    }
}
