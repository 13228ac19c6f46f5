//! A simulated log that runs in the background.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet::{
    core::{Outbox, sync::lock},
    prelude::*,
    types::{LoggingLevel, RawJson},
};
use tokio::task::AbortHandle;

use crate::App;

const PACE: Duration = Duration::from_secs(5);

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

/// The sessions with a running log.
#[derive(Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<Vec<(Outbox, AbortHandle)>>>);

impl Logs {
    /// Starts or stops the log of a session, and returns whether it was started.
    fn toggle(&self, session: Outbox) -> bool {
        let mut running = lock(&self.0);
        running.retain(|(other, _)| !other.is_closed());
        if let Some(at) = running.iter().position(|(other, _)| other.leads_to_same(&session)) {
            running.swap_remove(at).1.abort();
            return false;
        }
        let task = tokio::spawn(go_on(session.clone()));
        running.push((session, task.abort_handle()));
        true
    }
}

/// Toggles simulated, random-leveled logging on or off.
#[tool(name = "toggle-simulated-logging", title = "Toggle Simulated Logging", destructive = false, open_world = false)]
pub(crate) async fn toggle_simulated_logging(State(app): State<App>, ctx: Ctx) -> String {
    let outbox = &ctx.call().outbox;
    if !ctx.call().revision.has_sessions() {
        // A stateless request cannot outlive its response, so all messages are sent now.
        for level in LEVELS {
            say(outbox, level).await;
        }
        return "Logged one message of each level. Without a session, logging ends with the request that asks for it."
            .to_owned();
    }
    if app.logs.toggle(outbox.lasting()) {
        "Started simulated, random-leveled logging for this session at a 5 second pace. Client's selected logging level \
         will be respected. If an interval elapses and the message to be sent is below the selected level, it will not \
         be sent. Thus at higher chosen logging levels, messages should arrive further apart. "
            .to_owned()
    } else {
        "Stopped simulated logging for this session".to_owned()
    }
}

async fn go_on(session: Outbox) {
    while !session.is_closed() {
        let mut random = [0];
        // On failure, all messages have the same level.
        let _ = getrandom::fill(&mut random);
        say(&session, LEVELS[usize::from(random[0]) % LEVELS.len()]).await;
        tokio::time::sleep(PACE).await;
    }
}

async fn say(outbox: &Outbox, level: LoggingLevel) {
    let mut text = format!("{level}-level message");
    text[..1].make_ascii_uppercase();
    outbox.log(level, None, RawJson::from(serde_json::Value::from(text))).await;
}
