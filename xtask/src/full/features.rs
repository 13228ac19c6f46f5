//! Every feature alone and every two features together, in each published package.

use super::{Options, Report, published, scratch::Scratch, tools};
use crate::{Failure, workspace::show};

/// Features of the facade that only pass a name on to a crate below: each group counts as one, or the pairs would be
/// twice as many. The crates below are tried with every two of their own.
const ALIKE: (&str, [&str; 4]) = (
    "couplet",
    [
        "chrono,jiff,url,uuid",
        "redis-cluster,redis-sentinel,redis-tls",
        "auth-keychain,reqwest,system-roots",
        "inspector,metrics,replicas",
    ],
);

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
            // All of them together are what `cargo xtask ci` builds.
            hack.args(["--exclude-features", "full"]);
            hack.args(ALIKE.1.iter().flat_map(|group| ["--group-features", group]));
        }
        failed.extend(show(&mut hack).err());
    }
    if !failed.is_empty() {
        return Err(failed.join("\n"));
    }
    Ok(Report::found(format!("{} packages build with none, each and every two of their features", packages.len())))
}
