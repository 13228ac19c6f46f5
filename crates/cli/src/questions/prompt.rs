//! Prompts for one line.

use std::{
    io::{self, Write},
    sync::{Mutex, MutexGuard, TryLockError},
};

use couplet::core::sync::lock;
use rustyline::{Behavior, Config, DefaultEditor, error::ReadlineError};

/// The result of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C or Ctrl-D: cancelled.
    Left,
}

/// The lock of the terminal. A prompt whose request the server cancelled still reads, and cannot be stopped.
static READER: Mutex<()> = Mutex::new(());

/// Locks the terminal. If an obsolete prompt still reads, the user is asked to end it.
pub(crate) fn reading() -> MutexGuard<'static, ()> {
    match READER.try_lock() {
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
        Err(TryLockError::WouldBlock) => {
            // There is no place to report a failure to.
            let _ = writeln!(io::stderr(), "\n  The request was cancelled: press Enter to continue.");
            lock(&READER)
        }
    }
}

/// Reads a line from the terminal, even if standard output is redirected.
pub(crate) fn line(prompt: &str) -> Line {
    let _turn = reading();
    let config = Config::builder().behavior(Behavior::PreferTerm).build();
    let read = DefaultEditor::with_config(config).and_then(|mut editor| editor.readline(prompt));
    match read {
        Ok(text) => Line::Text(text.trim().to_owned()),
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => Line::Left,
        // A terminal that fails counts as cancelled.
        Err(_) => Line::Left,
    }
}

/// Prompts until the answer is one of these; an empty line selects the first.
pub(crate) fn choose<T: Copy>(prompt: &str, answers: &[(&str, T)], left: T) -> T {
    loop {
        let Line::Text(text) = line(prompt) else { return left };
        let text = text.to_lowercase();
        let meant = answers.iter().find(|(word, _)| text.is_empty() || word.starts_with(&text));
        if let Some((_, meant)) = meant {
            return *meant;
        }
    }
}
