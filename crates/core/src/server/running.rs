//! The running calls of one connection: a small set of futures, polled by the driver of the connection.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use crate::sync::lock;

/// A boxed `Send` future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A set of futures, each with a tag. Slots and wakers are reused, so a call allocates no waker.
pub(crate) struct Running<T, R> {
    slots: Vec<CallSlot<T, R>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
}

struct CallSlot<T, R> {
    job: Option<(T, BoxFuture<'static, R>)>,
    woken: Arc<SlotWaker>,
    waker: Waker,
}

/// The ready slots, and the waker of the driver.
#[derive(Default)]
struct Ready(Mutex<Woken>);

#[derive(Default)]
struct Woken {
    slots: VecDeque<usize>,
    driver: Option<Waker>,
}

struct SlotWaker {
    slot: usize,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl<T, R> Running<T, R> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), ready: Arc::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a future; it is polled for the first time by the next [`Running::poll_next`], for which no driver is woken:
    /// the one that adds a future polls it.
    pub(crate) fn push(&mut self, tag: T, future: BoxFuture<'static, R>) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots.len();
            let woken = Arc::new(SlotWaker { slot, queued: AtomicBool::new(false), ready: self.ready.clone() });
            self.slots.push(CallSlot { job: None, waker: Waker::from(woken.clone()), woken });
            slot
        });
        self.slots[slot].job = Some((tag, future));
        self.slots[slot].woken.enqueue(|_| ());
        slot
    }

    /// Removes the waker of the driver.
    pub(crate) fn forget_driver(&self) {
        lock(&self.ready.0).driver = None;
    }

    /// Removes a future that has not finished.
    pub(crate) fn remove(&mut self, slot: usize) -> Option<(T, BoxFuture<'static, R>)> {
        let job = self.slots.get_mut(slot)?.job.take()?;
        self.free.push(slot);
        Some(job)
    }

    /// Polls the ready futures until one finishes.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<(T, R)> {
        loop {
            let Some(at) = self.ready.next(cx) else { return Poll::Pending };
            let slot = &mut self.slots[at];
            slot.woken.queued.store(false, Ordering::Release);
            let Some((_, future)) = &mut slot.job else { continue };
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&slot.waker)) {
                let (tag, _) = slot.job.take().expect("it was just polled");
                self.free.push(at);
                return Poll::Ready((tag, output));
            }
            if slot.woken.queued.load(Ordering::Acquire) {
                // It gives way: to the others, which are in front of it now, and to the driver of the connection.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }
}

impl Ready {
    /// Takes the next ready slot. If there is none, registers the waker.
    fn next(&self, cx: &Context<'_>) -> Option<usize> {
        let mut woken = lock(&self.0);
        let next = woken.slots.pop_front();
        if next.is_none() && !woken.driver.as_ref().is_some_and(|d| d.will_wake(cx.waker())) {
            woken.driver = Some(cx.waker().clone());
        }
        next
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(Some(driver)) = self.enqueue(|woken| woken.driver.take()) {
            driver.wake();
        }
    }
}

impl SlotWaker {
    /// Makes the slot ready, and does something else under the same lock; `None` if it was ready already.
    fn enqueue<R>(&self, also: impl FnOnce(&mut Woken) -> R) -> Option<R> {
        if self.queued.swap(true, Ordering::AcqRel) {
            return None;
        }
        let mut woken = lock(&self.ready.0);
        woken.slots.push_back(self.slot);
        Some(also(&mut woken))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use crate::server::running::*;

    #[test]
    fn finishes_in_the_order_of_waking_and_reuses_slots() {
        let mut running = Running::new();
        let (tx, rx) = futures_channel::oneshot::channel::<u8>();
        running.push("late", Box::pin(async move { rx.await.unwrap() }));
        running.push("soon", Box::pin(async { 1 }));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(running.poll_next(&mut cx), Poll::Ready(("soon", 1)));
        assert_eq!(running.poll_next(&mut cx), Poll::Pending);
        let slot = running.push("gone", Box::pin(std::future::pending()));
        assert_eq!(running.remove(slot).map(|(tag, _)| tag), Some("gone"));
        tx.send(2).unwrap();
        assert_eq!(running.poll_next(&mut cx), Poll::Ready(("late", 2)));
        assert!(running.is_empty());
        assert_eq!(running.slots.len(), 2);
    }

    #[test]
    fn the_driver_is_woken_by_futures_and_not_by_what_it_adds_itself() {
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        let mut running = Running::new();
        let (tx, rx) = futures_channel::oneshot::channel::<u8>();
        assert_eq!(running.poll_next(&mut cx), Poll::Pending);
        running.push("late", Box::pin(async move { rx.await.unwrap() }));
        assert_eq!(running.poll_next(&mut cx), Poll::Pending);
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        tx.send(3).unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(running.poll_next(&mut cx), Poll::Ready(("late", 3)));
    }

    #[test]
    fn one_that_wakes_itself_gives_way() {
        let mut running = Running::new();
        let mut polls = 0;
        let selfish = std::future::poll_fn(move |cx: &mut Context<'_>| {
            polls += 1;
            cx.waker().wake_by_ref();
            if polls < 3 { Poll::Pending } else { Poll::Ready(polls) }
        });
        running.push("selfish", Box::pin(selfish));
        running.push("other", Box::pin(async { 0 }));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(running.poll_next(&mut cx), Poll::Pending);
        assert_eq!(running.poll_next(&mut cx), Poll::Ready(("other", 0)));
        assert_eq!(running.poll_next(&mut cx), Poll::Pending);
        assert_eq!(running.poll_next(&mut cx), Poll::Ready(("selfish", 3)));
    }
}
