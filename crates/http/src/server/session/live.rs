//! A session that lives in this process.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Waker,
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{
    Caller, Outbound, RequestContext, Revision, ServerConnection,
    message::{Body, Frame, Message},
};
use couplet_types::{RequestId, RpcError};
use tokio::time::Instant;

use crate::server::{
    endpoint::Config,
    limits::HttpLimits,
    lock,
    request::{admit::Admitted, quota::Share},
    session::lease::Lease,
    stream::{
        event_queue::{EventQueue, Reader},
        session_stream::SessionStream,
    },
};

/// A session.
pub(crate) struct LiveSession {
    pub(crate) id: Arc<str>,
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) revision: Revision,
    pub(crate) born: Instant,
    /// How much it keeps of what opened it.
    pub(crate) size: usize,
    /// Its number among all sessions that were added to the table.
    pub(crate) number: u64,
    /// Whether there was a second message. The table changes it.
    pub(crate) established: AtomicBool,
    /// This replica's ownership, where there is a store.
    pub(crate) lease: Option<Lease>,
    pub(crate) state: Mutex<State>,
    /// The number of the last message that was taken from the store.
    #[cfg_attr(not(feature = "replicas"), allow(dead_code, reason = "it is for messages of other replicas"))]
    pub(crate) taken: AtomicU64,
    /// What it counts as, if an anonymous caller opened it.
    _share: Option<Share>,
}

pub(crate) struct State {
    /// The connection, unless a request or a task drives it.
    pub(crate) parked: Option<Box<ServerConnection>>,
    /// What came out of the connection and is not sent yet.
    pub(crate) unsent: Option<Box<Outbound>>,
    /// What the connection has yet to take.
    pub(crate) inbox: VecDeque<Input>,
    inbox_bytes: usize,
    /// Whether there is a task for what cannot be done at once.
    pub(crate) has_task: bool,
    /// That task, where it waits.
    pub(crate) driver: Option<Waker>,
    /// Whether a request looked for the connection while another one drove it.
    pub(crate) missed: bool,
    /// The streams of requests that run.
    pub(crate) lines: BTreeMap<RequestId, Arc<SessionStream>>,
    /// The stream whose last message is on its way.
    pub(crate) finishing: Option<Arc<SessionStream>>,
    /// The streams that belong to no request.
    pub(crate) gets: Vec<Arc<SessionStream>>,
    /// Streams that belong to no request and were resumed, each with the stream that continues it.
    continued: VecDeque<(u64, u64)>,
    /// Streams of which an event could not be stored.
    lost: VecDeque<u64>,
    /// Messages that no open stream can deliver yet.
    pub(crate) unheard: VecDeque<Bytes>,
    pub(crate) used: Instant,
    /// When it was used last as far as the table knows.
    pub(crate) ranked: Instant,
    pub(crate) closed: bool,
    /// The settings that could not be stored yet.
    pub(crate) unstored: Option<Bytes>,
    /// Whether no more answers of the client will come.
    pub(crate) ending: bool,
    lines_made: u64,
    /// Whether it has given back what it does not need.
    rested: bool,
}

/// A message and its size, who sent it, and with what request.
type Input = (Frame, usize, Option<Arc<Caller>>, Option<Arc<dyn RequestContext>>);

/// A request's id, the connection, and the task that waits for it.
type Borrowed = (RequestId, Box<ServerConnection>, Option<Waker>);

/// Why a message is not taken.
#[derive(Debug)]
pub(crate) enum Declined {
    /// The session is over.
    Gone,
    /// There is no room.
    Busy,
    /// Another replica owns the session by now. The message may have been handled.
    Moved,
    /// The message is wrong.
    Wrong(Option<RequestId>, RpcError),
}

/// The number of streams of a session that are remembered as lost, and as continued.
const REMEMBERED: usize = 64;

impl LiveSession {
    pub(crate) fn new(
        id: Arc<str>,
        principal: Option<Arc<str>>,
        revision: Revision,
        connection: ServerConnection,
        size: usize,
        lease: Option<Lease>,
    ) -> Self {
        let now = Instant::now();
        // The streams of one owner have other numbers than those of the next.
        let lines_made = lease.as_ref().map_or(0, |lease| lease.generation << 32);
        let state = State {
            parked: Some(Box::new(connection)),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            unsent: None,
            has_task: false,
            driver: None,
            missed: false,
            lines: BTreeMap::new(),
            finishing: None,
            gets: Vec::new(),
            continued: VecDeque::new(),
            lost: VecDeque::new(),
            unheard: VecDeque::new(),
            used: now,
            ranked: now,
            closed: false,
            unstored: None,
            ending: false,
            lines_made,
            rested: false,
        };
        let (number, established, taken) = (0, AtomicBool::new(false), AtomicU64::new(0));
        let state = Mutex::new(state);
        Self { id, principal, revision, born: now, size, number, established, lease, state, taken, _share: None }
    }

    /// The same session, which counts for the network of the caller that opened it.
    pub(crate) fn counted(mut self, share: Share) -> Self {
        self._share = Some(share);
        self
    }

    /// The same as one that another replica opened some time ago.
    pub(crate) fn taken_over(mut self, age: Duration) -> Self {
        self.established.store(true, Ordering::Relaxed);
        self.born = self.born.checked_sub(age).unwrap_or(self.born);
        self
    }

    /// The generation of this replica's ownership.
    pub(crate) fn generation(&self) -> u64 {
        self.lease.as_ref().map_or(0, |lease| lease.generation)
    }

    /// Whether this replica owns the session: always, if there is no store.
    pub(crate) fn is_owned(&self) -> bool {
        self.lease.as_ref().is_none_or(Lease::is_valid)
    }

    /// Ends the connection of a session that was not used for so long, and this replica's ownership with it; false if it
    /// was used.
    pub(crate) fn rest(&self, unused: Duration) -> bool {
        let Some(lease) = self.lease.as_ref().filter(|lease| self.is_established() && !lease.has_ended()) else {
            return false;
        };
        let mut state = lock(&self.state);
        let rests = state.is_unused() && state.unstored.is_none() && state.used.elapsed() > unused;
        if rests {
            lease.end();
            state.closed = true;
            let parked = state.parked.take();
            drop(state);
            drop(parked);
        }
        rests
    }

    /// Ends the session here, because another replica owns it by now. Nothing of it is stored or sent any more.
    pub(crate) fn fence(&self) {
        if let Some(lease) = &self.lease {
            lease.end();
        }
        self.close();
    }

    /// Whether there was a second message.
    pub(crate) fn is_established(&self) -> bool {
        self.established.load(Ordering::Relaxed)
    }

    /// The connection for a request that could be answered at once, and the task that would go on with it if there is
    /// one; nothing if the message has to wait for its turn.
    ///
    /// # Errors
    /// Why the message is not taken.
    pub(crate) fn borrow(&self, frame: &Frame, limits: &HttpLimits) -> Result<Option<Borrowed>, Declined> {
        let Frame::Single(Message { body: Body::Request { id, .. }, .. }) = frame else { return Ok(None) };
        let mut state = lock(&self.state);
        state.check(std::slice::from_ref(id), limits)?;
        let free = |connection: &mut Box<ServerConnection>| connection.wants_input();
        if !state.inbox.is_empty() || state.unsent.is_some() {
            return Ok(None);
        }
        let Some(connection) = state.parked.take_if(free) else { return Ok(None) };
        state.rested = false;
        Ok(Some((id.clone(), connection, state.driver.clone())))
    }

    /// Takes a message to the connection. If something in it has to be answered, there is a reader for the answers.
    ///
    /// # Errors
    /// Why it is not taken.
    pub(crate) fn submit(
        &self,
        frame: Frame,
        size: usize,
        mut admitted: Admitted,
        config: &Config,
    ) -> Result<Option<(Arc<SessionStream>, Reader)>, Declined> {
        let ids = requests(&frame, self.revision)?;
        let mut state = lock(&self.state);
        state.check(&ids, &config.limits)?;
        let (caller, context) = (admitted.caller.clone(), admitted.take_context());
        let reader = (!ids.is_empty()).then(|| state.expect(ids, admitted, config));
        state.put((frame, size, caller, context));
        Ok(reader)
    }

    /// Takes a message without requests to the connection, which came from another replica.
    ///
    /// # Errors
    /// Why it is not taken.
    #[cfg(feature = "replicas")]
    pub(crate) fn deliver(
        &self,
        frame: Frame,
        size: usize,
        caller: Option<Arc<Caller>>,
        limits: &HttpLimits,
    ) -> Result<(), Declined> {
        if !requests(&frame, self.revision)?.is_empty() {
            return Err(Declined::Wrong(None, RpcError::invalid_request("it contains a request")));
        }
        let mut state = lock(&self.state);
        state.check(&[], limits)?;
        state.put((frame, size, caller, None));
        Ok(())
    }

    /// A stream for the answers to requests that the connection has.
    pub(crate) fn expect(
        &self,
        ids: Vec<RequestId>,
        admitted: Admitted,
        config: &Config,
    ) -> (Arc<SessionStream>, Reader) {
        lock(&self.state).expect(ids, admitted, config)
    }

    /// Opens a stream that belongs to no request.
    ///
    /// # Errors
    /// When the session is over.
    pub(crate) fn listen(&self, config: &Config) -> Result<(Arc<SessionStream>, Reader), Declined> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Declined::Gone);
        }
        let pipe = EventQueue::new(config);
        let line = state.line('g', Vec::new(), pipe.clone(), None);
        state.gets.push(line.clone());
        if state.gets.len() > config.limits.streams_per_session {
            state.gets.remove(0).close();
        }
        state.touch();
        Ok((line, Reader::new(pipe).endless()))
    }

    /// Opens a stream that continues one that belongs to no request. Also returns the streams before it, oldest first: the
    /// reader may lack events of all of them, and none has another reader.
    ///
    /// # Errors
    /// When the session is over.
    pub(crate) fn listen_again(
        &self,
        config: &Config,
        number: u64,
    ) -> Result<(Arc<SessionStream>, Reader, Vec<u64>), Declined> {
        let (line, reader) = self.listen(config)?;
        let mut state = lock(&self.state);
        let mut before = vec![number];
        let mut last = number;
        while let Some((_, next)) = state.continued.iter().find(|(from, _)| *from == last) {
            last = *next;
            before.push(last);
        }
        if state.continued.len() >= REMEMBERED {
            state.continued.pop_front();
        }
        state.continued.push_back((last, line.number));
        state.gets.extract_if(.., |open| before.contains(&open.number)).for_each(|open| open.close());
        Ok((line, reader, before))
    }

    /// The stream of a request that still runs.
    pub(crate) fn line(&self, number: u64) -> Option<Arc<SessionStream>> {
        let state = lock(&self.state);
        let mut lines = state.lines.values().chain(&state.finishing);
        lines.find(|line| line.number == number).cloned()
    }

    /// Whether a stream cannot be taken up again, because an event of it could not be stored.
    pub(crate) fn is_lost(&self, number: u64) -> bool {
        lock(&self.state).lost.contains(&number)
    }

    /// Notes that an event of a stream could not be stored.
    pub(crate) fn lose(&self, line: &SessionStream) {
        line.lose();
        let mut state = lock(&self.state);
        if state.lost.len() >= REMEMBERED {
            state.lost.pop_front();
        }
        state.lost.push_back(line.number);
    }

    /// Questions to the client cannot be answered any more.
    pub(crate) fn cancel_client_requests(&self) {
        let mut state = lock(&self.state);
        state.ending = true;
        if let Some(connection) = &mut state.parked {
            connection.cancel_client_requests();
        }
        // It is no use of the session, but the driver has to look.
        state.wake_driver();
    }

    /// Ends the session: what runs is cancelled, what is open is closed.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let parked = state.parked.take();
        state.inbox.clear();
        state.inbox_bytes = 0;
        std::mem::take(&mut state.lines).values().for_each(|line| line.close());
        state.gets.drain(..).for_each(|line| line.close());
        state.touch();
        drop(state);
        drop(parked);
    }
}

/// The requests of a frame, each of which gets an answer.
///
/// # Errors
/// What is wrong with the frame.
pub(crate) fn requests(frame: &Frame, revision: Revision) -> Result<Vec<RequestId>, Declined> {
    let request = |message: &Message| match &message.body {
        Body::Request { id, .. } => Some(id.clone()),
        _ => None,
    };
    let messages = match frame {
        Frame::Single(message) => return Ok(request(message).into_iter().collect()),
        Frame::Batch(messages) => messages,
    };
    if !revision.allows_batches() {
        let error = RpcError::invalid_request("batches are not allowed in this session");
        return Err(Declined::Wrong(None, error));
    }
    let ids: Vec<_> = messages.iter().flatten().filter_map(request).collect();
    let mut seen = HashSet::new();
    if let Some(id) = ids.iter().find(|id| !seen.insert(*id)) {
        let error = RpcError::invalid_request(format!("request id `{id}` is there twice"));
        return Err(Declined::Wrong(None, error));
    }
    match messages.iter().find_map(|m| m.as_ref().err()) {
        // Nothing would carry the complaint.
        Some(malformed) if ids.is_empty() => Err(Declined::Wrong(None, malformed.error.clone())),
        _ => Ok(ids),
    }
}

impl State {
    /// How many messages may wait for the connection.
    const ROOM: usize = 256;
    /// How many bytes they may have. One message may be larger if it is alone.
    const ROOM_BYTES: usize = 16 << 20;

    fn put(&mut self, input: Input) {
        self.inbox_bytes += input.1;
        self.inbox.push_back(input);
        self.touch();
    }

    /// The next message for the connection, which hears who sent it.
    pub(crate) fn next_input(&mut self, connection: &mut ServerConnection) -> Option<Frame> {
        let (frame, size, caller, context) = self.inbox.pop_front()?;
        self.inbox_bytes -= size;
        connection.set_caller(caller);
        connection.set_context(context);
        Some(frame)
    }

    /// Whether requests with these ids can be taken.
    fn check(&self, ids: &[RequestId], limits: &HttpLimits) -> Result<(), Declined> {
        if self.closed {
            return Err(Declined::Gone);
        }
        let full = self.inbox.len() >= Self::ROOM || self.inbox_bytes >= Self::ROOM_BYTES;
        if full || self.lines.len() + ids.len() > limits.requests_per_session {
            return Err(Declined::Busy);
        }
        if let Some(id) = ids.iter().find(|id| self.lines.contains_key(*id)) {
            let error = RpcError::invalid_request(format!("request id `{id}` is already in use"));
            return Err(Declined::Wrong(None, error));
        }
        Ok(())
    }

    fn expect(&mut self, ids: Vec<RequestId>, admitted: Admitted, config: &Config) -> (Arc<SessionStream>, Reader) {
        let pipe = EventQueue::new(config);
        let line = self.line('r', ids.clone(), pipe.clone(), Some(admitted));
        self.lines.extend(ids.into_iter().map(|id| (id, line.clone())));
        (line, Reader::new(pipe))
    }

    fn line(
        &mut self,
        tag: char,
        ids: Vec<RequestId>,
        pipe: Arc<EventQueue>,
        admitted: Option<Admitted>,
    ) -> Arc<SessionStream> {
        self.lines_made += 1;
        Arc::new(SessionStream::new(self.lines_made, tag, ids, pipe, admitted))
    }

    /// Notes that the session is in use, and lets the driver look again.
    pub(crate) fn touch(&mut self) {
        self.used = Instant::now();
        self.rested = false;
        self.wake_driver();
    }

    pub(crate) fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Gives back what only a busy session needs, if it was not used for a while.
    pub(crate) fn rest(&mut self, now: Instant) {
        const A_WHILE: Duration = Duration::from_secs(5);
        if self.rested || !self.is_idle() || now.duration_since(self.used) < A_WHILE {
            return;
        }
        if let Some(connection) = &mut self.parked {
            connection.shrink();
            self.inbox = VecDeque::new();
            self.lines = BTreeMap::new();
            self.rested = true;
        }
    }

    /// Whether nothing runs, nothing is open and no request has the connection right now.
    pub(crate) fn is_unused(&self) -> bool {
        self.closed || self.is_idle() && self.parked.as_ref().is_some_and(|connection| connection.unanswered() == 0)
    }

    /// Whether a request has no answer yet, or its answer is not stored yet.
    #[cfg(feature = "listen")]
    pub(crate) fn has_calls(&self) -> bool {
        !self.closed && (!self.lines.is_empty() || !self.inbox.is_empty() || self.finishing.is_some())
    }

    /// Whether nothing runs and nothing is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.gets.is_empty() && self.is_quiet()
    }

    /// Whether nothing runs and no request has the connection right now. Streams that belong to no request may be open.
    #[cfg(feature = "replicas")]
    pub(crate) fn runs_nothing(&self) -> bool {
        self.is_quiet() && self.parked.as_ref().is_some_and(|connection| connection.unanswered() == 0)
    }

    fn is_quiet(&self) -> bool {
        self.lines.is_empty() && self.inbox.is_empty() && self.finishing.is_none() && self.unsent.is_none()
    }
}

impl fmt::Debug for LiveSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The id is a secret.
        f.debug_struct("LiveSession").field("revision", &self.revision).finish_non_exhaustive()
    }
}
