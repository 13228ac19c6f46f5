//! The official suite through the gateway: each revision in front, each era behind, over both transports.

use super::{Options, Report};
use crate::{Failure, conformance, workspace::command};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let mut suite = command("cargo");
    suite.args(["run", "--quiet", "--package", "xtask", "--", "conformance", "--debug", "--through-gateway"]);
    match suite.status().map_err(|e| e.to_string())?.code() {
        Some(0) => Ok(Report::found("no scenario is lost through the gateway")),
        Some(conformance::NOT_RUN) => Ok(Report::not_run("the suite cannot be had here")),
        _ => Err("scenarios are lost through the gateway".to_owned()),
    }
}
