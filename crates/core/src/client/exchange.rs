//! One request of a client and everything that comes back for it.

use std::{
    fmt,
    future::{Future, poll_fn},
    sync::Arc,
    task::{Context, Poll, ready},
};

use crate::{
    client::mailbox::{Event, Mailbox},
    error::Error,
    server::running::BoxFuture,
};

/// A request in flight. Dropping it before its last event cancels the request.
pub struct Exchange {
    mailbox: Mailbox,
    cancel: Option<Cancel>,
    rescue: Option<Rescue>,
    /// The room for notifications that are merged.
    merged: Option<usize>,
    /// The work of the transport, if it is done where the exchange is polled.
    work: Option<BoxFuture<'static, ()>>,
}

/// A function that replaces an exchange that has failed.
type Rescue = Box<dyn FnOnce(Error) -> Result<Exchange, Error> + Send>;

/// The way in which a request is cancelled.
enum Cancel {
    Call(Box<dyn FnOnce() + Send>),
    Numbered(Arc<dyn Cancelled>, i64),
    Driven(Arc<dyn Driver>, i64),
}

/// A connection that cancels requests by their number.
pub(crate) trait Cancelled: Send + Sync {
    fn cancel(&self, number: i64);
}

/// The transport of [driven](Exchange::driven) exchanges.
pub trait Driver: Send + Sync {
    /// Cancels the request of an exchange that was dropped, with its work.
    fn cancel(self: Arc<Self>, key: i64);

    /// Goes on with the work of an exchange that is not polled for a while. The returned function stops it and cancels the
    /// request.
    fn detach(self: Arc<Self>, key: i64, work: BoxFuture<'static, ()>) -> Box<dyn FnOnce() + Send>;
}

impl Exchange {
    /// Creates an exchange whose events arrive in a mailbox; `cancel` is called if it is dropped before the last one.
    pub fn new(mailbox: Mailbox, cancel: impl FnOnce() + Send + 'static) -> Self {
        Self { mailbox, cancel: Some(Cancel::Call(Box::new(cancel))), rescue: None, merged: None, work: None }
    }

    /// Creates an exchange that does the work of the transport while it is polled, and drops it with the last event. The
    /// work puts events into the mailbox. The key is that of the request at the transport.
    pub fn driven(mailbox: Mailbox, work: BoxFuture<'static, ()>, driver: Arc<dyn Driver>, key: i64) -> Self {
        Self { mailbox, cancel: Some(Cancel::Driven(driver, key)), rescue: None, merged: None, work: Some(work) }
    }

    /// Lets the transport go on with the work of a [driven](Self::driven) exchange, so that it need not be polled for a
    /// while. Does nothing otherwise.
    pub fn detach(&mut self) {
        if let (Some(Cancel::Driven(driver, key)), Some(work)) = (&self.cancel, self.work.take()) {
            self.cancel = Some(Cancel::Call(driver.clone().detach(*key, work)));
        }
    }

    /// Creates one of many exchanges that are cancelled in one place.
    pub(crate) fn numbered(mailbox: Mailbox, place: Arc<dyn Cancelled>, number: i64) -> Self {
        Self { mailbox, cancel: Some(Cancel::Numbered(place, number)), rescue: None, merged: None, work: None }
    }

    /// Creates an exchange that failed before anything was sent.
    pub fn failed(error: Error) -> Self {
        let mailbox = Mailbox::new();
        mailbox.put(Event::Failed(error));
        Self { mailbox, cancel: None, rescue: None, merged: None, work: None }
    }

    /// Sets a function for when the exchange [fails](Event::Failed): another exchange takes its place, or it fails with
    /// the returned error.
    #[must_use]
    pub fn rescued(mut self, rescue: impl FnOnce(Error) -> Result<Self, Error> + Send + 'static) -> Self {
        self.rescue = Some(Box::new(rescue));
        self
    }

    /// Merges notifications that are equal while they wait to be taken, as those of a subscription may be, and makes room for
    /// `more` of them than other exchanges have.
    pub fn merge_notifications(&mut self, more: usize) {
        self.merged = Some(more);
        self.mailbox.merge(more);
    }

    /// Waits for the next event. It is cancel safe: an event is taken only when the future is ready.
    #[expect(clippy::should_implement_trait, reason = "it is waited for")]
    pub fn next(&mut self) -> impl Future<Output = Event> {
        poll_fn(|cx| self.poll_next(cx))
    }

    /// Polls for the next event.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            self.work(cx);
            let event = ready!(self.mailbox.poll_take(cx.waker()));
            if matches!(event, Event::Notification { .. }) {
                return Poll::Ready(event);
            }
            (self.cancel, self.work) = (None, None);
            match (event, self.rescue.take()) {
                (Event::Failed(error), Some(rescue)) => match rescue(error) {
                    Ok(other) => {
                        let merged = self.merged;
                        *self = other;
                        merged.into_iter().for_each(|more| self.merge_notifications(more));
                    }
                    Err(error) => return Poll::Ready(Event::Failed(error)),
                },
                (event, _) => return Poll::Ready(event),
            }
        }
    }

    /// Does the work of the transport as far as possible.
    fn work(&mut self, cx: &mut Context<'_>) {
        if let Some(work) = &mut self.work {
            // The task runs, so what the work puts into the mailbox must not wake it.
            self.mailbox.unwatch();
            if work.as_mut().poll(cx).is_ready() {
                self.work = None;
            }
        }
    }

    /// Sets a callback for the last event, called as soon as it arrives, also while the exchange is not polled, unless it
    /// is [driven](Self::driven) and not [detached](Self::detach). If the exchange is dropped first, the callback is dropped.
    pub fn on_end(&self, callback: impl FnOnce(&Event) + Send + 'static) {
        self.mailbox.on_end(Box::new(callback));
    }

    /// Drops the exchange without cancelling the request, unless it is [driven](Self::driven) and not
    /// [detached](Self::detach).
    pub fn abandon(mut self) {
        self.cancel = None;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        match self.cancel.take() {
            None => {}
            Some(Cancel::Call(cancel)) => cancel(),
            Some(Cancel::Numbered(place, number)) => place.cancel(number),
            Some(Cancel::Driven(driver, key)) => {
                self.work = None;
                driver.cancel(key);
            }
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").finish_non_exhaustive()
    }
}
