//! Backups of changed files, stored in the state folder of the user, so that they do not clutter the folders of hosts
//! and projects.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{Env, Error, change::private, table::state};

/// The number of backups per file.
const KEPT: usize = 5;

/// Stores the text of a file as its newest backup, removes the oldest ones, and returns the path of the new one.
pub(crate) fn keep(env: &Env, path: &Path, text: &str) -> Result<PathBuf, Error> {
    let folder = state(env);
    make_private(&folder).map_err(|e| Error::io(&folder, "cannot be created", &e))?;
    let kept = list(env, path);
    let number = kept.last().map_or(1, |(number, _)| number + 1);
    let new = folder.join(format!("{}.{number}", stem(path)));
    let mut options = OpenOptions::new();
    let written =
        private(options.write(true).create_new(true)).open(&new).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| Error::io(&new, "cannot be written", &e).with_hint("nothing was changed"))?;
    for (_, old) in kept.iter().rev().skip(KEPT - 1) {
        let _ = fs::remove_file(old);
    }
    Ok(new)
}

/// The lock file that stands for a file.
pub(crate) fn lock_of(env: &Env, path: &Path) -> io::Result<PathBuf> {
    let folder = state(env).with_file_name("locks");
    make_private(&folder)?;
    Ok(folder.join(stem(path)))
}

/// The backups of a file, newest first.
pub(crate) fn all(env: &Env, path: &Path) -> Vec<String> {
    list(env, path).into_iter().rev().filter_map(|(_, file)| fs::read_to_string(file).ok()).collect()
}

/// The numbers and paths of the backups of a file, oldest first.
fn list(env: &Env, path: &Path) -> Vec<(u64, PathBuf)> {
    let stem = format!("{}.", stem(path));
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name.strip_prefix(&stem)?.parse().ok()?, entry.path()))
    };
    let mut all: Vec<_> = fs::read_dir(state(env)).into_iter().flatten().flatten().filter_map(number).collect();
    all.sort();
    all
}

/// The file's name with a hash of its path, which distinguishes files of the same name.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in path.as_os_str().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{name}.{hash:016x}")
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(fs::DirBuilder::new().recursive(true), 0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
