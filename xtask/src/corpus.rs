//! `cargo xtask corpus`: the fuzz targets over their seeds and mutations of them, the same every time.

use crate::{Failure, workspace};

const MUTATIONS: u64 = 20_000;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mutations = match arguments.first() {
        None => MUTATIONS,
        Some(text) => text.parse().map_err(|_| format!("`{text}` is not a number of mutations"))?,
    };
    bodies(["corpus", &mutations.to_string()])
}

/// Runs the program that has the bodies of the targets.
pub(crate) fn bodies<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    let cargo = ["run", "--quiet", "--package", "couplet-fuzz-bodies", "--"];
    workspace::cargo(cargo.into_iter().chain(arguments))
}
