//! What the server tells on its own.

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

use crate::feed::Feed;

/// A notification of the server that belongs to no request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notice {
    /// What happened.
    pub method: String,
    /// To what.
    pub params: Params,
}

impl Notice {
    /// The parameters, if it is a notification of this kind and can be read.
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

    /// The change that it tells of, if it tells of one.
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

/// The notifications that belong to no request, from the moment of [`Client::notifications`](crate::Client::notifications).
///
/// At most 256 wait to be read; of more, the oldest are dropped. It ends with the connection.
#[derive(Debug)]
pub struct Notifications(pub(crate) Arc<Feed<Notice>>);

impl Notifications {
    /// The next one; `None` when the connection has ended.
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
