//! Where everything arrives that the server sends on its own.

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
    answers::Answers, cache::Seat, extension::Extensions, feed::Feed, notify::Notice, outputs::Outputs,
    progress::Hearings, sync::lock,
};

pub(crate) type OnLog = Arc<dyn Fn(LogParams) + Send + Sync>;

/// The inbound side of one client.
pub(crate) struct Inbox {
    pub(crate) answers: Arc<Answers>,
    pub(crate) extensions: Arc<Extensions>,
    pub(crate) on_log: Option<OnLog>,
    pub(crate) outputs: Outputs,
    /// Who hears of progress after an answer.
    pub(crate) hearings: Hearings,
    /// The way out, once there is one.
    pub(crate) channel: OnceLock<Weak<dyn Channel>>,
    /// Where answers are kept, if they are.
    pub(crate) seat: Option<Seat>,
    dialect: Mutex<Option<Arc<Dialect>>>,
    readers: Mutex<Readers>,
}

/// Who reads. A reader that is gone is forgotten at the next chance.
#[derive(Default)]
struct Readers {
    closed: bool,
    /// Why nothing comes any more that the server sends on its own, though the connection lives.
    silent: Option<Error>,
    notices: Vec<Weak<Feed<Notice>>>,
    changes: Vec<(Filter, Weak<Feed<Change>>)>,
    /// How many subscriptions of this session name a resource.
    uris: HashMap<String, usize>,
}

impl Inbox {
    /// How many entries may wait for a reader.
    const ROOM: usize = 256;

    pub(crate) fn new(
        answers: Answers,
        extensions: Arc<Extensions>,
        on_log: Option<OnLog>,
        seat: Option<Seat>,
    ) -> Self {
        Self {
            answers: Arc::new(answers),
            extensions,
            on_log,
            outputs: Outputs::default(),
            hearings: Hearings::default(),
            channel: OnceLock::new(),
            seat,
            dialect: Mutex::default(),
            readers: Mutex::default(),
        }
    }

    /// From now on both sides speak as agreed.
    pub(crate) fn agree(&self, dialect: Dialect) {
        *lock(&self.dialect) = Some(Arc::new(dialect));
    }

    /// How the client speaks; `None` as long as nothing was agreed on.
    pub(crate) fn dialect(&self) -> Option<Arc<Dialect>> {
        lock(&self.dialect).clone()
    }

    pub(crate) fn read_notices(&self) -> Arc<Feed<Notice>> {
        let feed = Arc::new(Feed::new(Self::ROOM));
        let mut readers = lock(&self.readers);
        readers.notices.retain(|f| f.strong_count() > 0);
        readers.notices.push(Arc::downgrade(&feed));
        if readers.closed {
            feed.close();
        }
        feed
    }

    /// Collects the changes that a session tells of. Every resource by name finds room.
    pub(crate) fn read_changes(&self, interest: Filter) -> Arc<Feed<Change>> {
        let feed = Arc::new(Feed::new(Self::ROOM + interest.uris.len()));
        let mut readers = lock(&self.readers);
        for uri in &interest.uris {
            *readers.uris.entry(uri.clone()).or_default() += 1;
        }
        readers.changes.retain(|(_, f)| f.strong_count() > 0);
        readers.changes.push((interest, Arc::downgrade(&feed)));
        if readers.closed || readers.silent.is_some() {
            feed.close();
        }
        feed
    }

    /// One reader less for a resource. `last` is called, under the lock, if it was the last one.
    pub(crate) fn forget(&self, uri: &str, last: impl FnOnce()) {
        let mut readers = lock(&self.readers);
        let Some(count) = readers.uris.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            readers.uris.remove(uri);
            last();
        }
    }

    /// Why a subscription of a session is over.
    pub(crate) fn why_over(&self) -> Error {
        let silent = lock(&self.readers).silent.clone();
        silent.unwrap_or_else(|| Error::new(ErrorKind::Closed, "the connection has ended"))
    }

    /// The connection is over: whoever reads is told.
    pub(crate) fn close(&self) {
        let mut readers = lock(&self.readers);
        readers.closed = true;
        readers.notices.drain(..).filter_map(|f| f.upgrade()).for_each(|f| f.close());
        readers.changes.drain(..).filter_map(|(_, f)| f.upgrade()).for_each(|f| f.close());
    }

    /// What is kept may be old.
    pub(crate) fn changed(&self, change: &Change) {
        if *change == Change::Tools {
            self.outputs.forget();
        }
        if let Some(seat) = &self.seat {
            seat.change(change);
        }
    }

    /// Passes a notification on to whoever wants it.
    pub(crate) fn notice(&self, notice: &Notice) {
        if notice.method == Progress::METHOD && self.hearings.hear(notice) {
            return;
        }
        if let (Some(on_log), Some(line)) = (&self.on_log, notice.read::<LogMessage>())
            && catch_unwind(AssertUnwindSafe(|| on_log(line))).is_err()
        {
            tracing::error!("the callback for log messages panicked");
        }
        let readers = lock(&self.readers);
        if let Some(change) = notice.change() {
            self.changed(&change);
            let wanted = readers.changes.iter().filter(|(interest, _)| covers(interest, &change));
            wanted.filter_map(|(_, f)| f.upgrade()).for_each(|f| f.push_once(change.clone()));
        }
        readers.notices.iter().filter_map(Weak::upgrade).for_each(|f| f.push(notice.clone()));
    }
}

impl Inbound for Inbox {
    fn request(&self, method: &str, params: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        match self.dialect() {
            Some(dialect) => {
                let channel = self.channel.get();
                let extended = self.extensions.answer(&self.answers, &dialect, channel, method, params);
                extended.unwrap_or_else(|| self.answers.answer_on_session(&dialect, method, params.text().as_str()))
            }
            None => Box::pin(async { Err(RpcError::invalid_request("the session is not open yet")) }),
        }
    }

    fn notification(&self, method: &str, params: Params) {
        self.notice(&Notice { method: method.to_owned(), params });
    }

    fn overhear(&self, method: &str, params: &Params) {
        if self.seat.is_some()
            && let Some(change) = (Notice { method: method.to_owned(), params: params.clone() }).change()
        {
            self.changed(&change);
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
        tracing::warn!(error = %malformed.error, %excerpt, "the server sent a message that cannot be read");
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("answers", &self.answers).finish_non_exhaustive()
    }
}

/// Whether somebody with this interest wants to hear of a change. The resource that changed may be a part of the one
/// that was subscribed to.
fn covers(interest: &Filter, change: &Change) -> bool {
    match change {
        Change::Tools => interest.tools,
        Change::Prompts => interest.prompts,
        Change::Resources => interest.resources,
        Change::Updated(uri) => interest.uris.contains(uri) || interest.uris.iter().any(|whole| is_part(uri, whole)),
        _ => false,
    }
}

pub(crate) fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| whole.ends_with('/') || rest.starts_with(['/', '#', '?']))
}
