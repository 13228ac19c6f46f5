//! Notifications of the server.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use couplet_core::{Change, message::Params};
use couplet_types::{
    Notification, PromptListChanged, ResourceListChanged, ResourceUpdated, ResourceUpdatedParams, ToolListChanged,
    from_json,
};
use futures_core::Stream;

use crate::queue::Queue;

/// A notification from the server that belongs to no request; for [middleware](crate::Middleware), any notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notice {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Params,
}

impl Notice {
    /// Parses the parameters; `None` if the notification is of another method, or if they are invalid.
    ///
    /// ```
    /// # fn show(notice: couplet_client::Notice) {
    /// use couplet_types::LogMessage;
    ///
    /// if let Some(line) = notice.read::<LogMessage>() {
    ///     assert!(line.data.get().len() > 0);
    /// }
    /// # }
    /// ```
    pub fn read<N: Notification>(&self) -> Option<N::Params> {
        (self.method == N::METHOD).then(|| from_json(self.params.text().as_str()).ok())?
    }

    /// Returns the change that the notification reports, if it reports one.
    pub fn change(&self) -> Option<Change> {
        match &*self.method {
            ToolListChanged::METHOD => Some(Change::Tools),
            PromptListChanged::METHOD => Some(Change::Prompts),
            ResourceListChanged::METHOD => Some(Change::Resources),
            ResourceUpdated::METHOD => {
                let ResourceUpdatedParams { uri, .. } = self.read::<ResourceUpdated>()?;
                Some(Change::Updated(uri))
            }
            _ => None,
        }
    }
}

/// A stream of the notifications that belong to no request; made by
/// [`Client::notifications`](crate::Client::notifications).
///
/// It buffers at most 256 notifications; if there are more, the oldest are dropped. It ends when the connection is
/// closed.
#[derive(Debug)]
pub struct Notifications(pub(crate) Arc<Queue<Notice>>);

impl Notifications {
    /// Waits for the next notification; `None` when the connection is closed. Cancel safe.
    pub async fn next(&mut self) -> Option<Notice> {
        poll_fn(|cx| self.0.poll_next(cx)).await
    }
}

impl Stream for Notifications {
    type Item = Notice;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Notice>> {
        self.0.poll_next(cx)
    }
}
