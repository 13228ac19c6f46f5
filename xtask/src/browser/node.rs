//! The page's scripts without a browser: their tests under node, and their types under TypeScript.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Failure,
    interop::peer::{Missing, npm},
    workspace::{capture, command, root},
};

/// Installs the packages that `crates/inspector/package.json` names, and returns their folder.
pub(super) fn packages() -> Result<PathBuf, Missing> {
    let folder = root().join("target/browser-tools");
    npm(&folder, &crate_folder().join("package.json"))?;
    Ok(folder)
}

/// Runs the tests of `page-tests`.
pub(super) fn tests() -> Result<(), Failure> {
    let folder = crate_folder();
    let entries = fs::read_dir(folder.join("page-tests")).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(".test.js"));
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return Err("there are no tests".to_owned());
    }
    capture(command("node").current_dir(folder).arg("--test").args(names)).map(drop)
}

/// Checks the types of the page's scripts, with the compiler in the folder of node's packages.
pub(super) fn types(packages: &Path) -> Result<(), Failure> {
    let compiler = packages.join("node_modules/typescript/bin/tsc");
    let mut check = command("node");
    check.arg(compiler).args(["--pretty", "false", "-p"]).arg(crate_folder().join("page-tests"));
    let output = check.output().map_err(|e| format!("`node` did not start: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
    }
}

fn crate_folder() -> PathBuf {
    root().join("crates/inspector")
}
