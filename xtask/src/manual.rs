//! `cargo xtask manual`: the manual of `couplet`, which the program writes about itself.
//!
//! The pages in `docs/manual` are golden files of the command's tests, because they show the output of commands.

use crate::{
    Failure,
    workspace::{command, show},
};

/// Rewrites `docs/manual`; with `--man DIR`, writes the man pages and the completion scripts for a package.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let mut test = command("cargo");
            test.env("UPDATE_GOLDEN", "1");
            show(test.args(["test", "--quiet", "--package", "couplet-cli", "--test", "golden", "manual::"]))
        }
        ["--man", folder] => {
            let mut program = command("cargo");
            program.args(["run", "--quiet", "--package", "couplet-cli", "--bin", "couplet", "--"]);
            show(program.args(["manual", folder]))
        }
        _ => Err("expected nothing, or `--man DIR`".to_owned()),
    }
}
