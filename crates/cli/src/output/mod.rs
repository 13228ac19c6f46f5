//! Where words go: results to standard output, everything else to standard error, and how they look there.

mod json;
mod paint;
pub(crate) mod text;

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::{Args, ValueEnum};
use couplet_serve::LogFormat;
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::exit::{Exit, Failure};

pub(crate) use json::{compact, pretty};
pub(crate) use paint::Paint;

/// How things are shown, for every command.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Prints results as JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Tells what is sent, and what the server writes to its standard error
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Whether to use colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub(crate) color: Colour,
    /// How log lines on standard error look: text or json. The variable RUST_LOG chooses them: info, debug, couplet=trace
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
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
    /// How standard output is painted.
    pub(crate) out: Paint,
    /// How standard error is painted.
    pub(crate) err: Paint,
    notes: Mutex<Notes>,
    /// Whether a person was asked to do something that takes a while.
    asked: AtomicBool,
}

/// What else uses the terminal. Notes go above it.
#[derive(Default)]
struct Notes {
    bar: Option<ProgressBar>,
    /// What prints above a line that is being edited.
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

    /// For servers that somebody has a look at: nothing is said, and nobody is asked.
    pub(crate) fn silent() -> Self {
        let nobody = Paint { colour: false, terminal: false };
        let notes = Notes { bar: None, printer: Some(Box::new(|_| {})) };
        Self {
            json: false,
            verbose: false,
            out: nobody,
            err: nobody,
            notes: Mutex::new(notes),
            asked: AtomicBool::new(false),
        }
    }

    /// Writes a part of the result, as it is.
    ///
    /// # Errors
    /// When it cannot be written. If nobody reads any more, there is nothing to tell.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())
    }

    /// Writes bytes of the result.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| unwritten(&error))
    }

    /// What a server said, as it may be printed to standard output.
    pub(crate) fn said<'a>(&self, words: &'a str) -> std::borrow::Cow<'a, str> {
        if self.out.terminal { text::visible(words) } else { words.into() }
    }

    /// Says something beside the result. What a server said must be made visible before.
    pub(crate) fn note(&self, line: &str) {
        let Notes { bar, printer } = &mut *self.notes();
        match (bar, printer) {
            (Some(bar), _) => bar.suspend(|| self.complain(line)),
            (None, Some(print)) => print(format!("{line}\n")),
            (None, None) => self.complain(line),
        }
    }

    /// Says something on standard error, whatever else is there.
    pub(crate) fn complain(&self, line: &str) {
        // At once, so that nothing gets between a line and its end. Whom could one tell that it failed?
        let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    }

    /// A warning; a line of JSON for programs.
    pub(crate) fn warn(&self, what: &str) {
        match self.json {
            true => self.note(&serde_json::json!({ "warning": what }).to_string()),
            false => self.note(&format!("{} {what}", self.err.warning("warning:"))),
        }
    }

    /// Notes go above a progress bar from now on.
    pub(crate) fn show_bar(&self, bar: &ProgressBar) {
        self.notes().bar = Some(bar.clone());
    }

    /// The bar goes away.
    pub(crate) fn hide_bar(&self) {
        if let Some(bar) = self.notes().bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Takes the bar away while a person is asked something.
    pub(crate) fn clear_bar(&self) {
        if let Some(bar) = &self.notes().bar {
            bar.suspend(|| ());
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// Brings it back.
    pub(crate) fn redraw_bar(&self) {
        if let Some(bar) = &self.notes().bar {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Notes go through this function from now on.
    pub(crate) fn print_with(&self, print: impl FnMut(String) + Send + 'static) {
        self.notes().printer = Some(Box::new(print));
    }

    /// A person is asked to do something that takes a while.
    pub(crate) fn asks(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether that was ever so.
    pub(crate) fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether somebody can be asked: they see the question, and can type.
    pub(crate) fn can_ask(&self) -> bool {
        self.err.terminal && io::stdin().is_terminal()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A result that cannot be written. If nobody reads any more, there is nothing to tell.
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

/// How many columns the terminal has.
pub(crate) fn screen_width() -> usize {
    const USUAL: u16 = 80;
    let size = terminal_size::terminal_size_of(io::stdout());
    usize::from(size.map_or(USUAL, |(terminal_size::Width(columns), _)| columns)).max(20)
}
