//! A client and a server in one process, without bytes in between.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    client::{channel::Inbound, connection::ClientConnection},
    limits::Limits,
    message::oversized::Oversized,
    server::connection::ServerConnection,
    service::Service,
    transport::{Connected, background::Background, connection::Connection},
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
    let (mut client, handle) = ClientConnection::new(inbound, client_limits.clone());
    let mut background = Background::of(&*service);
    let mut server = ServerConnection::new(service, server_limits.clone());
    let driver = Box::pin(poll_fn(move |cx| {
        background.poll(cx);
        exchange(&mut client, &mut server, most, cx).map(Ok)
    }));
    Connected { channel: Arc::new(handle), driver }
}

/// Moves messages both ways until neither side has one. `most` is the size of a message for the server and the client.
fn exchange(
    client: &mut ClientConnection,
    server: &mut ServerConnection,
    most: (usize, usize),
    cx: &mut Context<'_>,
) -> Poll<()> {
    let mut both = || Some(forward(client, server, most.0, cx)? | forward(server, client, most.1, cx)?);
    loop {
        match both() {
            Some(true) => {}
            Some(false) => return Poll::Pending,
            None => return Poll::Ready(()),
        }
    }
}

/// Moves messages one way; whether there were any, or `None` if there will be no other.
fn forward(from: &mut impl Connection, to: &mut impl Connection, most: usize, cx: &mut Context<'_>) -> Option<bool> {
    let mut moved = false;
    while to.wants_input() {
        match from.poll_send(cx) {
            Poll::Ready(Some(text)) if text.len() > most => to.receive_oversized(&Oversized::of(&text.into_bytes())),
            Poll::Ready(Some(text)) => to.receive(text.into_bytes()),
            Poll::Ready(None) => return None,
            Poll::Pending => return Some(moved),
        }
        moved = true;
    }
    // What is full on the other side does not hold up the handlers on this one.
    from.poll_run(cx);
    Some(moved)
}
