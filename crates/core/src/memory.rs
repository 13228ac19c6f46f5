//! A client and a server in one program, without bytes in between.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    client::{connection::ClientConnection, exchange::Inbound},
    limits::Limits,
    message::{oversized::Oversized, text::EncodedMessage},
    server::connection::ServerConnection,
    service::Service,
    transport::Connected,
};

/// Connects a client to a service. The connection lives as long as its driver is polled, and the driver ends when the
/// client closes it.
pub fn connect(
    service: Arc<dyn Service>,
    server_limits: &Limits,
    inbound: Arc<dyn Inbound>,
    client_limits: &Limits,
) -> Connected {
    let most = (server_limits.message, client_limits.message);
    let (mut link, handle) = ClientConnection::new(inbound, client_limits.clone());
    let mut server = ServerConnection::new(service, server_limits.clone());
    let driver = Box::pin(poll_fn(move |cx| pump(&mut link, &mut server, most, cx).map(Ok)));
    Connected { channel: Arc::new(handle), driver }
}

/// Moves messages both ways until neither side has one. `most` is how large they may be for the server and the client.
fn pump(
    link: &mut ClientConnection,
    server: &mut ServerConnection,
    most: (usize, usize),
    cx: &mut Context<'_>,
) -> Poll<()> {
    loop {
        let mut moved = false;
        while server.wants_input() {
            match link.poll_send(cx) {
                Poll::Ready(Some(text)) if text.len() > most.0 => server.receive_too_long(&lost(text)),
                Poll::Ready(Some(text)) => server.receive(text.into_bytes()),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => break,
            }
            moved = true;
        }
        while link.wants_input() {
            match server.poll_send(cx) {
                Poll::Ready(Some(text)) if text.len() > most.1 => link.receive_too_long(&lost(text)),
                Poll::Ready(Some(text)) => link.receive(text.into_bytes()),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => break,
            }
            moved = true;
        }
        if !moved {
            return Poll::Pending;
        }
    }
}

fn lost(text: EncodedMessage) -> Oversized {
    Oversized::of(&text.into_bytes())
}
