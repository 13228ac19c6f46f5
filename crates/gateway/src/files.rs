//! Files that are written as a whole.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use couplet_hosts::Env;

/// Replaces a file: after a crash it has the old content or the new one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = path.with_file_name(name);
    let write = || {
        let mut file = fs::File::create(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // The permissions of the old file are the user's choice.
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        fs::rename(&fresh, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&fresh)))
}

/// Creates a file that only the user can read, with its whole content. One that exists is left as it is.
pub(crate) fn create_private(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = path.with_file_name(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Left behind by an earlier process with this id.
    let _ = fs::remove_file(&fresh);
    let write = || {
        let mut file = options.open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // Unlike a renamed file, a link does not replace one that another process has created meanwhile.
        match fs::hard_link(&fresh, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    let written = write();
    let _ = fs::remove_file(&fresh);
    written
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// Returns the folder for the state of gateways: logins, approvals, the key of audit files.
#[must_use]
pub fn state_folder(env: &Env) -> PathBuf {
    let named = if cfg!(windows) { env.var("LOCALAPPDATA") } else { env.var("XDG_STATE_HOME") };
    named.map_or_else(|| env.home().join(".local/state"), PathBuf::from).join("couplet")
}

/// Returns the file of stored logins.
pub(crate) fn logins(env: &Env) -> PathBuf {
    state_folder(env).join("logins.json")
}

/// Creates a folder that only the user can use.
#[cfg(unix)]
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("`{}` is not a folder of this user", path.display())));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Creates a folder.
#[cfg(not(unix))]
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}
