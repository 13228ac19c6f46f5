//! The task that drives a session's connection while there is something to do.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use couplet_core::{
    Connection, Outbound, Route,
    message::{Body, Frame, Message},
};
use couplet_types::RequestId;

use super::{
    endpoint::Config,
    events::StoredEvent,
    line::Line,
    live::{Live, State},
    lock,
};

/// How many messages that nobody can hear are kept.
const UNHEARD: usize = 64;

/// Makes sure that a session's connection is driven.
pub(crate) fn wake(live: &Arc<Live>, config: &Arc<Config>) {
    let _guard = Guard(live.clone());
    let mut state = lock(&live.state);
    let Some(mut connection) = state.parked.take() else { return };
    take_input(&mut state, &mut connection);
    if state.is_idle() && connection.unanswered() == 0 {
        state.parked = Some(connection);
        return;
    }
    drop(state);
    tokio::spawn(drive(live.clone(), connection, config.clone()));
}

enum Step {
    /// A message for a stream; the last one if it is so.
    Send(Arc<Line>, Outbound, bool),
    /// A stream can be left for that many milliseconds.
    Release(Arc<Line>, u64),
    /// There is nothing to do.
    Idle,
    /// The session is over.
    Over,
}

async fn drive(live: Arc<Live>, mut connection: Box<Connection>, config: Arc<Config>) {
    let _guard = Guard(live.clone());
    let retry = config.limits.retry.as_millis().try_into().unwrap_or(u64::MAX);
    loop {
        // Somebody who says much, and whom nobody hears, would never let anybody else run.
        tokio::task::coop::consume_budget().await;
        let step = poll_fn(|cx| poll_step(&live, &mut connection, cx)).await;
        // Before the client hears that something is remembered, it is.
        if let Some(memory) = connection.changed_memory()
            && let Err(error) = config.store.remember(&live.id, memory).await
        {
            tracing::warn!(%error, "what a session remembers cannot be stored");
        }
        match step {
            Step::Send(line, Outbound { text, .. }, last) => {
                let text = text.into_bytes();
                if let Some(seq) = line.next(&text, last, live.shape, retry) {
                    config.events.append(&live.id, line.number, StoredEvent { seq, text: text.clone() }).await;
                    line.send(seq, text, last);
                }
                if last {
                    lock(&live.state).finishing = None;
                }
            }
            Step::Release(line, after) => line.release(live.shape, after),
            Step::Idle => {
                let mut state = lock(&live.state);
                if state.closed {
                    return;
                }
                if state.is_idle() {
                    state.used = tokio::time::Instant::now();
                    state.parked = Some(connection);
                    return;
                }
            }
            Step::Over => return,
        }
    }
}

/// A session whose connection was lost in a panic is over: its client is told so, and opens another one.
struct Guard(Arc<Live>);

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

fn poll_step(live: &Live, connection: &mut Connection, cx: &mut Context<'_>) -> Poll<Step> {
    loop {
        let hears = {
            let mut state = lock(&live.state);
            if state.closed {
                return Poll::Ready(Step::Over);
            }
            state.driver = Some(cx.waker().clone());
            if state.ending {
                connection.close_questions();
            }
            take_input(&mut state, connection);
            state.gets.retain(|line| !line.pipe().is_gone());
            // A loop without short cuts: each stream has to know whom to wake.
            let full = state.lines.values().chain(&state.gets).filter(|line| line.pipe().is_full(cx)).count();
            if full > 0 {
                drop(state);
                connection.poll_run(cx);
                return Poll::Pending;
            }
            if let (Some(line), Some(text)) = (state.gets.last().cloned(), state.unheard.pop_front()) {
                return Poll::Ready(Step::Send(line, Outbound { text: text.into(), route: Route::Session }, false));
            }
            !state.gets.is_empty()
        };
        // The handlers run here, and nobody has to wait for them.
        let next = if hears { connection.poll_next(cx) } else { connection.poll_calls(cx).map(Some) };
        let mut state = lock(&live.state);
        match next {
            Poll::Ready(Some(outbound)) => {
                if let Some(step) = route(&mut state, outbound) {
                    return Poll::Ready(step);
                }
            }
            Poll::Ready(None) => return Poll::Ready(Step::Over),
            Poll::Pending if !state.inbox.is_empty() && connection.wants_input() => {}
            Poll::Pending if state.is_idle() && connection.unanswered() == 0 => return Poll::Ready(Step::Idle),
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// Gives the connection what came in, and closes the streams of what was cancelled.
fn take_input(state: &mut State, connection: &mut Connection) {
    while connection.wants_input()
        && let Some(frame) = state.next_input()
    {
        let tells = match &frame {
            Frame::Single(Message { body: Body::Notification { .. }, .. }) | Frame::Batch(_) => true,
            Frame::Single(_) => false,
        };
        if !tells {
            connection.take(frame);
            continue;
        }
        let running: Vec<RequestId> = state.lines.keys().filter(|id| connection.awaits(id)).cloned().collect();
        connection.take(frame);
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

/// Where a message goes; nothing if nobody can hear it now.
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
