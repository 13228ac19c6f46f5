//! The subcommands `schema`, `validate` and `rdf`, to be embedded in a program.
//!
//! Each is a set of arguments for `clap` and a function of the same name that writes the result:
//!
//! | command | arguments | function |
//! |---|---|---|
//! | `schema` | [`SchemaArgs`] | [`schema()`] |
//! | `validate` | [`ValidateArgs`] | [`validate()`] |
//! | `rdf` | [`RdfArgs`] | [`rdf()`] |
//!
//! ```
//! use clap::Parser;
//! use couplet_vocab::cli::{self, SchemaArgs};
//!
//! #[derive(Parser)]
//! enum Program {
//!     Schema(SchemaArgs),
//! }
//!
//! let Program::Schema(args) = Program::parse_from(["program", "schema", "--type", "Tool"]);
//! let mut out = Vec::new();
//! let outcome = cli::schema(&args, &mut out)?;
//! assert!(outcome.is_success && !out.is_empty());
//! # Ok::<(), cli::Failure>(())
//! ```
//!
//! They write to `out` only. The program reports the rest: an [`Outcome`] stands for the exit codes 0 and 1, a
//! [`Failure`] for others. `out` should be buffered. The file `-` is standard input.

mod failure;
mod rdf;
mod schema;
mod validate;

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use couplet_types::ProtocolVersion;

pub use failure::Failure;
pub use rdf::{RdfArgs, rdf};
pub use schema::{SchemaArgs, schema};
pub use validate::{OutputFormat, ValidateArgs, validate};

/// The outcome of a command that has run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether all files are valid. If not, the exit code is 1.
    pub is_success: bool,
    /// Notes for the user, one line each; their number is bounded.
    pub notes: Vec<String>,
}

impl Outcome {
    fn good() -> Self {
        Self { is_success: true, notes: Vec::new() }
    }
}

/// Opens a file or standard input (`-`), and passes it to `read`.
fn open<T>(path: &Path, read: impl FnOnce(&mut dyn BufRead) -> io::Result<T>) -> Result<T, Failure> {
    let outcome = if path == Path::new("-") {
        read(&mut io::stdin().lock())
    } else {
        File::open(path).and_then(|file| read(&mut BufReader::with_capacity(1 << 16, file)))
    };
    outcome.map_err(|error| Failure::unreadable(path, &error))
}

/// A parser of revisions that lists the known ones in its error.
fn revision_parser() -> impl TypedValueParser<Value = ProtocolVersion> {
    let names = ProtocolVersion::ALL.iter().copied().map(ProtocolVersion::as_str);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ProtocolVersion>())
}

/// Escapes control characters of a string from a file.
fn visible(text: &str) -> String {
    let show = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(show).collect()
}
