//! Calls with ids: no other client has the same.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use crate::{Outcome, Wrong};

pub(crate) struct Calls {
    name: String,
    begun: AtomicU64,
    /// What a callback has found.
    wrong: Mutex<Option<String>>,
}

impl Calls {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), begun: AtomicU64::new(0), wrong: Mutex::default() }
    }

    pub(crate) fn new_id(&self) -> String {
        format!("{}-{}", self.name, self.begun.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// The id that a server asks for: it has to be one of a call of this client.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn asked(&self, message: &str) -> Result<String, String> {
        let id = message.trim_start_matches("Confirm ").trim_start_matches("Say ");
        let own = id.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
        if own.is_some_and(|number: u64| number <= self.begun.load(Ordering::SeqCst)) {
            return Ok(id.to_owned());
        }
        let wrong = format!("the question for another client: {message}");
        self.note_wrong(wrong.clone());
        Err(wrong)
    }

    /// Whether a text has an id of this client.
    pub(crate) fn is_own(&self, text: &str) -> bool {
        text.contains(&self.name)
    }

    pub(crate) fn note_wrong(&self, wrong: String) {
        *self.wrong.lock().unwrap_or_else(PoisonError::into_inner) = Some(wrong);
    }

    /// # Errors
    /// What a callback has found.
    pub(crate) fn check(&self) -> Outcome {
        match &*self.wrong.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(wrong) => Err(Wrong(wrong.clone()).into()),
            None => Ok(()),
        }
    }
}
