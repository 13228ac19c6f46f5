//! The life of a connection in HTTP/2 beside its requests: pings, and its end.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    task::{Context, Waker},
    time::Duration,
};

use bytes::Bytes;
use h2::{Ping, PingPong, client::Connection};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::{
    super::{
        plain::{IDLE_TIME, SWEEP},
        proxy,
    },
    Server,
    connection::{IDLE_CLONES, Streams},
};

/// Drives a connection until it ends, its peer is silent or it was idle for too long, and removes it then.
pub(super) async fn drive(
    mut connection: Connection<TokioIo<proxy::Stream>, Bytes>,
    mut pulse: Pulse,
    server: Weak<Server>,
) {
    let is_idle = loop {
        match timeout(SWEEP, &mut connection).await {
            Ok(end) => {
                if let Err(error) = end {
                    tracing::debug!(%error, "a connection ended");
                }
                break false;
            }
            Err(_) => match pulse.look() {
                Look::Alive => {}
                Look::Silent => {
                    tracing::debug!("a connection is closed: its peer does not answer pings");
                    break false;
                }
                Look::Idle => break true,
            },
        }
    };
    if let Some(server) = server.upgrade() {
        server.remove(&pulse.streams);
    }
    if is_idle {
        // It ends without a handle, after the request that may have come just now.
        let _ = connection.await;
    }
}

/// What is found of a connection, at each look.
enum Look {
    Alive,
    /// The last ping is not answered.
    Silent,
    /// It has no requests, and has had none for a while.
    Idle,
}

/// What is known of a connection from one look to the next.
pub(super) struct Pulse {
    pings: Option<PingPong>,
    is_pinged: bool,
    streams: Streams,
    /// The number of streams at the last look.
    before: usize,
    idle: Duration,
}

impl Pulse {
    pub(super) fn new(pings: Option<PingPong>, streams: Streams) -> Self {
        Self { pings, is_pinged: false, streams, before: 0, idle: Duration::ZERO }
    }

    /// Looks for the answer to the last ping, and sends one if a request waits.
    fn look(&mut self) -> Look {
        let now = self.streams.load(Ordering::Relaxed);
        let in_use = Arc::strong_count(&self.streams) > IDLE_CLONES;
        self.idle = if in_use || now != self.before { Duration::ZERO } else { self.idle + SWEEP };
        self.before = now;
        if let Some(pings) = &mut self.pings {
            if self.is_pinged && pings.poll_pong(&mut Context::from_waker(Waker::noop())).is_pending() {
                return Look::Silent;
            }
            self.is_pinged = in_use && pings.send_ping(Ping::opaque()).is_ok();
        }
        if self.idle >= IDLE_TIME { Look::Idle } else { Look::Alive }
    }
}
