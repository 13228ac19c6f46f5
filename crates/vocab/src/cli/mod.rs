//! The commands `schema`, `validate` and `rdf`, for a program that has them among its own.
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
//! assert!(outcome.is_good && !out.is_empty());
//! # Ok::<(), cli::Failure>(())
//! ```
//!
//! They write to `out` only, and leave it to the program to tell of the rest: an [`Outcome`] is for the exit codes 0 and 1,
//! a [`Failure`] for those beyond. `out` should have a buffer. The file `-` is standard input.

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
pub use validate::{Look, ValidateArgs, validate};

/// What came of a command that could be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether all is well. If not, files have mistakes in them: that is the exit code 1.
    pub is_good: bool,
    /// What to tell beside the result: a line for each, and never many.
    pub notes: Vec<String>,
}

impl Outcome {
    fn good() -> Self {
        Self { is_good: true, notes: Vec::new() }
    }
}

/// Opens a file, or what `-` stands for, and hands it to `read`.
fn open<T>(path: &Path, read: impl FnOnce(&mut dyn BufRead) -> io::Result<T>) -> Result<T, Failure> {
    let outcome = if path == Path::new("-") {
        read(&mut io::stdin().lock())
    } else {
        File::open(path).and_then(|file| read(&mut BufReader::with_capacity(1 << 16, file)))
    };
    outcome.map_err(|error| Failure::unreadable(path, &error))
}

/// The revisions, as values that are told when another one is asked for.
fn revision_parser() -> impl TypedValueParser<Value = ProtocolVersion> {
    let names = ProtocolVersion::ALL.iter().copied().map(ProtocolVersion::as_str);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ProtocolVersion>())
}

/// A text from a file as it may be shown: what would move the cursor is written out.
fn visible(text: &str) -> String {
    let show = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(show).collect()
}
