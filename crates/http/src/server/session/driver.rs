//! Who drives a session's connection: the request that finds it free, for as long as it need not wait, or a task while
//! there is something to do.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_core::{
    EncodedMessage, Outbound, Route, ServerConnection,
    message::{Body, Frame, Message},
};
use couplet_types::RequestId;

use tokio::time::Instant;

use crate::server::{
    endpoint::Config,
    lock,
    request::admit::Admitted,
    session::{
        live::{Declined, LiveSession, State},
        store_timeout::Written,
    },
    stream::{event_queue::Reader, event_store::StoredEvent, session_stream::SessionStream},
};

/// The number of messages that are held while no stream can deliver them.
const UNHEARD: usize = 64;

/// What became of a message.
pub(crate) enum Taken {
    /// It has its answer.
    Answered(EncodedMessage),
    /// Its answers will come here.
    Awaits(Arc<SessionStream>, Reader),
    /// It has none.
    Told,
}

/// Takes a message to its session's connection. What can be answered at once is answered here, without the task.
///
/// # Errors
/// Why it is not taken.
pub(crate) fn take(
    live: &Arc<LiveSession>,
    frame: Frame,
    size: usize,
    mut admitted: Admitted,
    config: &Arc<Config>,
) -> Result<Taken, Declined> {
    let _guard = Guard(live.clone());
    let Some((id, mut connection, waker)) = live.borrow(&frame, &config.limits)? else {
        let reader = live.submit(frame, size, admitted, config)?;
        wake(live, config);
        return Ok(reader.map_or(Taken::Told, |(line, reader)| Taken::Awaits(line, reader)));
    };
    // Whatever has to go on later goes on in the task, if there is one.
    let cx = &mut Context::from_waker(waker.as_ref().unwrap_or(Waker::noop()));
    connection.set_caller(admitted.caller.clone());
    connection.set_context(admitted.take_context());
    connection.receive_frame(frame);
    let first = match connection.poll_calls(cx) {
        Poll::Ready(Outbound { text, route: Route::Answer(to, _) }) if to == id && !connection.memory_changed() => {
            let next = ready(connection.poll_calls(cx));
            live.give_back(connection, next, config)?;
            if !live.is_owned() {
                live.fence();
                return Err(Declined::Moved);
            }
            return Ok(Taken::Answered(text));
        }
        first => ready(first),
    };
    let (line, reader) = live.expect(vec![id], admitted, config);
    live.give_back(connection, first, config)?;
    Ok(Taken::Awaits(line, reader))
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Makes sure that a session's connection is driven.
pub(crate) fn wake(live: &Arc<LiveSession>, config: &Arc<Config>) {
    let _guard = Guard(live.clone());
    let mut state = lock(&live.state);
    let Some(mut connection) = state.parked.take() else { return };
    if !state.has_task {
        take_input(&mut state, &mut connection);
    }
    state.parked = Some(connection);
    start(live, &mut state, config);
}

/// Starts the task if there is something to do for it.
fn start(live: &Arc<LiveSession>, state: &mut State, config: &Arc<Config>) {
    let unanswered = state.parked.as_ref().is_some_and(|connection| connection.unanswered() > 0);
    if !state.has_task && (unanswered || !state.is_idle()) {
        state.has_task = true;
        // In a box, because it is moved several times before it runs.
        tokio::spawn(Box::pin(drive(live.clone(), config.clone())));
    }
}

impl LiveSession {
    /// Puts the connection back, with a message that came out of it and is not sent yet.
    ///
    /// # Errors
    /// When the session is over.
    fn give_back(
        self: &Arc<Self>,
        mut connection: Box<ServerConnection>,
        unsent: Option<Outbound>,
        config: &Arc<Config>,
    ) -> Result<(), Declined> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(if self.is_owned() { Declined::Gone } else { Declined::Moved });
        }
        if state.ending {
            connection.cancel_client_requests();
        }
        state.used = Instant::now();
        state.parked = Some(connection);
        state.unsent = unsent.map(Box::new);
        // The task may have looked for the connection in vain.
        if std::mem::take(&mut state.missed) || state.unsent.is_some() || !state.inbox.is_empty() {
            state.wake_driver();
        }
        start(self, &mut state, config);
        Ok(())
    }
}

enum Step {
    /// A message for a stream; the last one if it is so.
    Send(Arc<SessionStream>, Outbound, bool),
    /// A stream can be left for that many milliseconds.
    Release(Arc<SessionStream>, u64),
    /// There is nothing more to do.
    Over,
}

async fn drive(live: Arc<LiveSession>, config: Arc<Config>) {
    let _guard = Guard(live.clone());
    let mut held = None;
    loop {
        // A handler that sends much without an open stream would starve the others.
        tokio::task::coop::consume_budget().await;
        let step = poll_fn(|cx| poll_step(&live, &mut held, cx)).await;
        // Before the client hears that something is remembered, it is.
        let memory = held.as_mut().and_then(|connection| connection.changed_memory());
        let remembered = match memory {
            Some(memory) => remember(&live, memory, &config).await,
            None => Written::Stored,
        };
        if matches!(remembered, Written::Fenced) || !live.is_owned() {
            return live.fence();
        }
        match step {
            Step::Send(line, _, true) if matches!(remembered, Written::Failed) && line.refuse() => {
                lock(&live.state).finishing = None;
            }
            Step::Send(line, Outbound { text, .. }, last) => {
                if !deliver(&live, &line, text, last, &config).await {
                    return live.fence();
                }
                if last {
                    lock(&live.state).finishing = None;
                }
            }
            Step::Release(line, after) => line.release(live.revision, after),
            Step::Over => return,
        }
    }
}

/// Stores the settings of a session. If that fails it is tried again when the lease is renewed.
pub(crate) async fn remember(live: &LiveSession, memory: Bytes, config: &Config) -> Written {
    let written = config.remember(live, memory.clone()).await;
    lock(&live.state).unstored = matches!(written, Written::Failed).then_some(memory);
    written
}

/// Stores a message and sends it; false if this replica does not own the session any more.
async fn deliver(live: &LiveSession, line: &SessionStream, text: EncodedMessage, last: bool, config: &Config) -> bool {
    let Some((seq, text)) = line.next(text, last, live.revision, config.limits.retry_millis()) else { return true };
    // After one event is lost the others are of no use.
    if !line.is_lost() {
        match config.append(live, line.number, StoredEvent { seq, text: text.clone() }).await {
            Written::Stored => {}
            Written::Failed => live.lose(line),
            Written::Fenced => return false,
        }
    }
    let is_owned = live.is_owned();
    if is_owned {
        line.send(seq, text, last);
    }
    is_owned
}

/// Ends a session whose connection was lost in a panic: its client gets 404 and opens another one.
struct Guard(Arc<LiveSession>);

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// The next thing to do. The connection is held until there is nothing to do, and then put back.
fn poll_step(live: &LiveSession, held: &mut Option<Box<ServerConnection>>, cx: &mut Context<'_>) -> Poll<Step> {
    loop {
        let mut state = lock(&live.state);
        if state.closed || !live.is_owned() {
            let parked = state.parked.take();
            // What it drops may want to look at the session.
            drop(state);
            drop(parked);
            return Poll::Ready(Step::Over);
        }
        state.driver = Some(cx.waker().clone());
        let Some(mut connection) = held.take().or_else(|| state.parked.take()) else {
            state.missed = true;
            return Poll::Pending;
        };
        if state.ending {
            connection.cancel_client_requests();
        }
        take_input(&mut state, &mut connection);
        state.gets.retain(|line| !line.pipe().is_gone());
        // A loop without short cuts: each stream has to know whom to wake.
        let full = state.lines.values().chain(&state.gets).filter(|line| line.pipe().is_full(cx)).count();
        if full > 0 {
            drop(state);
            connection.poll_run(cx);
            lock(&live.state).parked = Some(connection);
            return Poll::Pending;
        }
        let hears = !state.gets.is_empty();
        let next = if let Some(unsent) = state.unsent.take() {
            Poll::Ready(Some(*unsent))
        } else if hears && let Some(text) = state.unheard.pop_front() {
            Poll::Ready(Some(Outbound { text: text.into(), route: Route::Session }))
        } else {
            drop(state);
            // The handlers run here, and no request waits for them.
            let next = if hears { connection.poll_next(cx) } else { connection.poll_calls(cx).map(Some) };
            state = lock(&live.state);
            next
        };
        match next {
            Poll::Ready(Some(outbound)) => {
                *held = Some(connection);
                if let Some(step) = route(&mut state, outbound) {
                    return Poll::Ready(step);
                }
            }
            Poll::Ready(None) => return Poll::Ready(Step::Over),
            Poll::Pending if !state.inbox.is_empty() && connection.wants_input() => *held = Some(connection),
            Poll::Pending => {
                let is_idle = state.is_idle() && connection.unanswered() == 0;
                state.parked = Some(connection);
                if !is_idle {
                    return Poll::Pending;
                }
                state.has_task = false;
                state.driver = None;
                state.used = Instant::now();
                return Poll::Ready(Step::Over);
            }
        }
    }
}

/// Gives the connection what came in, and closes the streams of what was cancelled.
fn take_input(state: &mut State, connection: &mut ServerConnection) {
    while connection.wants_input()
        && let Some(frame) = state.next_input(connection)
    {
        let tells = match &frame {
            Frame::Single(Message { body: Body::Notification { .. }, .. }) | Frame::Batch(_) => true,
            Frame::Single(_) => false,
        };
        if !tells {
            connection.receive_frame(frame);
            continue;
        }
        let running: Vec<RequestId> = state.lines.keys().filter(|id| connection.awaits(id)).cloned().collect();
        connection.receive_frame(frame);
        for id in running.iter().filter(|id| !connection.awaits(id)) {
            // The answers to a batch come together, if there are any.
            if let Some(line) = state.lines.remove(id)
                && !line.ids.iter().any(|id| state.lines.contains_key(id))
            {
                line.close();
            }
        }
    }
}

/// The stream of a message; `None` if no open stream can deliver it.
fn route(state: &mut State, outbound: Outbound) -> Option<Step> {
    match &outbound.route {
        Route::Session => match state.gets.last() {
            Some(line) => Some(Step::Send(line.clone(), outbound, false)),
            None => {
                if state.unheard.len() >= UNHEARD {
                    state.unheard.pop_front();
                }
                state.unheard.push_back(outbound.text.into_bytes());
                None
            }
        },
        Route::Request(id) => {
            let line = state.lines.get(id)?.clone();
            Some(Step::Send(line, outbound, false))
        }
        Route::Release(id, after) => Some(Step::Release(state.lines.get(id)?.clone(), *after)),
        Route::Answer(id, _) => {
            let line = state.lines.remove(id)?;
            state.finishing = Some(line.clone());
            Some(Step::Send(line, outbound, true))
        }
        Route::Batch(first) => {
            // The first request may have been cancelled; the batch is known by any other as well.
            let line = state.lines.get(first).or_else(|| state.lines.values().find(|l| l.ids.contains(first)))?.clone();
            state.lines.retain(|_, other| !Arc::ptr_eq(other, &line));
            state.finishing = Some(line.clone());
            Some(Step::Send(line, outbound, true))
        }
    }
}
