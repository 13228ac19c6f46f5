//! What a server that is a script reads.

use serde_json::Value;
use tokio::{io::AsyncReadExt, net::TcpStream};

/// Reads one request, its head and its message; nothing when there are no more.
pub(crate) async fn read_request(socket: &mut TcpStream) -> Option<(String, Value)> {
    let mut text = Vec::new();
    loop {
        if let Some(end) = text.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&text[..end]).into_owned();
            let length =
                head.lines().find_map(|l| l.strip_prefix("content-length: ")).map_or(0, |l| l.parse().unwrap());
            if text.len() >= end + 4 + length {
                return Some((head, serde_json::from_slice(&text[end + 4..]).unwrap_or_default()));
            }
        }
        if socket.read_buf(&mut text).await.ok()? == 0 {
            return None;
        }
    }
}
