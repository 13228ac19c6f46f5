//! A client's channel whose end can be waited for, also while a write is stuck.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};

use bytes::Bytes;
use couplet_core::{Channel, ClientHandle, Dialect, Exchange, Outgoing, sync::lock};
use couplet_types::RequestId;

/// The channel of a client to a child process.
pub(crate) struct Leash {
    handle: ClientHandle,
    closing: Closing,
}

impl Leash {
    pub(crate) fn new(handle: ClientHandle) -> (Arc<Self>, Closing) {
        let closing = Closing::default();
        (Arc::new(Self { handle, closing: closing.clone() }), closing)
    }
}

impl Channel for Leash {
    fn next_id(&self) -> RequestId {
        self.handle.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        self.handle.open(request)
    }

    fn notify(&self, text: Bytes) {
        self.handle.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.handle.agree(dialect);
    }

    fn close(&self) {
        self.handle.close();
        self.closing.close();
    }

    fn note(&self) -> Option<String> {
        self.handle.note()
    }

    fn transport(&self) -> Option<&'static str> {
        self.handle.transport()
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether the client has closed the connection.
#[derive(Clone, Default)]
pub(crate) struct Closing(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    closed: bool,
    waker: Option<Waker>,
}

impl Closing {
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.0).closed
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn closed(&self) {
        poll_fn(|cx| {
            let mut state = lock(&self.0);
            if state.closed {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn close(&self) {
        let waker = {
            let mut state = lock(&self.0);
            state.closed = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
