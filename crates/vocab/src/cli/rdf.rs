//! The subcommand `rdf`.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use super::{Failure, Outcome, open, visible};
use crate::{
    Error, jsonld,
    log::{self, Entry},
    rdf::{self, Format, Writer},
    vocabulary,
};

/// Converts messages and logs to Turtle, N-Triples, TriG, N-Quads or JSON-LD.
#[derive(Args, Clone, Debug)]
pub struct RdfArgs {
    /// Messages in JSON or JSON lines, or recorded logs; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["vocabulary", "context"])]
    pub files: Vec<PathBuf>,
    /// The output format; with `--reverse`, the input format
    #[arg(long, default_value = "turtle", value_parser = format_parser())]
    pub format: Format,
    /// Add each message as a JSON literal, so that `--reverse` restores it exactly
    #[arg(long)]
    pub keep_json: bool,
    /// Convert RDF to messages, one per line
    #[arg(long)]
    pub reverse: bool,
    /// Print the vocabulary of all revisions, in Turtle
    #[arg(long, conflicts_with_all = ["context", "files"])]
    pub vocabulary: bool,
    /// Print the JSON-LD context
    #[arg(long, conflicts_with = "files")]
    pub context: bool,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    // File extensions are accepted as aliases.
    let value = |format: Format| PossibleValue::new(format.as_str()).alias(format.extension());
    PossibleValuesParser::new(Format::ALL.iter().copied().map(value)).try_map(|name| name.parse::<Format>())
}

/// Converts messages and logs to RDF, or with `--reverse` RDF to messages.
///
/// Lines that cannot be converted are skipped and reported in the notes; the outcome is then not a success.
///
/// # Errors
/// If a file cannot be read, is not in the given format (with `--reverse`), or the output cannot be written.
pub fn rdf(args: &RdfArgs, out: &mut dyn Write) -> Result<Outcome, Failure> {
    if args.vocabulary {
        write!(out, "{}", vocabulary::turtle())?;
    } else if args.context {
        write!(out, "{}", jsonld::CONTEXT)?;
    } else if args.reverse {
        args.files.iter().try_for_each(|file| messages(file, args.format, out))?;
    } else {
        return write(args, out);
    }
    Ok(Outcome::good())
}

/// Writes one document for all files: node labels are unique across all of them.
fn write(args: &RdfArgs, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let writer = Writer::new(out, args.format);
    let mut writer = if args.keep_json { writer.keep_json() } else { writer };
    let mut left_out = LeftOut::default();
    for file in &args.files {
        let mut lost = None;
        let read = open(file, |reader| {
            log::for_each(reader, &mut |line, text| {
                let trouble = match Entry::parse(text).map(|entry| writer.entry(&entry)) {
                    Ok(Ok(())) => return Ok(()),
                    Err(error) => told(&error),
                    Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => error.to_string(),
                    // Other errors are not about the file.
                    Ok(Err(error)) => return Err(lost.insert(error).kind().into()),
                };
                left_out.add(file, line, &trouble);
                Ok(())
            })
        });
        lost.map_or(read, |error| Err(error.into()))?;
    }
    writer.finish()?;
    Ok(left_out.outcome())
}

/// The skipped lines: the first ones with the reason, the others counted.
#[derive(Default)]
struct LeftOut {
    notes: Vec<String>,
    more: u64,
}

impl LeftOut {
    const MOST: usize = 20;

    fn add(&mut self, file: &Path, line: u64, what: &str) {
        if self.notes.len() < Self::MOST {
            self.notes.push(visible(&format!("{}:{line}: left out: {what}", file.display())));
        } else {
            self.more += 1;
        }
    }

    fn outcome(mut self) -> Outcome {
        if self.more > 0 {
            self.notes.push(format!("and {} more lines", self.more));
        }
        Outcome { is_success: self.notes.is_empty(), notes: self.notes }
    }
}

/// The message of an error, without its line, which is relative to one line of the file.
fn told(error: &serde_json::Error) -> String {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    if error.is_data() { what.to_owned() } else { format!("not JSON: {what} at column {}", error.column()) }
}

/// Writes the messages of an RDF file, one per line.
fn messages(file: &Path, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let text = open(file, |reader| {
        let mut text = String::new();
        log::whole(&mut text, reader)?;
        Ok(text)
    })?;
    let messages = match format {
        Format::JsonLd => each_document(&text),
        format => rdf::parse(&text, format).and_then(|triples| rdf::messages(&triples)),
    };
    let messages = messages.map_err(|error| Failure::unreadable(file, &error))?;
    Ok(messages.iter().try_for_each(|message| writeln!(out, "{message}"))?)
}

/// Converts JSON-LD documents: one in each line, or a single one.
fn each_document(text: &str) -> Result<Vec<String>, Error> {
    let mut messages = Vec::new();
    let mut failure = None;
    let read = log::for_each(text.as_bytes(), &mut |line, text| {
        match jsonld::from_jsonld(text) {
            Ok(message) => messages.push(message),
            Err(error) => failure = failure.take().or_else(|| Some(Error::new(format!("line {line}: {error}")))),
        }
        Ok(())
    });
    read.map_err(|e| Error::new(e.to_string()))?;
    failure.map_or(Ok(messages), Err)
}
