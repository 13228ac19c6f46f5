//! `rdf`

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};

use super::{Terminal, open};
use crate::{
    Error, jsonld,
    log::{self, Entry},
    rdf::{self, Format, Writer},
    vocabulary,
};

/// Arguments of `rdf`.
#[derive(Args, Clone, Debug)]
pub struct RdfArgs {
    /// Messages in JSON or JSON lines, or recorded logs; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["vocabulary", "context"])]
    pub files: Vec<PathBuf>,
    /// What to print; with `--reverse`, what the files are
    #[arg(long, default_value = "turtle", value_parser = format_parser())]
    pub format: Format,
    /// Adds each message as it was, so that `--reverse` gives it back with everything in order
    #[arg(long)]
    pub keep_json: bool,
    /// Reads RDF and prints the messages that it says, one per line
    #[arg(long)]
    pub reverse: bool,
    /// Prints the vocabulary of all revisions, in Turtle
    #[arg(long, conflicts_with_all = ["context", "files"])]
    pub vocabulary: bool,
    /// Prints the JSON-LD context
    #[arg(long, conflicts_with = "files")]
    pub context: bool,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::as_str)).try_map(|name| name.parse::<Format>())
}

impl RdfArgs {
    /// Does it, and returns the exit code.
    pub fn run(&self, terminal: &mut Terminal<'_>) -> u8 {
        let outcome = self.attempt(terminal);
        terminal.code(outcome)
    }

    fn attempt(&self, terminal: &mut Terminal<'_>) -> io::Result<u8> {
        if self.vocabulary {
            write!(terminal.out, "{}", vocabulary::turtle())?;
            return Ok(0);
        }
        if self.context {
            write!(terminal.out, "{}", jsonld::CONTEXT)?;
            return Ok(0);
        }
        if self.reverse { self.messages(terminal) } else { self.rdf(terminal) }
    }

    /// One document of all files: the names of nodes are counted through all of them.
    fn rdf(&self, terminal: &mut Terminal<'_>) -> io::Result<u8> {
        let mark = terminal.paint("31", "error:");
        let Terminal { input, out, err, .. } = terminal;
        let writer = Writer::new(&mut **out, self.format);
        let mut writer = if self.keep_json { writer.keep_json() } else { writer };
        let mut code = 0;
        for file in &self.files {
            open(&mut **input, file, |reader| {
                log::each(reader, &mut |line, text| {
                    let invalid = |e: serde_json::Error| io::Error::new(io::ErrorKind::InvalidData, e);
                    let written = Entry::read(text).map_err(invalid).and_then(|entry| writer.entry(&entry));
                    match written {
                        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                            code = 1;
                            writeln!(err, "{mark} {}:{line}: {error}", file.display())
                        }
                        written => written,
                    }
                })
            })?;
        }
        writer.finish()?;
        Ok(code)
    }

    /// The messages that files say.
    fn messages(&self, terminal: &mut Terminal<'_>) -> io::Result<u8> {
        let invalid = |e: Error| io::Error::new(io::ErrorKind::InvalidData, e);
        for file in &self.files {
            let messages = open(terminal.input, file, |reader| {
                let mut text = String::new();
                let text = log::whole(&mut text, reader)?;
                match self.format {
                    Format::JsonLd => each_line(text).map_err(invalid),
                    format => rdf::read(text, format).and_then(|triples| rdf::messages(&triples)).map_err(invalid),
                }
            })?;
            messages.iter().try_for_each(|message| writeln!(terminal.out, "{message}"))?;
        }
        Ok(0)
    }
}

/// Documents of JSON-LD: one in each line, or a single one.
fn each_line(text: &str) -> Result<Vec<String>, Error> {
    let mut messages = Vec::new();
    let mut failure = None;
    let read = log::each(text.as_bytes(), &mut |_, text| {
        match jsonld::from_jsonld(text) {
            Ok(message) => messages.push(message),
            Err(error) => failure = failure.take().or(Some(error)),
        }
        Ok(())
    });
    read.map_err(|e| Error::new(e.to_string()))?;
    failure.map_or(Ok(messages), Err)
}
