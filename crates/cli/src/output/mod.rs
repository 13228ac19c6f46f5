//! Output: results to standard output, everything else to standard error; colors, notes and progress bars.

mod json;
mod paint;
pub(crate) mod text;

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::{Args, ValueEnum};
use couplet::core::sync::lock;
use couplet_serve::LogFormat;
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::exit::{Exit, Failure};

pub(crate) use json::{compact, pretty};
pub(crate) use paint::Paint;

/// The global output options.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Print results and errors as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Show requests and the server's standard error
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
    /// Use colors: auto, always or never
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: Colour,
    /// Format of log lines: text or json; RUST_LOG filters them
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(crate) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

/// The two streams of the program.
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) verbose: bool,
    /// The style of standard output.
    pub(crate) out: Paint,
    /// The style of standard error.
    pub(crate) err: Paint,
    notes: Mutex<Notes>,
    /// Whether the user was asked to log in, which takes a while.
    asked: AtomicBool,
}

/// What else is drawn on the terminal. Notes go above it.
#[derive(Default)]
struct Notes {
    bar: Option<ProgressBar>,
    /// Prints above the line that is being edited.
    printer: Option<Box<dyn FnMut(String) + Send>>,
}

impl Output {
    pub(crate) fn new(look: Look) -> Self {
        Self {
            json: look.json,
            verbose: look.verbose,
            out: Paint::of(look.color, &io::stdout()),
            err: Paint::of(look.color, &io::stderr()),
            notes: Mutex::default(),
            asked: AtomicBool::new(false),
        }
    }

    /// Creates an output that prints nothing and is not interactive, for checks of servers.
    pub(crate) fn silent() -> Self {
        let plain = Paint { colour: false, terminal: false };
        let notes = Notes { bar: None, printer: Some(Box::new(|_| {})) };
        Self {
            json: false,
            verbose: false,
            out: plain,
            err: plain,
            notes: Mutex::new(notes),
            asked: AtomicBool::new(false),
        }
    }

    /// Writes a part of the result to standard output, unchanged.
    ///
    /// # Errors
    /// If standard output cannot be written. The error is silent if the reader closed the pipe.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())
    }

    /// Writes bytes of the result to standard output.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| unwritten(&error))
    }

    /// Escapes text from a server for standard output, if that is a terminal.
    pub(crate) fn said<'a>(&self, words: &'a str) -> std::borrow::Cow<'a, str> {
        if self.out.terminal { text::visible(words) } else { words.into() }
    }

    /// Prints a note to standard error, above a progress bar or an edited line. Text from a server must be escaped first.
    pub(crate) fn note(&self, line: &str) {
        let Notes { bar, printer } = &mut *self.notes();
        match (bar, printer) {
            (Some(bar), _) => bar.suspend(|| self.complain(line)),
            (None, Some(print)) => print(format!("{line}\n")),
            (None, None) => self.complain(line),
        }
    }

    /// Prints a line to standard error at once.
    pub(crate) fn complain(&self, line: &str) {
        // One write, so that lines do not mix. There is no place to report a failure to.
        let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    }

    /// Prints a warning, with `--json` as a line of JSON.
    pub(crate) fn warn(&self, what: &str) {
        match self.json {
            true => self.note(&serde_json::json!({ "warning": what }).to_string()),
            false => self.note(&format!("{} {what}", self.err.warning("warning:"))),
        }
    }

    /// Sets the progress bar that notes are printed above.
    pub(crate) fn show_bar(&self, bar: &ProgressBar) {
        self.notes().bar = Some(bar.clone());
    }

    /// Removes the progress bar.
    pub(crate) fn hide_bar(&self) {
        if let Some(bar) = self.notes().bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Hides the progress bar during a prompt.
    pub(crate) fn clear_bar(&self) {
        if let Some(bar) = &self.notes().bar {
            bar.suspend(|| ());
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// Shows the progress bar again after a prompt.
    pub(crate) fn redraw_bar(&self) {
        if let Some(bar) = &self.notes().bar {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Sets the function that prints notes.
    pub(crate) fn print_with(&self, print: impl FnMut(String) + Send + 'static) {
        self.notes().printer = Some(Box::new(print));
    }

    /// Records that the user was asked to log in.
    pub(crate) fn asks(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether the user was asked to log in.
    pub(crate) fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether the user can be prompted: standard error and standard input are terminals.
    pub(crate) fn can_ask(&self) -> bool {
        self.err.terminal && io::stdin().is_terminal()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        lock(&self.notes)
    }
}

/// Creates the error for standard output that cannot be written, silent if the reader closed the pipe.
pub(crate) fn unwritten(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::silent(Exit::Refused),
        _ => Failure::new(Exit::File, format!("standard output cannot be written: {error}")),
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("json", &self.json).finish_non_exhaustive()
    }
}

/// Returns the width of the terminal in columns.
pub(crate) fn screen_width() -> usize {
    const USUAL: u16 = 80;
    let size = terminal_size::terminal_size_of(io::stdout());
    usize::from(size.map_or(USUAL, |(terminal_size::Width(columns), _)| columns)).max(20)
}
