//! The licenses of all dependencies, which a binary package has to have: by cargo-about, from the sources of the crates.

use crate::{Failure, full::tools, workspace::capture};

/// The name of the text in packages.
pub(super) const FILE: &str = "LICENSES-OF-DEPENDENCIES.txt";

/// The text, without a look at any service.
pub(super) fn text() -> Result<Vec<u8>, Failure> {
    println!("licenses of the dependencies");
    let mut about = tools::ABOUT.command()?;
    about.args(["generate", "--offline", "--locked", "--fail", "--manifest-path", "crates/cli/Cargo.toml"]);
    let text = capture(about.args(["--config", "packaging/about.toml", "packaging/licenses.hbs"]))?;
    // Texts of different crates end their lines differently.
    Ok(text.replace('\r', "").into_bytes())
}
