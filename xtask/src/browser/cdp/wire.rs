//! Commands to the browser, their answers, and the events of its pages.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    process::ChildStdin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::record::Record;
use crate::Failure;

/// How long an answer of the browser may take.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Wire {
    commands: Mutex<ChildStdin>,
    last: AtomicU64,
    waiting: Mutex<HashMap<u64, SyncSender<Value>>>,
    /// The record of the page that a session belongs to. Frames in processes of their own have sessions, too.
    records: Mutex<HashMap<String, Arc<Mutex<Record>>>>,
}

/// Locks; what a thread that panicked has left is still a record.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub(super) fn new(commands: ChildStdin) -> Self {
        let (waiting, records) = (Mutex::default(), Mutex::default());
        Self { commands: Mutex::new(commands), last: AtomicU64::new(0), waiting, records }
    }

    /// Sends a command and waits for its answer.
    pub(super) fn call(&self, session: Option<&str>, method: &str, params: &Value) -> Result<Value, Failure> {
        let (sender, answer) = sync_channel(1);
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.waiting).insert(id, sender);
        self.write(id, session, method, params).map_err(|e| format!("the browser is gone: {e}"))?;
        let answer = answer.recv_timeout(TIMEOUT).map_err(|e| format!("`{method}` is not answered: {e}"));
        lock(&self.waiting).remove(&id);
        let mut answer = answer?;
        match &answer["error"] {
            Value::Null => Ok(answer["result"].take()),
            error => Err(format!("`{method}`: {error}")),
        }
    }

    /// Sends a command whose answer does not matter.
    pub(super) fn send(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let _ = self.write(id, session, method, params);
    }

    fn write(&self, id: u64, session: Option<&str>, method: &str, params: &Value) -> std::io::Result<()> {
        let mut command = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        let mut commands = lock(&self.commands);
        commands.write_all(format!("{command}\0").as_bytes())?;
        commands.flush()
    }

    /// Lets the events of a session go to a record.
    pub(super) fn follow(&self, session: &str, record: &Arc<Mutex<Record>>) {
        lock(&self.records).insert(session.to_owned(), record.clone());
    }

    pub(super) fn release(&self, record: &Arc<Mutex<Record>>) {
        lock(&self.records).retain(|_, other| !Arc::ptr_eq(other, record));
    }

    /// Reads until the browser ends.
    pub(super) fn read(&self, output: impl Read) {
        let mut output = BufReader::new(output);
        let mut message = Vec::new();
        while matches!(output.read_until(0, &mut message), Ok(1..)) {
            let text = message.strip_suffix(&[0]).unwrap_or(&message);
            if let Ok(value) = serde_json::from_slice::<Value>(text) {
                self.received(value);
            }
            message.clear();
        }
        // Callers that still wait get an error.
        lock(&self.waiting).clear();
    }

    fn received(&self, message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let waiting = lock(&self.waiting).remove(&id);
            // A caller that has given up has no receiver.
            let _ = waiting.map(|sender| sender.send(message));
            return;
        }
        let session = message["sessionId"].as_str().unwrap_or_default();
        let Some(record) = lock(&self.records).get(session).cloned() else { return };
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        match method {
            "Target.attachedToTarget" => self.frame(&record, params),
            // A dialog would stop the page.
            "Page.javascriptDialogOpening" => {
                self.send(Some(session), "Page.handleJavaScriptDialog", &json!({ "accept": false }));
            }
            _ => {}
        }
        lock(&record).note(session, method, params);
    }

    /// Follows a frame that has a process of its own, before it begins.
    fn frame(&self, record: &Arc<Mutex<Record>>, params: &Value) {
        let Some(session) = params["sessionId"].as_str() else { return };
        self.follow(session, record);
        for (method, params) in watched() {
            self.send(Some(session), method, &params);
        }
        self.send(Some(session), "Runtime.runIfWaitingForDebugger", &json!({}));
    }
}

/// The commands after which a page or a frame reports what it does.
pub(super) fn watched() -> Vec<(&'static str, Value)> {
    let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    let mut commands: Vec<_> =
        ["Page.enable", "Runtime.enable", "Network.enable", "Log.enable"].map(|method| (method, json!({}))).into();
    commands.push(("Target.setAutoAttach", attach));
    commands
}
