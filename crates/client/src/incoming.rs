//! Dispatch of the messages that the server sends on its own: requests in a session, notifications, changes.

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, OnceLock, Weak},
};

use couplet_core::{
    BoxFuture, Change, Channel, Dialect, Error, ErrorKind, Filter, Inbound, JsonText,
    message::{Malformed, Params},
};
use couplet_types::{LogMessage, LogParams, Notification, Progress, RpcError};

use crate::{
    cache::Seat,
    callbacks::Callbacks,
    extension::Extensions,
    middleware::{Chain, received},
    notify::Notice,
    output_schemas::OutputSchemas,
    progress::ProgressSubscriptions,
    queue::Queue,
    sync::lock,
};

pub(crate) type OnLog = Arc<dyn Fn(LogParams) + Send + Sync>;

/// The inbound side of one client.
pub(crate) struct Incoming {
    pub(crate) callbacks: Arc<Callbacks>,
    pub(crate) extensions: Arc<Extensions>,
    pub(crate) middleware: Chain,
    pub(crate) on_log: Option<OnLog>,
    pub(crate) output_schemas: OutputSchemas,
    /// Subscriptions to progress after a response.
    pub(crate) progress: ProgressSubscriptions,
    /// The outbound side, once there is one.
    pub(crate) channel: OnceLock<Weak<dyn Channel>>,
    /// The place of this client in the response cache, unless caching is disabled.
    pub(crate) seat: Option<Seat>,
    dialect: Mutex<Option<Arc<Dialect>>>,
    readers: Mutex<Readers>,
}

/// The queues of readers. Those that were dropped are removed lazily.
#[derive(Default)]
struct Readers {
    closed: bool,
    /// Why the server cannot send notifications any more, although the connection is open.
    silent: Option<Error>,
    notices: Vec<Weak<Queue<Notice>>>,
    changes: Vec<(Filter, Weak<Queue<Change>>)>,
    /// The number of subscriptions of this session by resource.
    uris: HashMap<String, usize>,
}

impl Incoming {
    /// The capacity of a reader's queue.
    const CAPACITY: usize = 256;

    pub(crate) fn new(
        callbacks: Callbacks,
        extensions: Arc<Extensions>,
        middleware: Chain,
        on_log: Option<OnLog>,
        seat: Option<Seat>,
    ) -> Self {
        Self {
            callbacks: Arc::new(callbacks),
            extensions,
            middleware,
            on_log,
            output_schemas: OutputSchemas::default(),
            progress: ProgressSubscriptions::default(),
            channel: OnceLock::new(),
            seat,
            dialect: Mutex::default(),
            readers: Mutex::default(),
        }
    }

    /// Sets the negotiated dialect.
    pub(crate) fn agree(&self, dialect: Dialect) {
        *lock(&self.dialect) = Some(Arc::new(dialect));
    }

    /// Returns the negotiated dialect; `None` before negotiation.
    pub(crate) fn dialect(&self) -> Option<Arc<Dialect>> {
        lock(&self.dialect).clone()
    }

    pub(crate) fn read_notices(&self) -> Arc<Queue<Notice>> {
        let queue = Arc::new(Queue::new(Self::CAPACITY));
        let mut readers = lock(&self.readers);
        readers.notices.retain(|f| f.strong_count() > 0);
        readers.notices.push(Arc::downgrade(&queue));
        if readers.closed {
            queue.close();
        }
        queue
    }

    /// Registers a reader of the changes in a session. Its queue has room for every resource of the filter.
    pub(crate) fn read_changes(&self, filter: Filter) -> Arc<Queue<Change>> {
        let queue = Arc::new(Queue::new(Self::CAPACITY + filter.uris.len()));
        let mut readers = lock(&self.readers);
        for uri in &filter.uris {
            *readers.uris.entry(uri.clone()).or_default() += 1;
        }
        readers.changes.retain(|(_, f)| f.strong_count() > 0);
        readers.changes.push((filter, Arc::downgrade(&queue)));
        if readers.closed || readers.silent.is_some() {
            queue.close();
        }
        queue
    }

    /// Removes a subscription to a resource. `last` is called, under the lock, if it was the last one.
    pub(crate) fn unsubscribe(&self, uri: &str, last: impl FnOnce()) {
        let mut readers = lock(&self.readers);
        let Some(count) = readers.uris.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            readers.uris.remove(uri);
            last();
        }
    }

    /// Returns why the subscriptions of a session ended.
    pub(crate) fn end_reason(&self) -> Error {
        let silent = lock(&self.readers).silent.clone();
        silent.unwrap_or_else(|| Error::new(ErrorKind::Closed, "the connection is closed"))
    }

    /// Closes the queues of all readers.
    pub(crate) fn close(&self) {
        let mut readers = lock(&self.readers);
        readers.closed = true;
        readers.notices.drain(..).filter_map(|f| f.upgrade()).for_each(|f| f.close());
        readers.changes.drain(..).filter_map(|(_, f)| f.upgrade()).for_each(|f| f.close());
    }

    /// Invalidates cached data after a change.
    pub(crate) fn invalidate(&self, change: &Change) {
        if *change == Change::Tools {
            self.output_schemas.clear();
        }
        if let Some(seat) = &self.seat {
            seat.change(change);
        }
    }

    /// Passes a notification through the middleware; `None` if it is dropped.
    pub(crate) fn admit(&self, notice: Notice) -> Option<Notice> {
        if self.middleware.is_empty() {
            return Some(notice);
        }
        // Middleware decides on what the program sees, not on what is true.
        if let Some(change) = notice.change() {
            self.invalidate(&change);
        }
        received(&self.middleware, notice)
    }

    /// Delivers a notification to callbacks and readers.
    pub(crate) fn deliver(&self, notice: Notice) {
        let Some(notice) = &self.admit(notice) else { return };
        if notice.method == Progress::METHOD && self.progress.deliver(notice) {
            return;
        }
        if let (Some(on_log), Some(line)) = (&self.on_log, notice.read::<LogMessage>())
            && catch_unwind(AssertUnwindSafe(|| on_log(line))).is_err()
        {
            tracing::error!("the callback for log messages panicked");
        }
        let readers = lock(&self.readers);
        if let Some(change) = notice.change() {
            self.invalidate(&change);
            let wanted = readers.changes.iter().filter(|(filter, _)| covers(filter, &change));
            wanted.filter_map(|(_, f)| f.upgrade()).for_each(|f| f.push_once(change.clone()));
        }
        readers.notices.iter().filter_map(Weak::upgrade).for_each(|f| f.push(notice.clone()));
    }
}

impl Inbound for Incoming {
    fn request(&self, method: &str, params: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        match self.dialect() {
            Some(dialect) => self.answer(&dialect, method, params),
            None => Box::pin(async { Err(RpcError::invalid_request("the session is not initialized yet")) }),
        }
    }

    fn notification(&self, method: &str, params: Params) {
        self.deliver(Notice { method: method.to_owned(), params });
    }

    fn overhear(&self, method: &str, params: &Params) {
        if self.seat.is_some()
            && let Some(change) = (Notice { method: method.to_owned(), params: params.clone() }).change()
        {
            self.invalidate(&change);
        }
    }

    fn silent(&self, why: Option<Error>) {
        let mut readers = lock(&self.readers);
        if why.is_some() {
            readers.changes.drain(..).filter_map(|(_, f)| f.upgrade()).for_each(|f| f.close());
        }
        readers.silent = why;
    }

    fn malformed(&self, malformed: &Malformed) {
        let excerpt = malformed.excerpt.escape_ascii();
        tracing::warn!(error = %malformed.error, %excerpt, "the server sent a message that cannot be parsed");
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("answers", &self.callbacks).finish_non_exhaustive()
    }
}

/// Returns whether a filter includes a change. The resource that changed may be a part of the one in the filter.
fn covers(filter: &Filter, change: &Change) -> bool {
    match change {
        Change::Tools => filter.tools,
        Change::Prompts => filter.prompts,
        Change::Resources => filter.resources,
        Change::Updated(uri) => filter.uris.contains(uri) || filter.uris.iter().any(|whole| is_part(uri, whole)),
        _ => false,
    }
}

pub(crate) fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| whole.ends_with('/') || rest.starts_with(['/', '#', '?']))
}
