//! The lowest versions that the manifests allow are enough to build with.

use std::fs;

use super::{Options, Report, published, scratch::Scratch};
use crate::{Failure, workspace::show};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let libraries = published::libraries()?;
    let scratch = Scratch::new("minimal-versions")?;
    let lock = scratch.folder.join("Cargo.lock");
    fs::remove_file(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
    // The resolver's flag is an unstable one; the compiler is not asked for anything unstable.
    let mut resolve = scratch.cargo();
    resolve.env("RUSTC_BOOTSTRAP", "1").args(["generate-lockfile", "--quiet", "-Z", "direct-minimal-versions"]);
    show(&mut resolve).map_err(|why| format!("a lower bound is below what another dependency needs: {why}"))?;
    let mut check = scratch.cargo();
    check.args(["check", "--quiet", "--locked", "--all-features", "--keep-going"]).args(published::flags(&libraries));
    show(&mut check).map_err(|why| format!("a lower bound is too low: {why}"))?;
    Ok(Report::found(format!("{} libraries build with the lowest versions of their dependencies", libraries.len())))
}
