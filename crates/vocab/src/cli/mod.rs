//! The commands `schema`, `validate` and `rdf`, for a program that has them among its own.
//!
//! Each is a set of arguments for `clap` and a function that does the work and returns the exit code: 0 if all is well, 1
//! if something was found, 2 if it could not be done.

mod rdf;
mod schema;
mod validate;

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::Path,
};

use clap::Subcommand;

pub use rdf::RdfArgs;
pub use schema::SchemaArgs;
pub use validate::ValidateArgs;

/// The commands.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// Prints the JSON Schema of a revision.
    Schema(SchemaArgs),
    /// Validates messages in JSON, JSON lines, recorded logs and Markdown.
    Validate(ValidateArgs),
    /// Prints messages and logs as Turtle, N-Triples, TriG, N-Quads or JSON-LD.
    Rdf(RdfArgs),
}

impl Command {
    /// Does it, and returns the exit code.
    ///
    /// ```
    /// use couplet_vocab::cli::{Command, SchemaArgs, Terminal};
    ///
    /// let (mut out, mut err) = (Vec::new(), Vec::new());
    /// let command = Command::Schema(SchemaArgs::default());
    /// let code = command.run(&mut Terminal::new(&mut &b""[..], &mut out, &mut err));
    /// assert_eq!((code, err.is_empty()), (0, true));
    /// ```
    pub fn run(&self, terminal: &mut Terminal<'_>) -> u8 {
        match self {
            Self::Schema(args) => args.run(terminal),
            Self::Validate(args) => args.run(terminal),
            Self::Rdf(args) => args.run(terminal),
        }
    }
}

/// What a command reads and writes.
pub struct Terminal<'a> {
    input: &'a mut dyn BufRead,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    colour: bool,
}

impl<'a> Terminal<'a> {
    /// Reads what `-` stands for from `input`, writes to `out`, and complains to `err`.
    pub fn new(input: &'a mut dyn BufRead, out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self { input, out, err, colour: false }
    }

    /// Writes in colours.
    #[must_use]
    pub fn coloured(mut self) -> Self {
        self.colour = true;
        self
    }

    /// The exit code of what was tried.
    fn code(&mut self, outcome: io::Result<u8>) -> u8 {
        outcome.unwrap_or_else(|error| {
            // Whoever reads has read enough.
            if error.kind() == io::ErrorKind::BrokenPipe {
                return 0;
            }
            self.complain(&error);
            2
        })
    }

    /// A text in a colour, if there are any.
    fn paint(&self, code: &str, text: impl fmt::Display) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    fn complain(&mut self, what: &dyn fmt::Display) {
        let mark = self.paint("31", "error:");
        // There is nobody left to tell if this fails.
        drop(writeln!(self.err, "{mark} {what}"));
    }
}

/// Opens a file, or what `-` stands for, and hands it to `read`. An error says which file it is about.
fn open<T>(
    input: &mut dyn BufRead,
    path: &Path,
    read: impl FnOnce(&mut dyn BufRead) -> io::Result<T>,
) -> io::Result<T> {
    let named = |e: io::Error| match e.kind() {
        io::ErrorKind::BrokenPipe => e,
        kind => io::Error::new(kind, format!("{}: {e}", path.display())),
    };
    if path == Path::new("-") {
        return read(input).map_err(named);
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(named)?);
    read(&mut file).map_err(named)
}

impl fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("colour", &self.colour).finish_non_exhaustive()
    }
}
