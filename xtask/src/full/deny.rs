//! Licenses, bans, sources and advisories of the dependencies: `deny.toml`.

use super::{Options, Report, tools};
use crate::{
    Failure,
    workspace::{capture, show},
};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let tool = match tools::DENY.command() {
        Ok(_) => || tools::DENY.command(),
        Err(why) => return Ok(Report::not_run(why)),
    };
    let check = |what: &[&str]| show(tool()?.args(["--workspace", "check", "--hide-inclusion-graph"]).args(what));
    check(&["bans", "licenses", "sources"])?;
    // The database is a repository of its own, which not every machine can reach.
    match capture(tool()?.args(["--workspace", "fetch", "db"])) {
        Ok(_) => {
            check(&["advisories"])?;
            Ok(Report::found("bans, licenses, sources and advisories hold"))
        }
        Err(why) => Ok(Report {
            found: "bans, licenses and sources hold".to_owned(),
            not_run: vec![format!("advisories: the database cannot be fetched: {}", last_line(&why))],
        }),
    }
}

fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason given")
}
