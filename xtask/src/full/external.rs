//! I7: a crate exposes a foreign type only on purpose, as `[package.metadata.cargo_check_external_types]` lists them.

use super::{Options, Report, published, tools};
use crate::{
    Failure,
    workspace::{self, root, show},
};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    if let Err(why) = tools::EXTERNAL_TYPES.command() {
        return Ok(Report::not_run(why));
    }
    let folder = workspace::target()?.join("full/bootstrap");
    let mut libraries = published::libraries()?;
    libraries.retain(|library| !library.is_program);
    let mut failed = Vec::new();
    for library in &libraries {
        let mut check = tools::EXTERNAL_TYPES.command()?;
        // The format of rustdoc that the tool reads is an unstable one.
        check.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &folder).args(["--all-features", "--manifest-path"]);
        if let Err(why) = show(check.arg(root().join(&library.folder).join("Cargo.toml"))) {
            failed.push(format!("`{}`: {why}", library.name));
        }
    }
    if failed.is_empty() {
        Ok(Report::found(format!(
            "{} libraries expose the foreign types that they list, and no others",
            libraries.len()
        )))
    } else {
        Err(failed.join("\n"))
    }
}
