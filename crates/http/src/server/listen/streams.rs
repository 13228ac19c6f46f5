//! Requests in HTTP/2, of which a connection carries many at a time.
//!
//! hyper spawns a task for each. Then a small request wakes other threads, and its response is written alone. Here the
//! requests that arrived together are begun by the task of their connection, and the responses of those that need not wait
//! are written together. The others are spawned.

use std::{
    future::{Future, poll_fn},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use couplet_core::{BoxFuture, sync::lock};
use hyper::rt::Executor;
use tokio::time::Instant;

/// The time after which requests that arrived together are spawned without a look at whether they have to wait.
const TURN: Duration = Duration::from_micros(500);

/// The requests of a connection that have arrived and are not begun.
#[derive(Clone, Default)]
pub(crate) struct Arrived(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Arrived {
    fn execute(&self, request: F) {
        lock(&self.0).push(Box::pin(request));
    }
}

impl Arrived {
    /// Drives a connection, and begins the requests that arrive on it.
    pub(crate) async fn drive<C: Future>(&self, connection: C) -> C::Output {
        let mut connection = pin!(connection);
        // Connections in HTTP/1.1 have none.
        let mut turns: Option<(Arc<Turns>, Waker)> = None;
        poll_fn(|cx| {
            loop {
                let polled = match &turns {
                    None => connection.as_mut().poll(cx),
                    Some((turns, waker)) => {
                        turns.follow(cx.waker());
                        connection.as_mut().poll(&mut Context::from_waker(waker))
                    }
                };
                let arrived = mem::take(&mut *lock(&self.0));
                if arrived.is_empty() {
                    return polled;
                }
                let (turns, _) = turns.get_or_insert_with(|| Turns::new(cx.waker()));
                turns.is_held.store(true, Ordering::SeqCst);
                begin(arrived);
                turns.is_held.store(false, Ordering::SeqCst);
                if polled.is_ready() {
                    return polled;
                }
                // Now it writes the responses that are ready.
            }
        })
        .await
    }
}

/// Begins requests.
fn begin(arrived: Vec<BoxFuture<'static, ()>>) {
    let began = Instant::now();
    let mut arrived = arrived.into_iter();
    for mut request in arrived.by_ref() {
        // A spawned task has a waker of its own.
        let mut unwoken = Context::from_waker(Waker::noop());
        match catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(&mut unwoken))) {
            Ok(Poll::Pending) => drop(tokio::spawn(request)),
            Ok(Poll::Ready(())) => {}
            // As in a task of its own, it ends this request alone.
            Err(_) => tracing::error!("a request panicked"),
        }
        if began.elapsed() > TURN {
            break;
        }
    }
    arrived.for_each(|request| drop(tokio::spawn(request)));
}

/// The wakers of a connection. While it begins requests it is not woken for what they leave behind: it is polled after them
/// in any case, and the runtime would have another thread take it over.
struct Turns {
    task: Mutex<Waker>,
    is_held: AtomicBool,
}

impl Turns {
    fn new(task: &Waker) -> (Arc<Self>, Waker) {
        let turns = Arc::new(Self { task: Mutex::new(task.clone()), is_held: AtomicBool::new(false) });
        (turns.clone(), turns.into())
    }

    /// Wakes this task from now on.
    fn follow(&self, task: &Waker) {
        lock(&self.task).clone_from(task);
    }
}

impl Wake for Turns {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_held.load(Ordering::SeqCst) {
            lock(&self.task).wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicUsize, thread};

    use tokio::{sync::Notify, task};

    use super::*;

    /// Drives a connection that is polled once before the requests are begun, and once after.
    async fn once(arrived: &Arrived) {
        let mut polls = 0;
        let connection = poll_fn(|_| {
            polls += 1;
            if polls == 1 { Poll::Pending } else { Poll::Ready(()) }
        });
        arrived.drive(connection).await;
    }

    /// Counts the tasks that polled it, and waits until it is notified.
    async fn waits(begun: Arc<Mutex<Vec<Option<task::Id>>>>, notify: Arc<Notify>, done: Arc<AtomicUsize>) {
        lock(&begun).push(task::try_id());
        notify.notified().await;
        lock(&begun).push(task::try_id());
        done.fetch_add(1, Ordering::SeqCst);
    }

    #[tokio::test]
    async fn requests_that_wait_are_spawned_and_those_that_do_not_are_done_at_once() {
        let (begun, notify, done) = (Arc::default(), Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let arrived = Arrived::default();
        arrived.execute(waits(Arc::clone(&begun), notify.clone(), done.clone()));
        let count = done.clone();
        arrived.execute(async move {
            count.fetch_add(10, Ordering::SeqCst);
        });
        once(&arrived).await;
        assert_eq!(done.load(Ordering::SeqCst), 10);
        task::yield_now().await;
        notify.notify_waiters();
        task::yield_now().await;
        assert_eq!(done.load(Ordering::SeqCst), 11);
        let tasks = lock(&begun).clone();
        assert_eq!(tasks.first(), Some(&task::try_id()));
        assert!(tasks.last() != Some(&task::try_id()), "it has a task of its own");
    }

    #[tokio::test]
    async fn a_panic_ends_its_own_request() {
        let arrived = Arrived::default();
        let done = Arc::new(AtomicUsize::new(0));
        let count = done.clone();
        arrived.execute(async { panic!("a request that panics") });
        arrived.execute(async move {
            count.fetch_add(1, Ordering::SeqCst);
        });
        once(&arrived).await;
        // A panic takes long enough for the other one to be spawned.
        task::yield_now().await;
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn after_a_slow_request_the_others_are_spawned() {
        let arrived = Arrived::default();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..4 {
            let count = done.clone();
            arrived.execute(async move {
                thread::sleep(TURN * 2);
                count.fetch_add(1, Ordering::SeqCst);
            });
        }
        once(&arrived).await;
        assert_eq!(done.load(Ordering::SeqCst), 1);
        for _ in 0..4 {
            task::yield_now().await;
        }
        assert_eq!(done.load(Ordering::SeqCst), 4);
    }

    /// A waker that counts.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_connection_is_woken_for_everything_but_what_it_does_itself() {
        let (arrived, count) = (Arrived::default(), Arc::new(Count::default()));
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let (requests, seen) = (arrived.clone(), wakers.clone());
        // Two requests arrive one after the other; each wakes the connection, as a response does.
        let connection = poll_fn(move |cx| {
            lock(&seen).push(cx.waker().clone());
            if lock(&seen).len() <= 2 {
                let waker = cx.waker().clone();
                requests.execute(async move { waker.wake() });
            }
            Poll::<()>::Pending
        });
        let mut driven = pin!(arrived.drive(connection));
        let woken = || count.0.load(Ordering::SeqCst);
        let (first, second) = (Waker::from(count.clone()), Waker::from(Arc::new(Count::default())));
        assert!(driven.as_mut().poll(&mut Context::from_waker(&first)).is_pending());
        assert_eq!(lock(&wakers).len(), 3, "it is polled until nothing arrives");
        assert_eq!(woken(), 1, "before its first request it has the waker of its task");
        lock(&wakers)[2].wake_by_ref();
        assert_eq!(woken(), 2, "others wake it");
        assert!(driven.as_mut().poll(&mut Context::from_waker(&second)).is_pending());
        lock(&wakers)[2].wake_by_ref();
        assert_eq!(woken(), 2, "it is another task now");
    }

    #[tokio::test]
    async fn what_a_request_leaves_behind_is_done_by_its_connection() {
        let arrived = Arrived::default();
        let (polls, requests) = (AtomicUsize::new(0), arrived.clone());
        // A connection on which three requests arrive before it has to wait, and which ends after that.
        let connection = poll_fn(|_| match polls.fetch_add(1, Ordering::SeqCst) {
            0 => {
                (0..3).for_each(|_| requests.execute(async {}));
                Poll::Pending
            }
            _ => Poll::Ready("ended"),
        });
        assert_eq!(arrived.drive(connection).await, "ended");
        assert_eq!(polls.load(Ordering::SeqCst), 2, "it was polled once more for all of them");
    }
}
