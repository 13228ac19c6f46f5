//! The gateway's side of the control socket.

use std::{io, path::Path};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    task::JoinSet,
    time::timeout,
};

use super::{LONGEST_REQUEST, PURPOSE};
use crate::{
    Gateway,
    socket::{OwnSocket, TIMEOUT},
};

/// The most connections at the same time. Further ones wait for at most the timeouts of those.
const CONNECTIONS: usize = 16;

/// The control socket of this process. Dropping it removes the file.
#[derive(Debug)]
pub struct ControlSocket(OwnSocket);

impl ControlSocket {
    /// Binds the socket of this process in a folder, which is created.
    ///
    /// # Errors
    /// If the folder is not private to the user, or the socket cannot be bound.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(folder: &Path) -> io::Result<Self> {
        OwnSocket::bind(folder, PURPOSE).map(Self)
    }

    /// Answers requests about a gateway, until the future is dropped.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn serve(&self, gateway: &Gateway) {
        let mut connections = JoinSet::new();
        loop {
            while connections.len() >= CONNECTIONS {
                connections.join_next().await;
            }
            tokio::select! {
                stream = self.0.accept() => {
                    connections.spawn(respond(stream, gateway.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// Answers the request of a connection. A client that is too slow gets nothing.
async fn respond(stream: UnixStream, gateway: Gateway) {
    let (reader, mut writer) = stream.into_split();
    let mut line = Vec::new();
    let mut reader = BufReader::new(reader.take(LONGEST_REQUEST));
    // One that sends nothing has looked whether the gateway runs.
    let Ok(Ok(1..)) = timeout(TIMEOUT, reader.read_until(b'\n', &mut line)).await else { return };
    let mut text = gateway.control(&line).to_string();
    text.push('\n');
    let _ = timeout(TIMEOUT, async {
        writer.write_all(text.as_bytes()).await?;
        writer.shutdown().await
    })
    .await;
}
