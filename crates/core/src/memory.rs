//! A client and a server in one program, without bytes in between.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{exchange::Inbound, limits::Limits, link::Link, serve::Connection, service::Service, transport::Connected};

/// Connects a client to a service. The connection lives as long as its driver is polled, and the driver ends when the
/// client closes it.
pub fn connect(
    service: Arc<dyn Service>,
    server_limits: &Limits,
    inbound: Arc<dyn Inbound>,
    client_limits: &Limits,
) -> Connected {
    let (mut link, handle) = Link::new(inbound, client_limits.clone());
    let mut server = Connection::new(service, server_limits.clone());
    let driver = Box::pin(poll_fn(move |cx| pump(&mut link, &mut server, cx).map(Ok)));
    Connected { channel: Arc::new(handle), driver }
}

/// Moves messages both ways until neither side has one.
fn pump(link: &mut Link, server: &mut Connection, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let mut moved = false;
        while server.wants_input() {
            match link.poll_send(cx) {
                Poll::Ready(Some(text)) => server.receive(text.into_bytes()),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => break,
            }
            moved = true;
        }
        while link.wants_input() {
            match server.poll_send(cx) {
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
