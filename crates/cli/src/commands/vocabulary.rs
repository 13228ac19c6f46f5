//! `couplet schema`, `validate` and `rdf`: the protocol's schemas, and messages checked and converted.

use std::io::{BufWriter, Write, stdout};

use couplet_vocab::cli::{self, Outcome, OutputFormat};

pub(crate) use cli::{RdfArgs, SchemaArgs, ValidateArgs};

use crate::{
    exit::{Exit, Failure},
    output::{Output, unwritten},
};

pub(crate) fn schema(args: &SchemaArgs, output: &Output) -> Result<(), Failure> {
    run(output, |out| cli::schema(args, out))
}

pub(crate) fn rdf(args: &RdfArgs, output: &Output) -> Result<(), Failure> {
    run(output, |out| cli::rdf(args, out))
}

pub(crate) fn validate(mut args: ValidateArgs, output: &Output) -> Result<(), Failure> {
    args.output = match (output.json, output.out.colour) {
        (true, _) => OutputFormat::Json,
        (false, true) => OutputFormat::Coloured,
        (false, false) => OutputFormat::Plain,
    };
    run(output, |out| cli::validate(&args, out))
}

/// Runs a command with a buffered standard output.
fn run(output: &Output, write: impl FnOnce(&mut dyn Write) -> Result<Outcome, cli::Failure>) -> Result<(), Failure> {
    let mut out = BufWriter::new(stdout().lock());
    let outcome = write(&mut out)?;
    out.flush().map_err(|error| unwritten(&error))?;
    drop(out);
    for note in &outcome.notes {
        output.warn(note);
    }
    if outcome.is_success { Ok(()) } else { Err(Failure::silent(Exit::Refused)) }
}
