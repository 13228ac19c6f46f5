//! The archives that crates.io would get: every manifest is complete, and packages can be published in some order.

use super::{Options, Report, published};
use crate::{
    Failure,
    workspace::{command, show},
};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let packages = published::all()?;
    let mut cargo = command("cargo");
    cargo.args(["package", "--quiet", "--no-verify", "--allow-dirty"]).args(published::flags(&packages));
    show(&mut cargo)?;
    Ok(Report::found(format!("{} packages can be published", packages.len())))
}
