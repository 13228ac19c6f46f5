//! A copy of the workspace to edit, in the folder that cargo builds in. It stays there, so that the next run is fast.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::edits::{Change, Edit};
use crate::{
    Failure,
    workspace::{self, capture, command, root},
};

/// A copy of the files that git knows, or would.
pub(super) struct Copy {
    folder: PathBuf,
    target: PathBuf,
    files: BTreeSet<PathBuf>,
}

impl Copy {
    /// Finds the files, and copies none yet.
    pub(super) fn new() -> Result<Self, Failure> {
        let home = workspace::target()?.join("grow");
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let list = capture(command("git").args(list))?;
        let files = list.split('\0').filter(|file| !file.is_empty()).map(PathBuf::from);
        let files = files.filter(|file| root().join(file).is_file()).collect();
        Ok(Self { folder: home.join("workspace"), target: home.join("target"), files })
    }

    /// Makes the copy the same as the workspace. Files that are the same already are not touched, and not built again.
    pub(super) fn reset(&self) -> Result<(), Failure> {
        remove_others(&self.folder, &self.folder, &self.files).map_err(|e| told(&self.folder, &e))?;
        for file in &self.files {
            let text = fs::read(root().join(file)).map_err(|e| told(file, &e))?;
            write(&self.folder.join(file), &text).map_err(|e| told(file, &e))?;
        }
        Ok(())
    }

    /// Edits one file.
    pub(super) fn apply(&self, edit: &Edit) -> Result<(), Failure> {
        let path = self.folder.join(edit.file);
        let text = match edit.change {
            Change::CopyOf(other) => fs::read_to_string(self.folder.join(other)).map_err(|e| told(&path, &e))?,
            Change::Replace(old, new) => {
                let text = fs::read_to_string(&path).map_err(|e| told(&path, &e))?;
                if !text.contains(old) {
                    return Err(format!("`{}` has no `{old}`: adapt `xtask/src/grow/edits.rs`", edit.file));
                }
                text.replace(old, new)
            }
        };
        write(&path, text.as_bytes()).map_err(|e| told(&path, &e))
    }

    /// Runs the checks, and returns the output of those that fail.
    pub(super) fn complaints(&self, checks: &[&[&str]]) -> Result<String, Failure> {
        let mut complaints = String::new();
        for check in checks {
            let mut cargo = command("cargo");
            cargo.args(*check).current_dir(&self.folder);
            cargo.env("CARGO_TARGET_DIR", &self.target).env("CARGO_PROFILE_DEV_DEBUG", "0");
            let output = cargo.output().map_err(|e| format!("cargo did not start: {e}"))?;
            if !output.status.success() {
                complaints += &String::from_utf8_lossy(&output.stderr);
                complaints += &String::from_utf8_lossy(&output.stdout);
            }
        }
        Ok(complaints)
    }
}

/// Removes the files of the copy that the workspace does not have.
fn remove_others(home: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(home, &path, files)?;
        } else if !path.strip_prefix(home).is_ok_and(|file| files.contains(file)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Writes a file, if it is not the same already.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)
}

fn told(path: &Path, error: &io::Error) -> Failure {
    format!("{}: {error}", path.display())
}
