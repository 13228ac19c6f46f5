//! Formats findings as text and as JSON.

use std::fmt::Write;

use crate::{Family, Finding, Severity, rules};

/// Formats findings as plain text: grouped by rule, the most severe first, with a summary line at the end.
///
/// ```
/// use couplet_lint::{Config, Surface, lint, text};
///
/// let findings = lint(&Surface::from_answers([]), &Config::new());
/// assert!(text(&findings).ends_with("1 error, 0 warnings, 0 notes\n"));
/// assert_eq!(text(&[]), "no findings\n");
/// ```
pub fn text(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "no findings\n".to_owned();
    }
    let mut out = String::new();
    for group in findings.chunk_by(|a, b| a.rule.id == b.rule.id) {
        // Writing to a string cannot fail.
        let _ = print_group(&mut out, group);
    }
    let count = |severity| findings.iter().filter(|finding| finding.rule.severity == severity).count();
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let count = count(severity);
        format!("{count} {severity}{}", if count == 1 { "" } else { "s" })
    });
    let _ = writeln!(out, "{}", counts.join(", "));
    out
}

/// From this number of places on, a common message is written once; and the number of places that are named.
const MANY: usize = 4;
const NAMED: usize = 6;

fn print_group(out: &mut String, group: &[Finding]) -> std::fmt::Result {
    let Some(Finding { rule, .. }) = group.first() else { return Ok(()) };
    writeln!(out, "{} {}: {}", rule.severity, rule.id, rule.about)?;
    let same = |what: &str| group.iter().filter(|finding| finding.what == what).count();
    for (at, Finding { place, what, .. }) in group.iter().enumerate() {
        if same(what) < MANY {
            write!(out, "  {place}: {what}")?;
            match &*place.pointer {
                "" => writeln!(out)?,
                pointer => writeln!(out, "  ({pointer})")?,
            }
        } else if !group[..at].iter().any(|earlier| earlier.what == *what) {
            let places = group.iter().filter(|finding| finding.what == *what).map(|finding| finding.place.to_string());
            let named: Vec<_> = places.take(NAMED).collect();
            let more = same(what).saturating_sub(NAMED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            writeln!(out, "  {}{more}: {what}", named.join("; "))?;
        }
    }
    writeln!(out, "  why: {}", rule.why)?;
    writeln!(out, "  fix: {}\n", rule.fix)
}

/// Formats the table of all rules, grouped by family, one line each.
///
/// ```
/// assert!(couplet_lint::rules_text().contains("\n  warning  schema-ref "));
/// ```
pub fn rules_text() -> String {
    let mut out = String::new();
    let width = rules().map(|rule| rule.id.len()).max().unwrap_or(0);
    for &family in Family::ALL {
        let _ = writeln!(out, "{family}");
        for rule in rules().filter(|rule| rule.family == family) {
            let optional = if rule.optional { " (only if enabled)" } else { "" };
            let _ = writeln!(out, "  {:<8} {:<width$} {}{optional}", rule.severity.id(), rule.id, rule.about);
        }
    }
    out
}

/// Formats findings as JSON lines: one object per finding.
///
/// ```
/// use couplet_lint::{Config, Surface, json_lines, lint};
///
/// let findings = lint(&Surface::from_answers([]), &Config::new());
/// let line: serde_json::Value = serde_json::from_str(json_lines(&findings).trim_end())?;
/// assert_eq!((&line["rule"], &line["severity"]), (&"no-answer".into(), &"error".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn json_lines(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        out.push_str(&serde_json::to_string(finding).expect("a finding is made of strings"));
        out.push('\n');
    }
    out
}
