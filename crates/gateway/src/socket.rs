//! Private Unix domain sockets of running gateways, a file for each process and purpose.

use std::{
    fs, io,
    os::unix::net::UnixStream as Connection,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::net::{UnixListener, UnixStream};

use crate::files;

/// The time that the other side has to read or write.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// A socket of this process. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl OwnSocket {
    /// Binds `PURPOSE-PID.sock` in a folder, which is created.
    pub(crate) fn bind(folder: &Path, purpose: &str) -> io::Result<Self> {
        files::private_folder(folder)?;
        let path = folder.join(format!("{purpose}-{}.sock", std::process::id()));
        // One of an earlier process with the same id.
        let _ = fs::remove_file(&path);
        Ok(Self { listener: UnixListener::bind(&path)?, path })
    }

    /// Accepts the next connection.
    pub(crate) async fn accept(&self) -> UnixStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => {
                    tracing::debug!(%error, "a private socket failed");
                    tokio::time::sleep(TIMEOUT).await;
                }
            }
        }
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the sockets of a purpose, with the ids of their processes, by id.
pub(crate) fn sockets(folder: &Path, purpose: &str) -> io::Result<Vec<(u32, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let process = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let id = name.strip_prefix(purpose)?.strip_prefix('-')?.strip_suffix(".sock")?.parse().ok()?;
        Some((id, path))
    };
    let mut sockets: Vec<_> = entries.flatten().filter_map(|entry| process(entry.path())).collect();
    sockets.sort();
    Ok(sockets)
}

/// Connects to a socket. That of a process that is gone is removed.
pub(crate) fn connect(path: &Path) -> io::Result<Connection> {
    let stream = Connection::connect(path).inspect_err(|error| {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            let _ = fs::remove_file(path);
        }
    })?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}
