//! What requests do with sessions, and how each finds its own.

pub(crate) mod driver;
pub(crate) mod http_sse;
pub(crate) mod live;
pub(crate) mod sessionless;
pub(crate) mod store;
pub(crate) mod store_timeout;
pub(crate) mod table;

use std::{future::poll_fn, pin::pin, sync::Arc};

use bytes::Bytes;
use couplet_core::{
    Caller, Outbound,
    http::{Refusal, headers::LAST_EVENT_ID},
    message::Frame,
};
use http::{HeaderMap, StatusCode};

use crate::server::{
    endpoint::Endpoint,
    request::{admit::Admitted, deadline::within, text_of},
    response::{self, Reply},
    session::{
        driver::Taken,
        live::{Declined, LiveSession},
        sessionless::reopen,
        store::SessionRecord,
        store_timeout::Late,
    },
    stream::{
        body::{Events, Source},
        event_queue::{EventQueue, First, Reader},
        open_streams::Held,
        session_stream::{self, SessionStream},
    },
};

impl Endpoint {
    /// Opens a session.
    pub(crate) async fn open(&self, frame: Frame, text: &Bytes, admitted: &Admitted) -> Reply {
        let (principal, limits) = (admitted.principal().cloned(), &self.config.limits);
        if text.len() > limits.opening {
            let what = format!("a message that opens a session cannot be longer than {} bytes", limits.opening);
            return response::error(StatusCode::PAYLOAD_TOO_LARGE, what);
        }
        if let Err(reply) = self.state.sessions.check(principal.as_ref(), text.len(), limits) {
            return *reply;
        }
        let Some(share) = self.share_of_sessions(admitted.network) else {
            return response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many sessions");
        };
        let mut connection = self.connection(admitted.caller.clone());
        connection.receive_frame(frame);
        let Some(Outbound { text: answer, .. }) = poll_fn(|cx| connection.poll_next(cx)).await else {
            return response::error(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer");
        };
        let Some(revision) = connection.revision() else { return response::json(StatusCode::BAD_REQUEST, answer) };
        let Some(id) = new_id() else {
            return response::error(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random numbers");
        };
        connection.shrink();
        let record = SessionRecord::new(id.clone(), principal.clone(), self.state.opening(text));
        if let Err(error) = self.config.create(record).await {
            tracing::warn!(%error, "a session cannot be stored");
            return response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be stored");
        }
        let live = LiveSession::new(id.clone(), principal, revision, connection, text.len()).counted(share);
        let (inserted, evicted) = self.state.sessions.insert(live, limits);
        self.look_after();
        self.let_go(&evicted).await;
        match inserted {
            Ok(_) => response::opened(answer, &id),
            Err(reply) => {
                let _ = self.config.remove(&id).await;
                *reply
            }
        }
    }

    /// Takes a message to its session.
    pub(crate) async fn post(&self, session: &str, frame: Frame, size: usize, mut admitted: Admitted) -> Reply {
        let live = match self.find(session, admitted.principal()).await {
            Ok(live) => live,
            Err(reply) => return *reply,
        };
        if !live.is_established() {
            self.state.sessions.establish(&live);
        }
        if let Some(context) = admitted.context.as_mut().and_then(Arc::get_mut) {
            context.session = Some(live.id.clone());
        }
        let caller = admitted.caller.clone();
        match driver::take(&live, frame, size, admitted, &self.config) {
            Ok(Taken::Answered(text)) => response::json(StatusCode::OK, text),
            Ok(Taken::Told) => response::empty(StatusCode::ACCEPTED),
            Ok(Taken::Awaits(line, reader)) => self.wait(&live, &line, reader, caller.as_ref()).await,
            Err(declined) => decline(declined),
        }
    }

    /// Waits for what comes first. After the keep-alive time the stream begins without anything: load balancers cut
    /// connections on which nothing is sent, and where the stream has an id, the answer can be had with it later.
    async fn wait(
        &self,
        live: &LiveSession,
        line: &SessionStream,
        mut reader: Reader,
        caller: Option<&Arc<Caller>>,
    ) -> Reply {
        let limits = &self.config.limits;
        loop {
            let first = within(limits.keep_alive, pin!(reader.first())).await;
            match first {
                Some(First::Answer(text)) => return response::json(StatusCode::OK, text),
                Some(First::Stream | First::Nothing) => return self.read(reader, caller),
                None => {}
            }
            let held: Arc<dyn Held> = reader.pipe().clone();
            // Without room for a stream the answer comes alone.
            if let Ok(ticket) = self.ticket(&held, caller)
                && line.begin(live.revision, limits.retry_millis())
            {
                return response::events(Events::new(Source::Queue(reader), ticket, limits.keep_alive));
            }
        }
    }

    /// Opens a stream for what belongs to no request, or takes up one that was lost.
    pub(crate) async fn get(&self, session: &str, headers: &HeaderMap, admitted: &Admitted) -> Reply {
        let live = match self.find(session, admitted.principal()).await {
            Ok(live) => live,
            Err(reply) => return *reply,
        };
        let reader = match headers.get(LAST_EVENT_ID) {
            Some(id) if !id.is_empty() => self.resume(&live, text_of(headers, LAST_EVENT_ID).unwrap_or("?")).await,
            _ => self.listen(&live),
        };
        match reader {
            Ok(reader) => self.read(reader, admitted.caller.as_ref()),
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
        if let Err(error) = self.config.remove(&live.id).await {
            // Another process may still have it from there.
            tracing::warn!(%error, "a session that is over stays in the store");
            return response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be removed from the store");
        }
        response::empty(StatusCode::NO_CONTENT)
    }

    /// Ends sessions that were taken out because their time is over or there was no room.
    pub(crate) async fn let_go(&self, gone: &[Arc<LiveSession>]) {
        gone.iter().for_each(|live| live.close());
        self.config.evict(gone).await;
    }

    fn listen(&self, live: &Arc<LiveSession>) -> Result<Reader, Box<Reply>> {
        let (opened, reader) = live.listen(&self.config).map_err(|declined| Box::new(decline(declined)))?;
        driver::wake(live, &self.config);
        let retry = self.config.limits.retry_millis();
        Ok(if live.revision.primes_streams() { reader.begins_with(opened.mark(retry)) } else { reader })
    }

    async fn resume(&self, live: &Arc<LiveSession>, id: &str) -> Result<Reader, Box<Reply>> {
        let lost =
            || Box::new(response::error(StatusCode::BAD_REQUEST, "what came after this event is not known any more"));
        let (tag, number, seq) = session_stream::parse(id).ok_or_else(lost)?;
        if live.is_lost(number) {
            return Err(lost());
        }
        let print =
            |event: &crate::server::StoredEvent| session_stream::encode(tag, number, event.seq, event.text.clone());
        let running = live.line(number).filter(|_| tag == 'r');
        let reader = match (&running, tag) {
            (Some(running), _) => {
                let pipe = EventQueue::new(&self.config);
                running.attach(pipe.clone());
                Reader::new(pipe)
            }
            (None, 'g') => self.listen(live)?,
            (None, _) => {
                let pipe = EventQueue::new(&self.config);
                pipe.finish();
                Reader::new(pipe)
            }
        };
        // It is asked only now: what is sent from here on comes to the new reader.
        let late = |Late| Box::new(response::busy(StatusCode::SERVICE_UNAVAILABLE, "the events cannot be looked for"));
        match self.config.after(&live.id, number, seq).await.map_err(late)? {
            // The stream goes on as another one, with numbers of its own.
            Some(missed) if tag == 'g' => Ok(missed.iter().fold(reader, |reader, e| reader.begins_with(print(e)))),
            Some(missed) => Ok(reader.after(&missed, print)),
            // Nothing may have been sent yet.
            None if seq == 0 && (running.is_some() || tag == 'g') => Ok(reader),
            None => Err(lost()),
        }
    }

    fn read(&self, reader: Reader, caller: Option<&Arc<Caller>>) -> Reply {
        let held: Arc<dyn Held> = reader.pipe().clone();
        match self.ticket(&held, caller) {
            Ok(ticket) => response::events(Events::new(Source::Queue(reader), ticket, self.config.limits.keep_alive)),
            Err(refused) => *refused,
        }
    }

    /// Returns the session of this id, if it belongs to the caller. A session of another replica is taken over.
    async fn find(&self, id: &str, principal: Option<&Arc<str>>) -> Result<Arc<LiveSession>, Box<Reply>> {
        let lost = || Box::new(not_found());
        if let Some(live) = self.state.sessions.get(id) {
            return if live.principal.as_ref() == principal { Ok(live) } else { Err(lost()) };
        }
        match self.config.load(id).await {
            Ok(record) => self.take_over(record.filter(|r| r.principal.as_ref() == principal).ok_or_else(lost)?).await,
            Err(error) => {
                tracing::warn!(%error, "the store of sessions does not answer");
                Err(response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be looked for").into())
            }
        }
    }

    /// Goes on with a session that lived elsewhere.
    async fn take_over(&self, record: SessionRecord) -> Result<Arc<LiveSession>, Box<Reply>> {
        // Another request may have been faster.
        if let Some(live) = self.state.sessions.get(&record.id) {
            return Ok(live);
        }
        let (size, limits) = (record.opening.len(), &self.config.limits);
        self.state.sessions.check(record.principal.as_ref(), size, limits)?;
        let mut connection = self.connection(None);
        reopen(&mut connection, record.opening, &self.config.connection).await;
        connection.receive(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        if let Some(memory) = &record.memory {
            connection.restore_memory(memory);
        }
        let revision = connection.revision().ok_or_else(|| Box::new(not_found()))?;
        let live = LiveSession::new(record.id, record.principal, revision, connection, size).established();
        let (inserted, evicted) = self.state.sessions.insert(live, limits);
        self.look_after();
        self.let_go(&evicted).await;
        inserted
    }
}

fn not_found() -> Reply {
    response::error(StatusCode::NOT_FOUND, "there is no such session; open another one with `initialize`")
}

pub(crate) fn decline(declined: Declined) -> Reply {
    match declined {
        Declined::Gone => not_found(),
        Declined::Busy => response::busy(StatusCode::TOO_MANY_REQUESTS, "too many requests at the same time"),
        Declined::Wrong(id, error) => response::refused(&Refusal { status: 400, id, error }),
    }
}

/// 192 bits from the system's random source, in letters that a header can carry.
pub(crate) fn new_id() -> Option<Arc<str>> {
    let mut random = [0_u8; 24];
    getrandom::fill(&mut random).ok()?;
    Some(random.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}
