//! What came of a run of the suite: a warning is a failure, and so is a run that says nothing.

use std::{collections::BTreeMap, fs, path::Path, process::ExitStatus};

use serde_json::Value;

use super::suite::Run;
use crate::Failure;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) passed: usize,
    pub(super) skipped: usize,
    /// The checks that failed or warned.
    pub(super) bad: Vec<String>,
    /// Why the run as such counts as failed.
    pub(super) broken: Option<String>,
}

impl Outcome {
    /// A run that could not be made.
    pub(super) fn broken(why: String) -> Self {
        Self { broken: Some(why), ..Self::default() }
    }

    /// The ids of the checks that failed or warned.
    pub(super) fn bad_ids(&self) -> impl Iterator<Item = &str> {
        self.bad.iter().map(|bad| {
            let id = bad.split_once(' ').and_then(|(_, rest)| rest.split_once(':'));
            id.map_or(bad.as_str(), |(id, _)| id)
        })
    }

    pub(super) fn failed(&self) -> usize {
        self.bad.len() + usize::from(self.broken.is_some())
    }
}

/// The text of the `checks.json` somewhere below a folder.
pub(super) fn checks(folder: &Path) -> Option<String> {
    let file = folder.join("checks.json");
    if file.is_file() {
        return fs::read_to_string(file).ok();
    }
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).find_map(|path| checks(&path))
}

pub(super) fn judge(ended: Result<ExitStatus, Failure>, log: &str, checks: Option<&str>) -> Outcome {
    let mut outcome = Outcome::default();
    let checks: Option<Vec<Value>> = checks.and_then(|text| serde_json::from_str(text).ok());
    for check in checks.iter().flatten() {
        match check["status"].as_str().unwrap_or("no status") {
            "SUCCESS" => outcome.passed += 1,
            "SKIPPED" => outcome.skipped += 1,
            "INFO" => {}
            status => {
                let text = |key: &str| check[key].as_str().filter(|text| !text.is_empty());
                let why = text("errorMessage").or_else(|| text("description")).unwrap_or_default();
                let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
                outcome.bad.push(format!("{status} {}: {why}", text("id").unwrap_or("?")));
            }
        }
    }
    outcome.broken = match (ended, checks) {
        (Err(why), _) => Some(why),
        _ if log.contains("CLIENT TIMED OUT") => Some("the client timed out".to_owned()),
        _ if log.contains("CLIENT EXITED WITH ERROR") => Some("the client ended with an error".to_owned()),
        (Ok(status), None) => Some(format!("the suite left no result: {status}")),
        (_, Some(checks)) if checks.is_empty() => Some("there was no check".to_owned()),
        (Ok(status), _) if !status.success() && outcome.bad.is_empty() => Some(format!("the suite failed: {status}")),
        _ => None,
    };
    outcome
}

/// The runs with something failed, and the totals by role and revision.
pub(super) fn report(outcomes: &[(&Run, Outcome)]) -> String {
    let mut lines = Vec::new();
    let mut totals = BTreeMap::<_, [usize; 4]>::new();
    for (run, outcome) in outcomes {
        let counts = [1, outcome.passed, outcome.failed(), outcome.skipped];
        let total = totals.entry((run.role, &run.revision)).or_default();
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        if outcome.failed() > 0 {
            let [_, passed, failed, _] = counts;
            let name = format!("{} {} {}", run.role.name(), run.revision, run.scenario);
            lines.push(format!("{name:<70}{passed:>4} passed{failed:>4} failed"));
            lines.extend(outcome.bad.iter().chain(&outcome.broken).map(|why| format!("    {why}")));
        }
    }
    lines.push(format!("\n{:<20}{:>8}{:>8}{:>8}{:>8}", "", "runs", "passed", "failed", "skipped"));
    lines.extend(totals.iter().map(|((role, revision), [runs, passed, failed, skipped])| {
        format!("{:<20}{runs:>8}{passed:>8}{failed:>8}{skipped:>8}", format!("{} {revision}", role.name()))
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_is_strict() {
        let fine = || Ok(ExitStatus::default());
        let checks = r#"[{"status":"SUCCESS"},{"status":"WARNING","id":"a"},{"status":"FAILURE"},{"status":"INFO"}]"#;
        let outcome = judge(fine(), "", Some(checks));
        assert_eq!((outcome.passed, outcome.failed(), outcome.broken.as_deref()), (1, 2, None));
        assert_eq!(judge(fine(), "CLIENT EXITED WITH ERROR (code 1)", Some(checks)).failed(), 3);
        for (ended, checks) in [(fine(), None), (fine(), Some("[]")), (fine(), Some("[")), (Err(String::new()), None)] {
            assert_eq!(judge(ended, "", checks).failed(), 1);
        }
        assert_eq!(judge(fine(), "", Some(r#"[{"status":"SUCCESS"}]"#)).failed(), 0);
    }
}
