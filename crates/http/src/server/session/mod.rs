//! What requests do with sessions, and how each finds its own.

pub(crate) mod claim;
pub(crate) mod driver;
pub(crate) mod http_sse;
mod id_hash;
pub(crate) mod lease;
pub(crate) mod live;
#[cfg(feature = "replicas")]
mod mailbox;
pub(crate) mod memory;
pub(crate) mod renew;
pub(crate) mod sessionless;
pub(crate) mod store;
pub(crate) mod store_timeout;
pub(crate) mod table;

use std::{future::poll_fn, pin::pin, sync::Arc};

use bytes::Bytes;
use couplet_core::{
    Caller, Error, Method, Outbound, Retry,
    http::{Refusal, headers::LAST_EVENT_ID},
    message::{Body, Frame},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::server::{
    endpoint::Endpoint,
    request::{admit::Admitted, deadline::within, text_of},
    response::{self, Reply},
    session::{
        claim::{Found, There},
        driver::Taken,
        live::{Declined, LiveSession},
        store::SessionRecord,
        store_timeout::log_failure,
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
        let lease = match self.config.create(record).await {
            Ok(lease) => lease,
            Err(error) => {
                log_failure(&error, "a session cannot be stored");
                return response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be stored");
            }
        };
        let live = LiveSession::new(id.clone(), principal, revision, connection, text.len(), lease).counted(share);
        let (inserted, evicted) = self.state.sessions.insert(live, limits);
        self.look_after();
        self.renew_leases();
        self.evict(&evicted).await;
        match inserted {
            Ok(_) => response::opened(answer, &id),
            Err(reply) => {
                let _ = self.config.remove(&id).await;
                *reply
            }
        }
    }

    /// Takes a message to its session.
    pub(crate) async fn post(&self, session: &str, frame: Frame, text: &Bytes, mut admitted: Admitted) -> Reply {
        let live = match self.find(session, admitted.principal()).await {
            Ok(Found::Here(live)) => live,
            Ok(Found::There(there)) => match Box::pin(self.reach(there, text, Wants::of(&frame), admitted)).await {
                Ok((live, back)) => {
                    admitted = back;
                    live
                }
                Err(reply) => return *reply,
            },
            Err(reply) => return *reply,
        };
        if self.hand_over(&live, &admitted).await {
            return misdirected();
        }
        if !live.is_established() {
            self.state.sessions.establish(&live);
        }
        if let Some(context) = admitted.context.as_mut().and_then(Arc::get_mut) {
            context.session = Some(live.id.clone());
        }
        let caller = admitted.caller.clone();
        match driver::take(&live, frame, text.len(), admitted, &self.config) {
            Ok(Taken::Answered(text)) => response::json(StatusCode::OK, text),
            Ok(Taken::Told) => response::empty(StatusCode::ACCEPTED),
            Ok(Taken::Awaits(line, reader)) => self.wait(&live, &line, reader, caller.as_ref()).await,
            Err(Declined::Gone) if !live.is_owned() => elsewhere(),
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
                Some(First::Nothing) if !live.is_owned() => return moved(),
                Some(First::Refused) => return unstored(),
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
    pub(crate) async fn get(&self, session: &str, headers: &HeaderMap, mut admitted: Admitted) -> Reply {
        let live = match self.find(session, admitted.principal()).await {
            Ok(Found::Here(live)) => live,
            Ok(Found::There(there)) => match Box::pin(self.reach(there, &Bytes::new(), Wants::READ, admitted)).await {
                Ok((live, back)) => {
                    admitted = back;
                    live
                }
                Err(reply) => return *reply,
            },
            Err(reply) => return *reply,
        };
        if self.hand_over(&live, &admitted).await {
            return misdirected();
        }
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
    pub(crate) async fn delete(&self, session: &str, admitted: Admitted) -> Reply {
        let here = match self.find(session, admitted.principal()).await {
            Ok(Found::Here(live)) => Some(live),
            Ok(Found::There(there)) if self.can_reach(&there) => {
                match Box::pin(self.reach(there, &Bytes::new(), Wants::READ, admitted)).await {
                    Ok((live, _)) => Some(live),
                    Err(reply) => return *reply,
                }
            }
            // Its owner hears of it when it renews the lease.
            Ok(Found::There(_)) => None,
            Err(reply) => return *reply,
        };
        if let Some(live) = here {
            self.state.sessions.remove_this(&live);
            live.close();
        }
        if let Err(error) = self.config.remove(session).await {
            // Another replica may still claim it.
            log_failure(&error, "a session that is over stays in the store");
            return response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be removed from the store");
        }
        response::empty(StatusCode::NO_CONTENT)
    }

    /// Ends sessions for which there was no room. A flood of them must not fill the store.
    pub(crate) async fn evict(&self, gone: &[Arc<LiveSession>]) {
        gone.iter().for_each(|live| live.close());
        self.config.give_up(gone, |_| false).await;
    }

    /// Ends sessions that were idle here or are over.
    pub(crate) async fn expire(&self, gone: &[Arc<LiveSession>]) {
        gone.iter().for_each(|live| live.close());
        let goes_on = |live: &LiveSession| live.is_established() && live.born.elapsed() <= self.config.limits.age;
        self.config.give_up(gone, goes_on).await;
    }

    /// Whether requests can be forwarded to the owner of a session.
    fn can_reach(&self, there: &There) -> bool {
        #[cfg(feature = "replicas")]
        return self.config.replicas.is_some() && there.owner.url.is_some();
        #[cfg(not(feature = "replicas"))]
        return {
            let _ = there;
            false
        };
    }

    /// Without the feature `replicas` requests are not forwarded.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "replicas"))]
    async fn reach(
        &self,
        _: Box<There>,
        _: &Bytes,
        _: Wants,
        _: Admitted,
    ) -> Result<(Arc<LiveSession>, Admitted), Box<Reply>> {
        Err(elsewhere().into())
    }

    fn listen(&self, live: &Arc<LiveSession>) -> Result<Reader, Box<Reply>> {
        let (opened, reader) = live.listen(&self.config).map_err(|declined| Box::new(decline(declined)))?;
        driver::wake(live, &self.config);
        Ok(self.primed(live, &opened, reader))
    }

    /// A reader that next gets the id of its stream, where streams are primed.
    fn primed(&self, live: &LiveSession, line: &SessionStream, reader: Reader) -> Reader {
        let retry = self.config.limits.retry_millis();
        if live.revision.primes_streams() { reader.begins_with(line.mark(retry)) } else { reader }
    }

    async fn resume(&self, live: &Arc<LiveSession>, id: &str) -> Result<Reader, Box<Reply>> {
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
            (None, 'g') => return self.listen_again(live, number, seq).await,
            (None, _) => {
                let pipe = EventQueue::new(&self.config);
                pipe.finish();
                Reader::new(pipe)
            }
        };
        // It is asked only now: what is sent from here on comes to the new reader.
        match self.config.after(&live.id, number, seq).await.map_err(late)? {
            // Its call was lost with the replica that ran it: there will be no answer.
            Some(missed) if tag == 'r' && missed.is_empty() && number >> 32 != live.generation() => Err(lost()),
            Some(missed) => Ok(reader.after(&missed, print)),
            // Nothing may have been sent yet.
            None if seq == 0 && running.is_some() => Ok(reader),
            None => Err(lost()),
        }
    }

    /// Resumes a stream that belongs to no request. It goes on as another one, with numbers of its own, which begins with all
    /// that the client missed: also in streams that continued it before and were lost, too.
    async fn listen_again(&self, live: &Arc<LiveSession>, number: u64, seq: u64) -> Result<Reader, Box<Reply>> {
        // A resumption that is refused leaves the open streams as they are. Before the first event there is nothing to find.
        if seq != 0 && self.config.after(&live.id, number, seq).await.map_err(late)?.is_none() {
            return Err(lost());
        }
        let opened = live.listen_again(&self.config, number);
        let (line, mut reader, before) = opened.map_err(|declined| Box::new(decline(declined)))?;
        driver::wake(live, &self.config);
        let mut seq = seq;
        for number in before {
            if live.is_lost(number) {
                return Err(lost());
            }
            let missed = self.config.after(&live.id, number, seq).await.map_err(late)?;
            // Nothing may have been sent yet.
            let missed = missed.or_else(|| (seq == 0).then(Vec::new)).ok_or_else(lost)?;
            for event in missed {
                reader = reader.begins_with(session_stream::encode('g', number, event.seq, event.text));
            }
            seq = 0;
        }
        // Its id comes last: the client resumes with the last one that it has read.
        Ok(self.primed(live, &line, reader))
    }

    fn read(&self, reader: Reader, caller: Option<&Arc<Caller>>) -> Reply {
        let held: Arc<dyn Held> = reader.pipe().clone();
        match self.ticket(&held, caller) {
            Ok(ticket) => response::events(Events::new(Source::Queue(reader), ticket, self.config.limits.keep_alive)),
            Err(refused) => *refused,
        }
    }
}

/// The events after a given one are not stored any more.
fn lost() -> Box<Reply> {
    Box::new(response::error(StatusCode::BAD_REQUEST, "what came after this event is not known any more"))
}

fn late(error: Error) -> Box<Reply> {
    log_failure(&error, "the store of events does not answer");
    Box::new(response::busy(StatusCode::SERVICE_UNAVAILABLE, "the events cannot be looked for"))
}

pub(crate) fn not_found() -> Reply {
    response::error(StatusCode::NOT_FOUND, "there is no such session; open another one with `initialize`")
}

/// The session has another owner, to which requests cannot be forwarded.
pub(crate) fn elsewhere() -> Reply {
    response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session belongs to another replica at the moment")
}

/// What the sender of a request for a session wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "replicas"), allow(dead_code, reason = "it is for forwarding"))]
pub(crate) enum Wants {
    /// A response. The request may be sent again if nothing is known of the first one, or not.
    Response(Retry),
    /// Notifications and responses have no response, and the same effect twice.
    Delivery,
}

impl Wants {
    const READ: Self = Self::Response(Retry::Idempotent);

    fn of(frame: &Frame) -> Self {
        let is_request = |body: &Body| matches!(body, Body::Request { .. });
        match frame {
            Frame::Single(message) => match &message.body {
                Body::Request { method, .. } => {
                    Self::Response(Method::named(method).map_or(Retry::Never, |method| method.retry))
                }
                Body::Notification { .. } | Body::Response { .. } => Self::Delivery,
            },
            Frame::Batch(all) if all.iter().flatten().any(|message| is_request(&message.body)) => {
                Self::Response(Retry::Never)
            }
            Frame::Batch(all) if all.iter().any(Result::is_err) => Self::Response(Retry::Never),
            Frame::Batch(_) => Self::Delivery,
        }
    }
}

/// The request was not handled, because another replica owns the session.
pub(crate) fn misdirected() -> Reply {
    response::error(StatusCode::MISDIRECTED_REQUEST, "the session belongs to another replica")
}

/// The session was lost while a request was under way.
fn moved() -> Reply {
    let what = "the session has moved to another replica; the outcome of the request is not known";
    response::error(StatusCode::SERVICE_UNAVAILABLE, what)
}

/// The settings of a session hold here, and another replica will not know of them.
fn unstored() -> Reply {
    let mut reply = response::error(StatusCode::SERVICE_UNAVAILABLE, "the settings of the session cannot be stored");
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

pub(crate) fn decline(declined: Declined) -> Reply {
    match declined {
        Declined::Gone => not_found(),
        Declined::Moved => moved(),
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
