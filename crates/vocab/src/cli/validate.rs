//! The subcommand `validate`.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use couplet_types::ProtocolVersion;
use serde_json::json;

use super::{Failure, Outcome, open, revision_parser, schema::undefined, visible};
use crate::{
    schema,
    validate::{self, Format, Options, Problem, Report},
};

/// Validates messages in JSON, JSON lines, recorded logs and Markdown.
#[derive(Args, Clone, Debug, Default)]
pub struct ValidateArgs {
    /// JSON, JSON lines, recorded logs, or Markdown with JSON blocks; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The revision (default: the best match)
    #[arg(long, value_name = "DATE", value_parser = revision_parser())]
    pub revision: Option<ProtocolVersion>,
    /// The definition of each value, such as `CallToolResult` (default: a JSON-RPC message)
    #[arg(long = "type", value_name = "NAME")]
    pub definition: Option<String>,
    /// Print problems only, nothing about valid files
    #[arg(long, short)]
    pub quiet: bool,
    /// The format of the output, set by the program.
    #[arg(skip)]
    pub output: OutputFormat,
}

/// The format of the output of [`validate()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputFormat {
    /// Plain text, one line per problem.
    #[default]
    Plain,
    /// Text with ANSI colours.
    Coloured,
    /// JSON lines, one object per file.
    Json,
}

impl OutputFormat {
    fn paint(self, code: &str, text: impl std::fmt::Display) -> String {
        if self == Self::Coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }
}

/// Validates files, and writes their problems. The outcome is a success if there are none.
///
/// # Errors
/// If there is no such definition, a file cannot be read (the others are still validated), or the output cannot be
/// written.
pub fn validate(args: &ValidateArgs, out: &mut dyn Write) -> Result<Outcome, Failure> {
    known(args)?;
    let options = Options { revision: args.revision, definition: args.definition.clone() };
    let (mut outcome, mut failures) = (Outcome::good(), Vec::new());
    for file in &args.files {
        let name = visible(&file.display().to_string());
        match open(file, |reader| validate::validate(reader, Format::from_path(file), &options)) {
            Ok(report) => {
                outcome.is_success &= report.count == 0;
                print(args, &name, &report, out)?;
            }
            Err(failure) => failures.push(failure),
        }
    }
    match failures.split_first() {
        None => Ok(outcome),
        Some((first, others)) => Err(first.clone().and(others)),
    }
}

/// Checks that the definition exists, in the given revision if there is one.
fn known(args: &ValidateArgs) -> Result<(), Failure> {
    let Some(name) = args.definition.as_deref() else { return Ok(()) };
    let latest = ProtocolVersion::LATEST;
    let is_known = schema::revisions(name).any(|version| args.revision.is_none_or(|wanted| wanted == version));
    if is_known { Ok(()) } else { Err(undefined(name, args.revision.unwrap_or(latest))) }
}

fn print(args: &ValidateArgs, file: &str, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.count == 0 && args.quiet {
        return Ok(());
    }
    if args.output == OutputFormat::Json {
        return writeln!(out, "{}", to_json(file, report));
    }
    report.problems.iter().try_for_each(|problem| writeln!(out, "{}", line(args.output, file, problem)))?;
    let left_out = report.count - report.problems.len() as u64;
    if left_out > 0 {
        writeln!(out, "{file}: and {left_out} more")?;
    }
    writeln!(out, "{file}: {}", summary(args, report))
}

/// `FILE:LINE:COLUMN: POINTER: expected …, found … (valid in …)`
fn line(format: OutputFormat, file: &str, problem: &Problem) -> String {
    let finding = &problem.finding;
    let place = format.paint("1", format_args!("{file}:{}:{}:", problem.line, problem.column));
    let pointer = match visible(&finding.pointer) {
        pointer if pointer.is_empty() => pointer,
        pointer => format!(" {}:", format.paint("36", pointer)),
    };
    let revisions: Vec<_> = problem.valid_in.iter().map(|v| v.as_str()).collect();
    let elsewhere = if revisions.is_empty() { String::new() } else { format!(" (valid in {})", revisions.join(", ")) };
    format!("{place}{pointer} {}{elsewhere}", visible(&finding.to_string()))
}

fn summary(args: &ValidateArgs, report: &Report) -> String {
    let Report { checked, revision, skipped, unknown, .. } = report;
    let skipped = match skipped {
        0 => String::new(),
        1 => ", 1 block that is not a message".to_owned(),
        n => format!(", {n} blocks that are not messages"),
    };
    let verdict = match report.count {
        0 if *checked == 0 => return format!("nothing to validate (0 checked{skipped})"),
        0 => args.output.paint("32", "valid"),
        1 => args.output.paint("31", "1 problem"),
        n => args.output.paint("31", format_args!("{n} problems")),
    };
    // They may belong to an extension, or be misspelt.
    let unknown = match unknown.iter().map(|method| format!("`{}`", visible(method))).collect::<Vec<_>>() {
        methods if methods.is_empty() => String::new(),
        methods => format!("; no revision has the method {}", methods.join(", ")),
    };
    let fit = if args.revision.is_some() { "" } else { ", which fits best" };
    format!("{verdict} in {revision}{fit} ({checked} checked{skipped}{unknown})")
}

fn to_json(file: &str, report: &Report) -> serde_json::Value {
    let problems = report.problems.iter().map(|p| {
        let valid_in: Vec<_> = p.valid_in.iter().map(|v| v.as_str()).collect();
        json!({
            "line": p.line,
            "column": p.column,
            "pointer": p.finding.pointer,
            "expected": p.finding.expected,
            "found": p.finding.found,
            "validIn": valid_in,
        })
    });
    json!({
        "file": file,
        "revision": report.revision.as_str(),
        "checked": report.checked,
        "skipped": report.skipped,
        "unknown": report.unknown,
        "count": report.count,
        "problems": problems.collect::<Vec<_>>(),
    })
}
