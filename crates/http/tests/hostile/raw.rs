//! Bytes as they are, on a socket.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, tcp::OwnedReadHalf},
    time::{sleep, timeout},
};

use crate::peer::PATIENCE;

/// What a peer sends: something first, and then the same over and over.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) first: Vec<u8>,
    pub(crate) then: Vec<u8>,
    pub(crate) times: usize,
    pub(crate) pause: Duration,
    /// Whether it says that nothing more comes.
    pub(crate) ends: bool,
}

impl Flow {
    pub(crate) fn once(text: impl Into<Vec<u8>>) -> Self {
        Self { first: text.into(), then: Vec::new(), times: 0, pause: Duration::ZERO, ends: false }
    }

    pub(crate) fn then(self, piece: impl Into<Vec<u8>>, times: usize) -> Self {
        Self { then: piece.into(), times, ..self }
    }

    pub(crate) fn slowly(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    pub(crate) fn ends(self) -> Self {
        Self { ends: true, ..self }
    }

    /// Writes for as long as the other side takes it; returns how many bytes it took.
    pub(crate) async fn write(self, socket: &mut (impl AsyncWrite + Unpin)) -> usize {
        if socket.write_all(&self.first).await.is_err() {
            return 0;
        }
        let mut sent = self.first.len();
        for _ in 0..self.times {
            if !self.pause.is_zero() {
                sleep(self.pause).await;
            }
            if socket.write_all(&self.then).await.is_err() {
                return sent;
            }
            sent += self.then.len();
        }
        if self.ends {
            let _ = socket.shutdown().await;
        }
        sent
    }
}

/// Sends a flow; returns all that comes back until the other side hangs up, and how much it took.
pub(crate) async fn send(address: &str, flow: Flow) -> (Vec<u8>, usize) {
    let socket = timeout(PATIENCE, TcpStream::connect(address)).await.expect("in time").expect("a server is there");
    let (mut reader, mut writer) = socket.into_split();
    let writing = tokio::spawn(async move {
        let sent = flow.write(&mut writer).await;
        (sent, writer)
    });
    let text = read_all(&mut reader).await;
    let (sent, _) = timeout(PATIENCE, writing).await.expect("the server hung up").expect("it does not panic");
    (text, sent)
}

/// Reads until the other side hangs up.
pub(crate) async fn read_all(reader: &mut OwnedReadHalf) -> Vec<u8> {
    let mut text = Vec::new();
    // A peer that still sends may be cut off harshly; what came before that counts.
    let _ = timeout(PATIENCE, reader.read_to_end(&mut text)).await.expect("the server hangs up in time");
    text
}

/// The same, for answers that are text.
pub(crate) async fn ask(address: &str, flow: Flow) -> (String, usize) {
    let (answer, sent) = send(address, flow).await;
    (String::from_utf8_lossy(&answer).into_owned(), sent)
}
