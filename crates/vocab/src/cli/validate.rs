//! `validate`

use std::{io, path::PathBuf};

use clap::Args;
use couplet_types::ProtocolVersion;

use super::{Terminal, open, schema::undefined};
use crate::{
    schema,
    validate::{Format, Options, Problem, Report, validate},
};

/// Arguments of `validate`.
#[derive(Args, Clone, Debug, Default)]
pub struct ValidateArgs {
    /// JSON, JSON lines, recorded logs, or Markdown with JSON blocks; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The revision; without one that which fits best
    #[arg(long, value_name = "DATE")]
    pub revision: Option<ProtocolVersion>,
    /// The definition that each value has to fit, such as `CallToolResult`; without one a JSON-RPC message
    #[arg(long = "type", value_name = "NAME")]
    pub definition: Option<String>,
    /// Only problems, nothing about files that have none
    #[arg(long, short)]
    pub quiet: bool,
}

impl ValidateArgs {
    /// Does it, and returns the exit code.
    pub fn run(&self, terminal: &mut Terminal<'_>) -> u8 {
        let outcome = self.attempt(terminal);
        terminal.code(outcome)
    }

    fn attempt(&self, terminal: &mut Terminal<'_>) -> io::Result<u8> {
        if let Some(why) = self.unknown_definition() {
            terminal.complain(&why);
            return Ok(2);
        }
        let options = Options { revision: self.revision, definition: self.definition.clone() };
        let mut code = 0;
        for file in &self.files {
            match open(terminal.input, file, |reader| validate(reader, Format::of(file), &options)) {
                Ok(report) => {
                    self.print(&file.display().to_string(), &report, terminal)?;
                    code = code.max(u8::from(report.count > 0));
                }
                Err(error) => {
                    terminal.complain(&error);
                    code = 2;
                }
            }
        }
        Ok(code)
    }

    fn unknown_definition(&self) -> Option<String> {
        let name = self.definition.as_deref()?;
        let [.., latest] = ProtocolVersion::ALL;
        match self.revision {
            Some(version) => (!schema::revisions(name).any(|v| v == version)).then(|| undefined(name, version)),
            None => schema::revisions(name).next().is_none().then(|| undefined(name, latest)),
        }
    }

    fn print(&self, file: &str, report: &Report, terminal: &mut Terminal<'_>) -> io::Result<()> {
        for problem in &report.problems {
            let place = terminal.paint("1", format_args!("{file}:{}:{}:", problem.line, problem.column));
            let pointer = terminal.paint("36", &problem.finding.pointer);
            let space = if problem.finding.pointer.is_empty() { "" } else { " " };
            let (finding, elsewhere) = (&problem.finding, elsewhere(problem));
            writeln!(terminal.out, "{place}{space}{pointer} {finding}{elsewhere}")?;
        }
        let left_out = report.count - report.problems.len() as u64;
        if left_out > 0 {
            writeln!(terminal.out, "{file}: and {left_out} more")?;
        }
        if report.count == 0 && self.quiet {
            return Ok(());
        }
        let fit = if self.revision.is_some() { "" } else { ", which fits best" };
        let skipped = match report.skipped {
            0 => String::new(),
            n => format!(", {n} blocks that are no messages"),
        };
        let verdict = match report.count {
            0 => terminal.paint("32", "valid"),
            1 => terminal.paint("31", "1 problem"),
            n => terminal.paint("31", format_args!("{n} problems")),
        };
        let (checked, revision) = (report.checked, report.revision);
        writeln!(terminal.out, "{file}: {verdict} in {revision}{fit} ({checked} checked{skipped})")
    }
}

/// The revisions in which it would be right.
fn elsewhere(problem: &Problem) -> String {
    let names: Vec<_> = problem.valid_in.iter().map(|v| v.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" (valid in {})", names.join(", ")) }
}
