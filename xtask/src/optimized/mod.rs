//! The program `couplet` as it is packaged and measured, and the order of its functions.

pub(crate) mod order;

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    process::Command,
};

use crate::{
    Failure,
    workspace::{command, root, show, target},
};

/// Whether rustc links programs for this machine with its own lld, which can order functions.
const HAS_LLD: bool = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));

/// The functions that are placed next to each other, by their symbols.
const ORDER: &str = "packaging/order/x86_64-unknown-linux-gnu.txt";

/// Builds the program with the profile `dist`.
pub(crate) fn build() -> Result<(), Failure> {
    show(&mut cargo("dist")?)
}

/// The command that builds the program with a profile.
pub(crate) fn cargo(profile: &str) -> Result<Command, Failure> {
    cargo_with(profile, &[])
}

/// The same with options of cargo. Flags of the linker are for this one program alone.
fn cargo_with(profile: &str, options: &[&str]) -> Result<Command, Failure> {
    let mut cargo = command("cargo");
    cargo
        .args(["rustc", "--locked", "--profile", profile, "--package", "couplet-cli", "--bin", "couplet"])
        .args(options);
    if profile == "dist" && HAS_LLD {
        // Symbols of another compiler or of other versions are not found, and then nothing is ordered.
        let flag =
            format!("-Clink-arg=-Wl,--symbol-ordering-file={},--no-warn-symbol-ordering", order_file()?.display());
        cargo.args(["--", &flag]);
    }
    Ok(cargo)
}

/// A copy of the list whose name depends on its text: cargo knows the flags of the linker, but not the files that they name.
fn order_file() -> Result<PathBuf, Failure> {
    let (path, folder) = (root().join(ORDER), target()?.join("order"));
    let text = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut digest = DefaultHasher::new();
    text.hash(&mut digest);
    let copy = folder.join(format!("{:016x}.txt", digest.finish()));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&copy, text))
        .map_err(|e| format!("{}: {e}", copy.display()))?;
    Ok(copy)
}
