//! The gateway at full size: the official suite through it, each revision in front, each era behind, over both
//! transports; and sessions and calls in numbers that would show what they leave behind.

use super::{Options, Report};
use crate::{
    Failure, conformance,
    workspace::{command, show},
};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    endurance()?;
    let mut suite = command("cargo");
    suite.args(["run", "--quiet", "--package", "xtask", "--", "conformance", "--debug", "--through-gateway"]);
    let endured = "sessions and calls leave nothing behind";
    match suite.status().map_err(|e| e.to_string())?.code() {
        Some(0) => Ok(Report::found(format!("{endured}; no scenario is lost through the gateway"))),
        Some(conformance::NOT_RUN) => Ok(Report {
            found: endured.to_owned(),
            not_run: vec!["conformance: the suite cannot be had here".to_owned()],
        }),
        _ => Err("scenarios are lost through the gateway".to_owned()),
    }
}

/// 20,000 sessions with ten calls each. The test prints its figures.
fn endurance() -> Result<(), Failure> {
    let mut test = command("cargo");
    test.args(["test", "--package", "couplet-host", "--all-features", "--test", "upstreams", "--"]);
    test.args(["--nocapture", "acceptance_08_sessions"]).env("COUPLET_ENDURANCE_SESSIONS", "20000");
    show(&mut test)
}
