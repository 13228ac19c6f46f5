//! The packages that crates.io would get: every manifest is complete, each archive builds by itself, and there is an order
//! in which all can be published.

use super::{Options, Report, published};
use crate::{
    Failure,
    workspace::{command, show},
};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let packages = published::all()?;
    // Everything but the uploads. Archives are compiled, so a file that one lacks is found.
    let mut cargo = command("cargo");
    cargo.args(["publish", "--quiet", "--dry-run", "--locked", "--allow-dirty"]).args(published::flags(&packages));
    show(&mut cargo)?;
    Ok(Report::found(format!("{} packages build from their archives and can be published", packages.len())))
}
