//! Commands of other crates, which write plain text or JSON: their output is colored and escaped here.

use std::{env, io::Write, path::Path};

use couplet_hosts::Env;

use crate::{
    exit::{Exit, Failure},
    output::{Output, Paint, compact},
    target::environment,
};

/// Runs a command of `couplet_hosts`.
pub(crate) fn hosts(
    output: &Output,
    command: impl FnOnce(&Env, bool, &mut dyn Write) -> Result<(), couplet_hosts::Error>,
) -> Result<(), Failure> {
    let env = environment()?;
    whole(output, |out| command(&env, output.json, out))
}

/// Runs a command of `couplet_bundle`. Relative paths are resolved in the current directory.
pub(crate) fn bundle(
    output: &Output,
    command: impl FnOnce(&Path, bool, &mut dyn Write) -> Result<(), couplet_bundle::Error>,
) -> Result<(), Failure> {
    let here = env::current_dir()
        .map_err(|e| Failure::new(Exit::File, format!("cannot determine the current directory: {e}")))?;
    whole(output, |out| command(&here, output.json, out))
}

/// Runs a command and prints its output, even if it fails.
pub(crate) fn whole<E: Into<Failure>>(
    output: &Output,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut written = Vec::new();
    let outcome = write(&mut written);
    print(output, &written)?;
    outcome.map_err(Into::into)
}

/// Prints lines, colored by their first word.
pub(crate) fn print(output: &Output, written: &[u8]) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(written);
    if output.json {
        // One value per line, as in all commands.
        let is_one = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        return if is_one { output.print(&(compact(&text) + "\n")) } else { output.print(&text) };
    }
    let said = output.said(&text);
    output.print(&said.split_inclusive('\n').map(|line| painted(line, output.out)).collect::<String>())
}

fn painted(line: &str, paint: Paint) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let first = text.split([' ', ':']).next().unwrap_or_default();
    let rest = &text[first.len()..];
    let text = match first {
        "error" => format!("{}{rest}", paint.error(first)),
        "warning" => format!("{}{rest}", paint.warning(first)),
        "note" => format!("{}{rest}", paint.strong(first)),
        _ if text.starts_with('+') => paint.good(text),
        _ if text.starts_with('-') => paint.removed(text),
        _ if text.starts_with("@@") => paint.faint(text),
        _ => text.to_owned(),
    };
    text + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let paint = Paint { colour: true, terminal: true };
        assert_eq!(painted(line, paint).replace('\u{1b}', "^"), expected);
        assert_eq!(painted(line, Paint { colour: false, terminal: true }), line);
    }

    #[test]
    fn lines_are_colored_by_their_first_word() {
        check("error: no such thing\n", "^[1m^[31merror^[0m: no such thing\n");
        check("+ a line\n", "^[32m+ a line^[0m\n");
        check("- a line\n", "^[31m- a line^[0m\n");
        check("errors: 3", "errors: 3");
        check("", "");
    }
}
