//! The packages of the command: made as for a release, installed and run.

use super::{Options, Report, tools};
use crate::{Failure, dist};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    for tool in [tools::ABOUT, tools::CYCLONEDX] {
        if let Err(why) = tool.program() {
            return Ok(Report::not_run(why));
        }
    }
    let outcome = dist::everything()?;
    println!("{}", outcome.done.join("\n"));
    Ok(Report { found: "packages are reproducible, install and run".to_owned(), not_run: outcome.not_run })
}
