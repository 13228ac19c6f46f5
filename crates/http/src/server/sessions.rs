//! All sessions that live in this process, and how a request finds its own.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{
    Outbound,
    http::{Refusal, headers::LAST_EVENT_ID},
    message::Frame,
};
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use super::{
    admit::Admitted,
    body::{Events, Source},
    drive::{self, Taken},
    endpoint::Endpoint,
    limits::HttpLimits,
    line,
    live::{Declined, Live},
    lock,
    pipe::{First, Pipe, Reader},
    reply::{self, Reply},
    request::text_of,
    sessionless::reopen,
    shrink,
    store::SessionRecord,
    watch::Held,
};

/// The sessions of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    live: HashMap<Arc<str>, Arc<Live>>,
    by_principal: HashMap<Arc<str>, usize>,
    /// How much is kept of what opened them.
    bytes: usize,
    /// Not before then is it worth looking for sessions to end.
    look_again: Option<Instant>,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).live.len()
    }

    fn get(&self, id: &str) -> Option<Arc<Live>> {
        lock(&self.0).live.get(id).cloned()
    }

    /// No session will get any more answers from its client.
    pub(crate) fn close_questions(&self) {
        let all: Vec<_> = lock(&self.0).live.values().cloned().collect();
        all.iter().for_each(|live| live.close_questions());
    }

    /// Whether one more session fits. For that the one that was idle for longest may have to go.
    ///
    /// # Errors
    /// What there is too much of.
    fn room(
        &self,
        principal: Option<&Arc<str>>,
        size: usize,
        limits: &HttpLimits,
    ) -> Result<Option<Arc<Live>>, Box<Reply>> {
        let mut table = lock(&self.0);
        table.check_principal(principal, limits)?;
        if table.fits(size, limits) {
            return Ok(None);
        }
        let now = Instant::now();
        if table.look_again.is_some_and(|then| now < then) {
            return Err(full());
        }
        let idle = |live: &&Arc<Live>| {
            let state = lock(&live.state);
            (state.is_idle() && now.duration_since(state.used) > limits.handshake).then_some(state.used)
        };
        let oldest = table.live.values().filter_map(|live| Some((idle(&live)?, live))).min_by_key(|(used, _)| *used);
        match oldest.map(|(_, live)| live.clone()) {
            Some(live) => {
                table.remove(&live.id);
                Ok(Some(live))
            }
            None => {
                table.look_again = Some(now + Duration::from_secs(1));
                Err(full())
            }
        }
    }

    /// Adds a session, unless it came to be here meanwhile.
    ///
    /// # Errors
    /// What there is too much of by now.
    fn insert(&self, live: Live, limits: &HttpLimits) -> Result<Arc<Live>, Box<Reply>> {
        let mut table = lock(&self.0);
        if let Some(there) = table.live.get(&live.id) {
            return Ok(there.clone());
        }
        table.check_principal(live.principal.as_ref(), limits)?;
        if !table.fits(live.size, limits) {
            return Err(full());
        }
        if let Some(principal) = &live.principal {
            *table.by_principal.entry(principal.clone()).or_default() += 1;
        }
        table.bytes += live.size;
        let live = Arc::new(live);
        table.live.insert(live.id.clone(), live.clone());
        Ok(live)
    }

    fn remove(&self, id: &str) -> Option<Arc<Live>> {
        lock(&self.0).remove(id)
    }

    /// Takes out the sessions whose time is over.
    pub(crate) fn expired(&self, limits: &HttpLimits) -> Vec<Arc<Live>> {
        let now = Instant::now();
        let is_over = |live: &Live| {
            let age = now.duration_since(live.born);
            let mut state = lock(&live.state);
            state.rest(now);
            age > limits.age
                || (!state.established && age > limits.handshake)
                || (state.is_idle() && now.duration_since(state.used) > limits.idle)
        };
        let mut table = lock(&self.0);
        let over: Vec<_> = table.live.values().filter(|live| is_over(live)).cloned().collect();
        over.iter().for_each(|live| drop(table.remove(&live.id)));
        over
    }
}

impl Table {
    fn check_principal(&self, principal: Option<&Arc<str>>, limits: &HttpLimits) -> Result<(), Box<Reply>> {
        let own = principal.and_then(|p| self.by_principal.get(p)).copied().unwrap_or_default();
        if own >= limits.sessions_per_principal {
            return Err(reply::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many sessions").into());
        }
        Ok(())
    }

    fn fits(&self, size: usize, limits: &HttpLimits) -> bool {
        self.live.len() < limits.sessions && self.bytes.saturating_add(size) <= limits.openings
    }

    fn remove(&mut self, id: &str) -> Option<Arc<Live>> {
        let live = self.live.remove(id)?;
        shrink(&mut self.live);
        self.bytes -= live.size;
        if let Some(principal) = &live.principal
            && let Some(count) = self.by_principal.get_mut(principal)
        {
            *count -= 1;
            if *count == 0 {
                self.by_principal.remove(principal);
            }
        }
        Some(live)
    }
}

impl Endpoint {
    /// Opens a session.
    pub(crate) async fn open(&self, frame: Frame, text: &Bytes, admitted: &Admitted) -> Reply {
        let (principal, limits) = (&admitted.principal, &self.config.limits);
        if text.len() > limits.opening {
            let what = format!("a message that opens a session cannot be longer than {} bytes", limits.opening);
            return reply::error(StatusCode::PAYLOAD_TOO_LARGE, what);
        }
        match self.state.sessions.room(principal.as_ref(), text.len(), limits) {
            Ok(None) => {}
            Ok(Some(evicted)) => self.let_go(&evicted).await,
            Err(reply) => return *reply,
        }
        let mut connection = self.connection(principal.clone());
        connection.take(frame);
        let Some(Outbound { text: answer, .. }) = poll_fn(|cx| connection.poll_next(cx)).await else {
            return reply::error(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer");
        };
        let Some(shape) = connection.shape() else { return reply::json(StatusCode::BAD_REQUEST, answer) };
        let Some(id) = new_id() else {
            return reply::error(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random numbers");
        };
        connection.rest();
        let record = SessionRecord::new(id.clone(), principal.clone(), self.state.opening(text));
        if let Err(error) = self.config.store.create(record).await {
            tracing::warn!(%error, "a session cannot be stored");
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be stored");
        }
        let live = Live::new(id.clone(), principal.clone(), shape, connection, text.len());
        if let Err(reply) = self.state.sessions.insert(live, limits) {
            let _ = self.config.store.remove(&id).await;
            return *reply;
        }
        self.look_after();
        reply::opened(answer, &id)
    }

    /// Takes a message to its session.
    pub(crate) async fn post(&self, session: &str, frame: Frame, size: usize, admitted: Admitted) -> Reply {
        let live = match self.find(session, admitted.principal.as_ref()).await {
            Ok(live) => live,
            Err(reply) => return *reply,
        };
        let mut reader = match drive::take(&live, frame, size, admitted, &self.config) {
            Ok(Taken::Answered(text)) => return reply::json(StatusCode::OK, text),
            Ok(Taken::Told) => return reply::empty(StatusCode::ACCEPTED),
            Ok(Taken::Awaits(reader)) => reader,
            Err(declined) => return decline(declined),
        };
        match reader.first().await {
            First::Answer(text) => reply::json(StatusCode::OK, text),
            First::Stream | First::Nothing => self.read(reader, &live),
        }
    }

    /// Opens a stream for what belongs to no request, or takes up one that was lost.
    pub(crate) async fn get(&self, session: &str, headers: &HeaderMap, principal: Option<&Arc<str>>) -> Reply {
        let live = match self.find(session, principal).await {
            Ok(live) => live,
            Err(reply) => return *reply,
        };
        let reader = match headers.get(LAST_EVENT_ID) {
            Some(id) if !id.is_empty() => self.resume(&live, text_of(headers, LAST_EVENT_ID).unwrap_or("?")).await,
            _ => self.listen(&live),
        };
        match reader {
            Ok(reader) => self.read(reader, &live),
            Err(reply) => *reply,
        }
    }

    /// Ends a session because its client is done.
    pub(crate) async fn delete(&self, session: &str, principal: Option<&Arc<str>>) -> Reply {
        let live = match self.find(session, principal).await {
            Ok(live) => live,
            Err(reply) => return *reply,
        };
        self.state.sessions.remove(session);
        live.close();
        self.config.events.remove(&live.id).await;
        if let Err(error) = self.config.store.remove(&live.id).await {
            tracing::warn!(%error, "a session that is over stays in the store");
        }
        reply::empty(StatusCode::NO_CONTENT)
    }

    /// Ends a session that was taken out because its time is over.
    pub(crate) async fn let_go(&self, live: &Live) {
        live.close();
        self.config.events.remove(&live.id).await;
        if let Err(error) = self.config.store.evict(&live.id).await {
            tracing::warn!(%error, "a session whose time is over stays in the store");
        }
    }

    fn listen(&self, live: &Arc<Live>) -> Result<Reader, Box<Reply>> {
        let (opened, reader) = live.listen(&self.config.limits).map_err(|declined| Box::new(decline(declined)))?;
        drive::wake(live, &self.config);
        let retry = self.config.limits.retry.as_millis().try_into().unwrap_or(u64::MAX);
        Ok(if live.shape.primes_streams() { reader.begins_with(opened.mark(retry)) } else { reader })
    }

    async fn resume(&self, live: &Arc<Live>, id: &str) -> Result<Reader, Box<Reply>> {
        let lost =
            || Box::new(reply::error(StatusCode::BAD_REQUEST, "what came after this event is not known any more"));
        let (tag, number, seq) = line::parse(id).ok_or_else(lost)?;
        let print = |event: &super::StoredEvent| line::print(tag, number, event.seq, event.text.clone());
        let running = live.line(number).filter(|_| tag == 'r');
        let reader = match (&running, tag) {
            (Some(running), _) => {
                let pipe = Pipe::new(&self.config.limits);
                running.attach(pipe.clone());
                Reader::new(pipe)
            }
            (None, 'g') => self.listen(live)?,
            (None, _) => {
                let pipe = Pipe::new(&self.config.limits);
                pipe.finish();
                Reader::new(pipe)
            }
        };
        // It is asked only now: what is sent from here on comes to the new reader.
        match self.config.events.after(&live.id, number, seq).await {
            // The stream goes on as another one, with numbers of its own.
            Some(missed) if tag == 'g' => Ok(missed.iter().fold(reader, |reader, e| reader.begins_with(print(e)))),
            Some(missed) => Ok(reader.after(&missed, print)),
            // Nothing may have been sent yet.
            None if seq == 0 && (running.is_some() || tag == 'g') => Ok(reader),
            None => Err(lost()),
        }
    }

    fn read(&self, reader: Reader, live: &Live) -> Reply {
        let held: Arc<dyn Held> = reader.pipe().clone();
        match self.ticket(&held, live.principal.as_ref()) {
            Ok(ticket) => reply::events(Events::new(Source::Pipe(reader), ticket, self.config.limits.keep_alive)),
            Err(refused) => *refused,
        }
    }

    /// The session of this id, if it belongs to whoever asks. One that another process opened is taken over.
    async fn find(&self, id: &str, principal: Option<&Arc<str>>) -> Result<Arc<Live>, Box<Reply>> {
        let lost = || Box::new(not_found());
        if let Some(live) = self.state.sessions.get(id) {
            return if live.principal.as_ref() == principal { Ok(live) } else { Err(lost()) };
        }
        match self.config.store.load(id).await {
            Ok(record) => self.take_over(record.filter(|r| r.principal.as_ref() == principal).ok_or_else(lost)?).await,
            Err(error) => {
                tracing::warn!(%error, "the store of sessions does not answer");
                Err(reply::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be looked for").into())
            }
        }
    }

    /// Goes on with a session that lived elsewhere.
    async fn take_over(&self, record: SessionRecord) -> Result<Arc<Live>, Box<Reply>> {
        // Another request may have been faster.
        if let Some(live) = self.state.sessions.get(&record.id) {
            return Ok(live);
        }
        let (size, limits) = (record.opening.len(), &self.config.limits);
        if let Some(evicted) = self.state.sessions.room(record.principal.as_ref(), size, limits)? {
            self.let_go(&evicted).await;
        }
        let mut connection = self.connection(record.principal.clone());
        reopen(&mut connection, record.opening, &self.config.connection).await;
        connection.receive(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        if let Some(memory) = &record.memory {
            connection.recall(memory);
        }
        let shape = connection.shape().ok_or_else(|| Box::new(not_found()))?;
        let live = Live::new(record.id, record.principal, shape, connection, size).established();
        let live = self.state.sessions.insert(live, limits)?;
        self.look_after();
        Ok(live)
    }
}

fn not_found() -> Reply {
    reply::error(StatusCode::NOT_FOUND, "there is no such session; open another one with `initialize`")
}

fn full() -> Box<Reply> {
    Box::new(reply::busy(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"))
}

pub(crate) fn decline(declined: Declined) -> Reply {
    match declined {
        Declined::Gone => not_found(),
        Declined::Busy => reply::busy(StatusCode::TOO_MANY_REQUESTS, "too many requests at the same time"),
        Declined::Wrong(id, error) => reply::refused(&Refusal { status: 400, id, error }),
    }
}

/// 192 bits from the system's random source, in letters that a header can carry.
pub(crate) fn new_id() -> Option<Arc<str>> {
    let mut random = [0_u8; 24];
    getrandom::fill(&mut random).ok()?;
    Some(random.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}
