//! The subcommands `pack` and `publish-check`: `clap` arguments and functions.
//!
//! Each function writes plain text to `out`, or one JSON value if `json` is set, and nothing anywhere else. Relative
//! paths are resolved against `cwd`.

mod pack;
mod publish_check;

use std::{fmt, io::Write};

use serde_json::json;

use crate::{Error, ErrorKind, Problem, Severity};

pub use pack::{PackArgs, pack, pack_with};
pub use publish_check::{PublishCheckArgs, publish_check};

/// The output of a command.
struct Out<'a>(&'a mut dyn Write);

impl Out<'_> {
    fn line(&mut self, line: impl fmt::Display) -> Result<(), Error> {
        let written = self.0.write_all(format!("{line}\n").as_bytes());
        written.map_err(|e| Error::new(ErrorKind::Io, format!("the output cannot be written: {e}")))
    }

    /// Writes the problems, the most severe first.
    fn problems(&mut self, problems: &[Problem]) -> Result<(), Error> {
        let (errors, warnings): (Vec<_>, Vec<_>) = problems.iter().partition(|p| p.severity == Severity::Error);
        for problem in errors.into_iter().chain(warnings) {
            let at = if problem.at.is_empty() { String::new() } else { format!("`{}` ", problem.at) };
            self.line(format_args!("{}: {at}{}", problem.severity, problem.message))?;
            self.line(format_args!("  do: {}", problem.fix))?;
        }
        Ok(())
    }
}

fn described(problems: &[Problem]) -> serde_json::Value {
    let one =
        |p: &Problem| json!({ "severity": p.severity.to_string(), "at": p.at, "message": p.message, "fix": p.fix });
    problems.iter().map(one).collect()
}
