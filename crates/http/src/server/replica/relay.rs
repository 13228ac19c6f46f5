//! The response of another replica, passed on as it comes.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;

use crate::server::{lock, request::admit::Admitted, stream::open_streams::Held};

/// A stream of events from another replica.
pub(crate) struct Relay {
    body: Arc<RelayBody>,
    /// Whether it belongs to no request, and is not waited for at the end.
    endless: bool,
    /// The request, which is under way for as long as this is here.
    _admitted: Admitted,
}

/// The body of the response; nothing once it is over.
pub(crate) struct RelayBody(Mutex<Option<Incoming>>);

impl RelayBody {
    pub(crate) fn new(body: Incoming) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(body))))
    }
}

impl Relay {
    pub(crate) fn new(body: Arc<RelayBody>, endless: bool, admitted: Admitted) -> Self {
        Self { body, endless, _admitted: admitted }
    }

    /// The next piece. A stream that breaks ends: its client resumes it.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, ending: bool) -> Poll<Option<Bytes>> {
        let mut body = lock(&self.body.0);
        let Some(incoming) = &mut *body else { return Poll::Ready(None) };
        if ending && self.endless {
            *body = None;
            return Poll::Ready(None);
        }
        loop {
            match std::task::ready!(Pin::new(&mut *incoming).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(data));
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "the stream of another replica broke");
                    break;
                }
                None => break,
            }
        }
        *body = None;
        Poll::Ready(None)
    }
}

impl Held for RelayBody {
    fn let_go(&self) {
        *lock(&self.0) = None;
    }
}

impl fmt::Debug for RelayBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayBody").finish_non_exhaustive()
    }
}
