//! A client and a server in one program, without bytes in between.

use std::{
    future::{Future, poll_fn},
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    exchange::Inbound,
    limits::Limits,
    link::{Handle, Link},
    serve::Connection,
    service::Service,
};

/// Connects a client to a service. The connection lives as long as the future is polled, and the future ends when
/// the client closes it.
pub fn connect(
    service: Arc<dyn Service>,
    server_limits: &Limits,
    inbound: Arc<dyn Inbound>,
    client_limits: &Limits,
) -> (Handle, impl Future<Output = ()> + Send + use<>) {
    let (mut link, handle) = Link::new(inbound, client_limits.clone());
    let mut server = Connection::new(service, server_limits.clone());
    let driver = poll_fn(move |cx| pump(&mut link, &mut server, cx));
    (handle, driver)
}

/// Moves messages both ways until neither side has one.
fn pump(link: &mut Link, server: &mut Connection, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let mut moved = false;
        while server.wants_input() {
            match link.poll_send(cx) {
                Poll::Ready(Some(text)) => server.receive(text),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => break,
            }
            moved = true;
        }
        while link.wants_input() {
            match server.poll_send(cx) {
                Poll::Ready(Some(text)) => link.receive(text),
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
