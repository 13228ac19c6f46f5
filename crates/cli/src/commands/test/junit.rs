//! Reports in the JUnit format, which CI systems read.

use std::{fmt::Write, fs, path::Path, time::Duration};

use super::{
    mismatch::Mismatch,
    record::{Case, CaseOutcome, Suite, Totals},
    report::failure_mismatch,
    runner::shown,
};
use crate::exit::Failure;

/// The width of differences.
const WIDTH: usize = 100;

/// Writes the report to a file, whose folders are created.
pub(super) fn write(file: &Path, suites: &[Suite]) -> Result<(), Failure> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, "created", &error))?;
    }
    fs::write(file, report(suites)).map_err(|error| Failure::file(file, "written", &error))
}

fn report(suites: &[Suite]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"couplet test\"{}>", counts(suites.iter()));
    for suite in suites {
        let name = match &suite.revision {
            Some(revision) => format!("{} ({revision})", shown(&suite.file)),
            None => shown(&suite.file),
        };
        let _ = writeln!(xml, "  <testsuite name=\"{}\"{}>", escaped(&name), counts([suite].into_iter()));
        for case in &suite.cases {
            testcase(&mut xml, suite, case);
        }
        if let Some(failure) = &suite.failure {
            open(&mut xml, suite, "(the collection)", Duration::ZERO, ">\n");
            problem(&mut xml, "error", &[failure_mismatch(failure)]);
            xml.push_str("    </testcase>\n");
        }
        if let Some(why) = &suite.skipped {
            open(&mut xml, suite, "(the collection)", Duration::ZERO, ">\n");
            let _ = writeln!(xml, "      <skipped message=\"{}\"/>\n    </testcase>", escaped(why));
        }
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn counts<'a>(suites: impl Iterator<Item = &'a Suite> + Clone) -> String {
    let Totals { passed, failed, skipped, errors, .. } = Totals::of(suites.clone());
    let skipped = skipped + suites.clone().filter(|suite| suite.skipped.is_some()).count();
    let time: Duration = suites.flat_map(|suite| &suite.cases).map(|case| case.time).sum();
    format!(
        " tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{:.3}\"",
        passed + failed + skipped + errors,
        time.as_secs_f64()
    )
}

fn testcase(xml: &mut String, suite: &Suite, case: &Case) {
    let Case { name, time, outcome } = case;
    match outcome {
        CaseOutcome::Passed { .. } => open(xml, suite, name, *time, "/>\n"),
        CaseOutcome::Skipped(why) => {
            open(xml, suite, name, *time, ">\n");
            let _ = writeln!(xml, "      <skipped message=\"{}\"/>\n    </testcase>", escaped(why));
        }
        CaseOutcome::Failed(mismatches) => {
            open(xml, suite, name, *time, ">\n");
            problem(xml, "failure", mismatches);
            xml.push_str("    </testcase>\n");
        }
    }
}

fn open(xml: &mut String, suite: &Suite, name: &str, time: Duration, end: &str) {
    let class = suite.file.file_stem().unwrap_or_default().to_string_lossy();
    let class = match &suite.revision {
        Some(revision) => format!("{class}.{revision}"),
        None => class.into_owned(),
    };
    let (class, name, time) = (escaped(&class), escaped(name), time.as_secs_f64());
    let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\"{end}");
}

fn problem(xml: &mut String, element: &str, mismatches: &[Mismatch]) {
    let message = mismatches.first().map(Mismatch::heading).unwrap_or_default();
    let message = escaped(message.lines().next().unwrap_or_default());
    let _ = writeln!(xml, "      <{element} type=\"{element}\" message=\"{message}\">");
    for mismatch in mismatches {
        let _ = writeln!(xml, "{}", escaped(&mismatch.heading()));
        for line in mismatch.lines(WIDTH) {
            let _ = writeln!(xml, "  {}", escaped(&line));
        }
    }
    let _ = writeln!(xml, "      </{element}>");
}

/// Escapes text for XML 1.0, which has no other control characters than tabs and line breaks.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_report_has_every_outcome() {
        let case = |name: &str, outcome| Case { name: name.to_owned(), time: Duration::from_millis(1500), outcome };
        let mismatch =
            Mismatch { details: vec!["<x>".to_owned()], ..Mismatch::new("/a", "differs \u{1b}[31m & \"so\"") };
        let ran = Suite {
            file: "a/shop.toml".into(),
            revision: Some("2026-07-28".to_owned()),
            cases: vec![
                case("good", CaseOutcome::Passed { updated: false }),
                case("<bad>", CaseOutcome::Failed(vec![mismatch])),
                case("not here", CaseOutcome::Skipped("not for 2026-07-28".to_owned())),
            ],
            failure: None,
            skipped: None,
        };
        let failure = Some(Failure::new(Exit::Unreachable, "no server"));
        let broken = Suite { file: "b.toml".into(), revision: None, cases: Vec::new(), failure, skipped: None };
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="couplet test" tests="4" failures="1" errors="1" skipped="1" time="4.500">
  <testsuite name="a/shop.toml (2026-07-28)" tests="3" failures="1" errors="0" skipped="1" time="4.500">
    <testcase classname="shop.2026-07-28" name="good" time="1.500"/>
    <testcase classname="shop.2026-07-28" name="&lt;bad&gt;" time="1.500">
      <failure type="failure" message="/a: differs \u{1b}[31m &amp; &quot;so&quot;">
/a: differs \u{1b}[31m &amp; &quot;so&quot;
    &lt;x&gt;
      </failure>
    </testcase>
    <testcase classname="shop.2026-07-28" name="not here" time="1.500">
      <skipped message="not for 2026-07-28"/>
    </testcase>
  </testsuite>
  <testsuite name="b.toml" tests="1" failures="0" errors="1" skipped="0" time="0.000">
    <testcase classname="b" name="(the collection)" time="0.000">
      <error type="error" message="no server">
no server
      </error>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(report(&[ran, broken]), expected);
    }
}
