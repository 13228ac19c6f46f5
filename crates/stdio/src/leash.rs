//! A client's channel that ends the connection when its last owner is gone, and that can be seen to be closed even
//! while a write is stuck.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use bytes::Bytes;
use couplet_core::{Channel, ClientHandle, Dialect, Exchange, Outgoing};
use couplet_types::RequestId;

/// The channel that a client gets.
pub(crate) struct Leash {
    handle: ClientHandle,
    closing: Closing,
    transport: Option<&'static str>,
}

impl Leash {
    pub(crate) fn new(handle: ClientHandle, transport: Option<&'static str>) -> (Arc<Self>, Closing) {
        let closing = Closing::default();
        (Arc::new(Self { handle, closing: closing.clone(), transport }), closing)
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
        self.transport
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether the client wants the connection to end.
#[derive(Clone, Default)]
pub(crate) struct Closing(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    closed: bool,
    waker: Option<Waker>,
}

impl Closing {
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Waits until it does.
    #[cfg(feature = "child")]
    pub(crate) async fn closed(&self) {
        std::future::poll_fn(|cx| {
            let mut state = self.lock();
            if state.closed {
                return std::task::Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            std::task::Poll::Pending
        })
        .await;
    }

    fn close(&self) {
        let waker = {
            let mut state = self.lock();
            state.closed = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
