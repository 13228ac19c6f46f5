//! Limits of calls that run at once.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{BoxFuture, Call, Metric, Reply};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use tokio::{sync::Semaphore, time::timeout};

use crate::names::{refuse, target};

/// A limit of tool calls that run at once, with a bounded queue.
///
/// A call that finds no room waits in the queue, in the order of arrival. A call that finds the queue full, or waits too
/// long, is a failed tool that says so. Cancelling a call frees its place. In a session, a tool that waits for the user's
/// answer occupies its place meanwhile.
///
/// ```
/// use std::time::Duration;
///
/// use couplet_middleware::ConcurrencyLimit;
/// use couplet_server::Server;
///
/// // Eight calls at once, one of them of `render`; 32 wait, for at most ten seconds.
/// let limit = ConcurrencyLimit::new(8).tool("render", 1).queue(32).max_wait(Duration::from_secs(10));
/// let server: Server = Server::new("app", "1.0.0").middleware(limit);
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    all: Arc<Semaphore>,
    tools: HashMap<String, Arc<Semaphore>>,
    queue: usize,
    max_wait: Option<Duration>,
    waiting: Arc<AtomicUsize>,
}

/// A place in the queue.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConcurrencyLimit {
    /// Creates a limit for the calls of all tools together. By default, as many calls may wait as may run.
    ///
    /// # Panics
    /// If `calls` is 0.
    pub fn new(calls: usize) -> Self {
        Self {
            all: semaphore(calls),
            tools: HashMap::new(),
            queue: calls,
            max_wait: None,
            waiting: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// Adds a limit for one tool.
    ///
    /// # Panics
    /// If `calls` is 0.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, calls: usize) -> Self {
        self.tools.insert(name.into(), semaphore(calls));
        self
    }

    /// Sets how many calls may wait; 0 refuses calls at once.
    #[must_use]
    pub fn queue(mut self, calls: usize) -> Self {
        self.queue = calls;
        self
    }

    /// Sets how long a call may wait; unlimited by default.
    #[must_use]
    pub fn max_wait(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.max_wait = time.into();
        self
    }

    fn place(&self) -> Option<Place> {
        let waiting = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
            (waiting < self.queue).then_some(waiting + 1)
        });
        waiting.is_ok().then(|| Place(self.waiting.clone()))
    }
}

fn semaphore(calls: usize) -> Arc<Semaphore> {
    assert!(calls > 0, "expected a limit of at least one call");
    Arc::new(Semaphore::new(calls.min(Semaphore::MAX_PERMITS)))
}

impl Middleware for ConcurrencyLimit {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if call.known() != Some(RequestMethod::CallTool) {
            return next.run(call);
        }
        let own = target(&call).and_then(|tool| self.tools.get(&tool)).cloned();
        let all = self.all.clone();
        // The limit of the tool comes first, so that its waiting calls occupy no place of other tools.
        let at_once = match &own {
            Some(own) => own.clone().try_acquire_owned().ok().map(Some),
            None => Some(None),
        };
        let at_once = at_once.and_then(|own| Some((own, all.clone().try_acquire_owned().ok()?)));
        if let Some(permits) = at_once {
            return Box::pin(async move {
                let _permits = permits;
                next.run(call).await
            });
        }
        let Some(place) = self.place() else {
            let reply = refuse(&call, "too many calls are running", None);
            return Box::pin(std::future::ready(reply));
        };
        let max_wait = self.max_wait;
        Box::pin(async move {
            let acquire = async move {
                let own = match own {
                    Some(own) => own.acquire_owned().await.ok(),
                    None => None,
                };
                (own, all.acquire_owned().await.ok())
            };
            let permits = match max_wait {
                Some(time) => timeout(time, acquire).await.ok(),
                None => Some(acquire.await),
            };
            drop(place);
            match permits {
                Some(_permits) => next.run(call).await,
                None => refuse(&call, "too many calls are running", None),
            }
        })
    }

    fn metrics(&self) -> Vec<Metric> {
        let waiting = u64::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(u64::MAX);
        vec![Metric::gauge("couplet_queued_calls", "calls that wait for others to end", waiting)]
    }
}
