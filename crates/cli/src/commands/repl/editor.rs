//! The line editor, and its history.

use std::{fs, path::PathBuf, sync::Arc};

use rustyline::{
    CompletionType, Config, Context, Editor, ExternalPrinter, Helper, completion::Completer, error::ReadlineError,
    highlight::Highlighter, hint::Hinter, history::DefaultHistory, validate::Validator,
};

use super::complete::Menu;
use crate::{
    exit::{Exit, Failure},
    output::Output,
    questions::reading,
    target::state_folder,
};

/// A line editor, moved to a blocking thread for each line.
pub(crate) struct Prompter {
    editor: Editor<Assistant, DefaultHistory>,
}

impl Prompter {
    pub(crate) fn new(menu: &Menu, output: &Arc<Output>) -> Result<Self, Failure> {
        let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
        let cannot = |e: ReadlineError| Failure::new(Exit::File, format!("cannot use the terminal: {e}"));
        let mut editor = Editor::with_config(config).map_err(cannot)?;
        editor.set_helper(Some(Assistant(menu.clone())));
        if let Some(path) = history() {
            // There is none in the first session.
            let _ = editor.load_history(&path);
        }
        if output.can_ask()
            && let Ok(mut printer) = editor.create_external_printer()
        {
            output.print_with(move |line| drop(printer.print(line)));
        }
        Ok(Self { editor })
    }

    /// Reads a line.
    pub(crate) async fn ask(mut self, prompt: String) -> Result<(Self, Result<String, ReadlineError>), Failure> {
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = reading();
            let line = self.editor.readline(&prompt);
            (self, line)
        });
        reading.await.map_err(|e| Failure::new(Exit::File, format!("cannot use the terminal: {e}")))
    }

    /// Saves the history for the next session.
    pub(crate) fn save(mut self, path: Option<PathBuf>) {
        let Some(path) = path else { return };
        // A history that cannot be saved is not an error.
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        let _ = self.editor.save_history(&path);
    }
}

/// Returns the path of the history.
pub(crate) fn history() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("history"))
}

/// The completer.
struct Assistant(Menu);

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.0.complete(line.get(..position).unwrap_or(line)))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}
