//! The gateway at full size: the acceptance tests in numbers that would show what sessions, calls, kills and reloads leave
//! behind, and the official suite through it, each revision in front, each era behind, over both transports.

use std::process::Stdio;

use super::{Options, Report};
use crate::{
    Failure, conformance,
    workspace::{command, describe},
};

/// A test that prints a line with its figures, and the variables with its size.
struct Sized {
    package: &'static str,
    binary: &'static str,
    /// A part of the names of tests.
    tests: &'static str,
    sizes: &'static [(&'static str, &'static str)],
}

const fn sized(binary: &'static str, tests: &'static str, sizes: &'static [(&'static str, &'static str)]) -> Sized {
    Sized { package: "couplet-host", binary, tests, sizes }
}

const fn gateway(tests: &'static str, sizes: &'static [(&'static str, &'static str)]) -> Sized {
    Sized { package: "couplet-gateway", binary: "gateway", tests, sizes }
}

/// The tests whose size a variable sets.
const SIZED: &[Sized] = &[
    sized("service", "acceptance_06", &[]),
    sized("upstreams", "acceptance_07", &[("COUPLET_KILLS", "100")]),
    sized("upstreams", "acceptance_08_sessions", &[("COUPLET_ENDURANCE_SESSIONS", "100000")]),
    gateway("acceptance_08", &[("COUPLET_IDLE_SESSIONS", "100000")]),
    gateway("acceptance_10", &[("COUPLET_LARGE", "64")]),
    sized("service", "acceptance_11", &[("COUPLET_TRAFFIC_EVENTS", "1000000")]),
    sized("service", "acceptance_12", &[("COUPLET_LISTENERS", "10000")]),
    gateway("acceptance_13", &[("COUPLET_RELOADS", "1000")]),
    sized("service", "acceptance_24", &[("COUPLET_AUDIT_RATE", "20000")]),
    sized("upstreams", "s19_deep", &[]),
    gateway("s19", &[("COUPLET_INITIALIZES", "20000")]),
];

/// The beginnings of the lines with figures.
const FIGURES: [&str; 2] = ["acceptance ", "attack S"];

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let figures = acceptance()?;
    println!("{}", figures.join("\n"));
    let mut suite = command("cargo");
    suite.args(["run", "--quiet", "--package", "xtask", "--", "conformance", "--debug", "--through-gateway"]);
    let held = format!("{} acceptance tests hold at full size, with the figures above", SIZED.len());
    match suite.status().map_err(|e| e.to_string())?.code() {
        Some(0) => Ok(Report::found(format!("{held}; no scenario is lost through the gateway"))),
        Some(conformance::NOT_RUN) => {
            Ok(Report { found: held, not_run: vec!["conformance: the suite cannot be had here".to_owned()] })
        }
        _ => Err("scenarios are lost through the gateway".to_owned()),
    }
}

/// Runs all tests, one at a time; returns their figures.
fn acceptance() -> Result<Vec<String>, Failure> {
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    for test in SIZED {
        match test.run() {
            Ok(lines) => all.extend(lines),
            Err(why) => failed.push(why),
        }
    }
    match failed.is_empty() {
        true => Ok(all),
        false => Err([failed, all].concat().join("\n")),
    }
}

impl Sized {
    /// Runs the tests alone in their process, optimized because they measure times.
    fn run(&self) -> Result<Vec<String>, Failure> {
        let mut test = command("cargo");
        test.args(["test", "--quiet", "--release", "--all-features", "--package", self.package, "--test", self.binary]);
        test.args(["--", "--nocapture", "--test-threads", "1", self.tests]).envs(self.sizes.iter().copied());
        let shown = describe(&test);
        let output = test.stderr(Stdio::inherit()).output().map_err(|e| format!("`{shown}` did not start: {e}"))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        print!("{printed}");
        let lines = figures(&printed);
        match (output.status.success(), lines.is_empty()) {
            (true, false) => Ok(lines),
            (true, true) => Err(format!("`{shown}` ran no test that prints figures")),
            (false, _) => Err(format!("`{shown}` failed: {}\n{}", output.status, lines.join("\n"))),
        }
    }
}

/// The lines with figures, without the name of the test that may be before them.
fn figures(printed: &str) -> Vec<String> {
    let figures = |line: &str| FIGURES.iter().find_map(|start| Some(line[line.find(start)?..].to_owned()));
    printed.lines().filter_map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_figures_are_found() {
        let printed =
            "running 1 test\ntest child::acceptance_07_kills ... acceptance 7: 100 kills\nok\nattack S19: 3\n";
        assert_eq!(figures(printed), ["acceptance 7: 100 kills", "attack S19: 3"]);
        assert!(figures("test child::acceptance_07_kills ... ok\n").is_empty());
    }
}
