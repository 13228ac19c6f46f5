//! Every feature alone and every two features together, in each published package.

use super::{Options, Report, published, scratch::Scratch, tools};
use crate::{Failure, workspace::show};

/// Features that only pass a name on to `schemars`: as one, or the pairs of the facade would be twice as many.
const ALIKE: (&str, [&str; 4]) = ("couplet", ["chrono", "jiff", "url", "uuid"]);

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    if let Err(why) = tools::HACK.command() {
        return Ok(Report::not_run(why));
    }
    let packages = published::all()?;
    let scratch = Scratch::new("features")?;
    let mut failed = Vec::new();
    for package in &packages {
        let mut hack = scratch.within(tools::HACK.command()?);
        hack.args(["check", "--quiet", "--feature-powerset", "--depth", "2", "--keep-going"]);
        hack.args(["--package", &package.name]);
        if package.name == ALIKE.0 {
            hack.args(["--group-features", &ALIKE.1.join(",")]);
        }
        failed.extend(show(&mut hack).err());
    }
    if !failed.is_empty() {
        return Err(failed.join("\n"));
    }
    Ok(Report::found(format!("{} packages build with none, each and every two of their features", packages.len())))
}
