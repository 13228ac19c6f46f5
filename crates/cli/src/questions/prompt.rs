//! One line from the person.

use std::{
    io::{self, Write},
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

use rustyline::{Behavior, Config, DefaultEditor, error::ReadlineError};

/// What somebody typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C or Ctrl-D: they do not want to.
    Left,
}

/// Who reads from the terminal. A question that the server has taken back is still being read, and cannot be stopped.
static READER: Mutex<()> = Mutex::new(());

/// Waits until nobody else reads from the terminal. If somebody does, the person has to be told.
pub(crate) fn reading() -> MutexGuard<'static, ()> {
    match READER.try_lock() {
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
        Err(TryLockError::WouldBlock) => {
            // Whom could one tell that it failed?
            let _ = writeln!(io::stderr(), "\n  The question is not asked any more: press Enter.");
            READER.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// Asks for a line. The terminal is used even where standard output is something else.
pub(crate) fn line(prompt: &str) -> Line {
    let _turn = reading();
    let config = Config::builder().behavior(Behavior::PreferTerm).build();
    let read = DefaultEditor::with_config(config).and_then(|mut editor| editor.readline(prompt));
    match read {
        Ok(text) => Line::Text(text.trim().to_owned()),
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => Line::Left,
        // Somebody who cannot be heard does not want to, either.
        Err(_) => Line::Left,
    }
}

/// Asks until the answer is one of these; the first one is meant by an empty line.
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
