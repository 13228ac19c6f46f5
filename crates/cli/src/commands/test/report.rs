//! The report on standard output: text for people, or JSON Lines.

use serde_json::{Value, json};

use super::{
    mismatch::Mismatch,
    record::{Case, CaseOutcome, Suite, Totals},
    runner::shown,
};
use crate::{
    exit::Failure,
    output::{Output, screen_width, text},
    target::Session,
};

/// Columns before a line of a difference.
const INDENT: usize = 6;
/// The width of a report in a pipe.
const WIDTH: usize = 80;

pub(super) struct TestReport<'a>(pub(super) &'a Output);

impl TestReport<'_> {
    /// Prints the head of a collection.
    pub(super) fn head(&self, suite: &Suite, session: &Session) -> Result<(), Failure> {
        if self.0.json {
            return Ok(());
        }
        let server = session.client.server();
        let name = server.info.as_ref().map(|info| text::line(&format!("{} {}", info.display_name(), info.version)));
        let parts = [Some(self.0.out.strong(shown(&suite.file))), name, suite.revision.clone()];
        self.0.print(&format!("{}\n", parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")))
    }

    /// Prints the outcome of a call.
    pub(super) fn case(&self, suite: &Suite, case: &Case) -> Result<(), Failure> {
        if self.0.json {
            return self.line(suite, Some(case), &case.outcome);
        }
        let paint = self.0.out;
        let (word, note) = match &case.outcome {
            CaseOutcome::Passed { updated: false } => (paint.good("ok     "), String::new()),
            CaseOutcome::Passed { updated: true } => (paint.good("ok     "), "  snapshot written".to_owned()),
            CaseOutcome::Failed(_) => (paint.error("FAILED "), String::new()),
            CaseOutcome::Skipped(why) => (paint.warning("skipped"), format!("  {why}")),
        };
        let time = match &case.outcome {
            CaseOutcome::Skipped(_) => String::new(),
            _ => format!("  {} ms", case.time.as_millis()),
        };
        let notes = paint.faint(format!("{time}{}", text::visible(&note)));
        let mut lines = format!("  {word}  {}{notes}\n", text::visible(&case.name));
        if let CaseOutcome::Failed(mismatches) = &case.outcome {
            mismatches.iter().for_each(|mismatch| lines.push_str(&self.mismatch(mismatch)));
        }
        self.0.print(&lines)
    }

    fn mismatch(&self, mismatch: &Mismatch) -> String {
        let paint = self.0.out;
        let width = if self.0.out.terminal { screen_width() } else { WIDTH };
        let heading = wrapped(&text::visible(&mismatch.heading()), width.saturating_sub(4)).join("\n    ");
        let legend = match mismatch.expected.is_some() && mismatch.actual.is_some() {
            true => paint.faint("  (- expected, + actual)"),
            false => String::new(),
        };
        let mut lines = format!("    {heading}{legend}\n");
        for line in mismatch.lines(width.saturating_sub(INDENT)) {
            let line = text::visible(&line).replace('\t', "\\t");
            let line = match line.as_bytes().first() {
                Some(b'-') => paint.removed(line),
                Some(b'+') => paint.good(line),
                _ => line,
            };
            lines.push_str(&format!("{}{line}\n", " ".repeat(INDENT)));
        }
        lines
    }

    /// Prints why a collection did not run.
    pub(super) fn failure(&self, suite: &Suite) -> Result<(), Failure> {
        let Some(failure) = &suite.failure else { return Ok(()) };
        if self.0.json {
            let outcome = CaseOutcome::Failed(vec![failure_mismatch(failure)]);
            return self.line(suite, None, &outcome);
        }
        let heading = if suite.cases.is_empty() { heading(suite) } else { String::new() };
        let word = self.0.out.error("FAILED ");
        let mismatch = self.mismatch(&failure_mismatch(failure));
        self.0.print(&format!("{heading}  {word}  cannot run the collection\n{mismatch}"))
    }

    /// Prints why a collection was skipped.
    pub(super) fn skipped(&self, suite: &Suite) -> Result<(), Failure> {
        let Some(why) = &suite.skipped else { return Ok(()) };
        if self.0.json {
            return self.line(suite, None, &CaseOutcome::Skipped(why.clone()));
        }
        let word = self.0.out.warning("skipped");
        self.0.print(&format!("{}  {word}  {}\n", heading(suite), text::visible(why)))
    }

    /// Prints the counts.
    pub(super) fn totals(&self, totals: Totals) -> Result<(), Failure> {
        let Totals { passed, failed, skipped, errors, updated } = totals;
        if self.0.json {
            let counts = json!({ "passed": passed, "failed": failed, "skipped": skipped, "errors": errors });
            return self.0.print(&format!("{}\n", json!({ "totals": counts })));
        }
        let mut parts = vec![format!("{passed} passed")];
        let more = [
            (failed, format!("{failed} failed")),
            (errors, text::count(errors, "collection not run", "collections not run")),
            (skipped, format!("{skipped} skipped")),
            (updated, text::count(updated, "snapshot written", "snapshots written")),
        ];
        parts.extend(more.into_iter().filter(|(number, _)| *number > 0).map(|(_, part)| part));
        let line = parts.join(", ");
        let painted = if failed + errors > 0 { self.0.out.error(line) } else { self.0.out.good(line) };
        self.0.print(&format!("{painted}\n"))
    }

    fn line(&self, suite: &Suite, case: Option<&Case>, outcome: &CaseOutcome) -> Result<(), Failure> {
        let mut line = json!({ "file": shown(&suite.file), "revision": suite.revision });
        if let Some(case) = case {
            line["call"] = json!(case.name);
            line["ms"] = json!(case.time.as_millis());
        }
        let (word, key, more) = match outcome {
            CaseOutcome::Passed { updated } => ("passed", "updated", Value::from(*updated)),
            CaseOutcome::Failed(all) => ("failed", "mismatches", all.iter().map(Mismatch::to_json).collect()),
            CaseOutcome::Skipped(why) => ("skipped", "reason", why.as_str().into()),
        };
        line["outcome"] = word.into();
        line[key] = more;
        self.0.print(&format!("{line}\n"))
    }
}

fn heading(suite: &Suite) -> String {
    let revision = suite.revision.as_ref().map_or(String::new(), |revision| format!(" · {revision}"));
    format!("{}{revision}\n", shown(&suite.file))
}

/// Breaks text between words, into lines of at most `width` columns if words are not longer.
fn wrapped(words: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in words.lines() {
        // The indent of a list.
        let mut part = line.chars().take_while(|c| *c == ' ').collect::<String>();
        for word in line.split_whitespace() {
            if !part.trim().is_empty() && text::width(&part) + 1 + text::width(word) > width {
                lines.push(std::mem::take(&mut part));
            }
            if !part.trim().is_empty() {
                part.push(' ');
            }
            part.push_str(word);
        }
        lines.push(part);
    }
    lines
}

/// Converts the error of a connection.
pub(super) fn failure_mismatch(failure: &Failure) -> Mismatch {
    let hint = failure.hint.iter().map(|hint| format!("hint: {hint}"));
    Mismatch {
        details: failure.details.iter().cloned().chain(hint).collect(),
        ..Mismatch::new("", failure.message.clone())
    }
}
