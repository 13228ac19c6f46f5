//! The archive, unpacked.

use std::path::{Path, PathBuf};

use super::{Attempt, Tried};
use crate::{
    Failure,
    dist::{files::empty, product::Product},
    workspace::{capture, command},
};

/// Unpacks the archive, and returns the path of the program.
pub(super) fn unpack(product: &Product, packages: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let Product { platform, version, .. } = product;
    empty(folder)?;
    // The tar of Windows reads zip archives, too.
    let mut tar = command("tar");
    capture(tar.current_dir(folder).arg("-xf").arg(packages.join(platform.archive(version))))?;
    Ok(folder.join(platform.folder(version)).join(platform.program()))
}

/// The sums are right, and the program runs.
pub(super) fn run(attempt: &Attempt<'_>) -> Result<Tried, Failure> {
    if !cfg!(windows) {
        let sums = if cfg!(target_os = "macos") { ["shasum", "-a", "256"].as_slice() } else { &["sha256sum"] };
        let mut check = command(sums[0]);
        capture(check.current_dir(attempt.packages).args(&sums[1..]).args(["--check", "SHA256SUMS"]))?;
    }
    attempt.check(|| Attempt::start(&attempt.program, &attempt.folder))?;
    Ok(Tried::Ran("unpacked".to_owned()))
}
