//! Tasks that run when the simulation says so.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Set when somebody should be polled.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn raised() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Takes the flag down; polls made after that raise it again.
    pub(crate) fn lower(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.raise();
    }
}

/// One task.
pub(crate) struct Task {
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    flag: Arc<Flag>,
    /// Whether it ends only by being dropped.
    pub(crate) endless: bool,
}

impl Task {
    pub(crate) fn new(future: impl Future<Output = ()> + 'static, endless: bool) -> Self {
        Self { future: Some(Box::pin(future)), flag: Flag::raised(), endless }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.future.is_some() && self.flag.is_up()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.future.is_none()
    }

    pub(crate) fn poll(&mut self) {
        let Some(future) = &mut self.future else { return };
        self.flag.lower();
        let waker = Waker::from(self.flag.clone());
        if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.future = None;
        }
    }

    /// Drops the future: what it waited for is cancelled.
    pub(crate) fn cancel(&mut self) {
        self.future = None;
    }
}

/// Lets somebody else go first, once.
pub(crate) async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|cx| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Lets somebody else go first, a few times.
pub(crate) async fn pauses(times: u64) {
    for _ in 0..times {
        pause().await;
    }
}
