//! A change to a file: seen before it is made, and made whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use similar::TextDiff;

use crate::{Env, Error, ErrorKind, Place, Scope, backup};

/// What a file is and what it should become.
#[derive(Clone, Debug)]
pub struct Change {
    place: Place,
    before: Option<String>,
    after: String,
    notes: Vec<String>,
}

impl Change {
    pub(crate) fn new(place: Place, before: Option<String>, after: String, notes: Vec<String>) -> Self {
        Self { place, before, after, notes }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// What the file will say.
    #[must_use]
    pub fn after(&self) -> &str {
        &self.after
    }

    /// Whether the file is already as it should be.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after
    }

    /// What the host could not be told.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The change as a unified diff.
    #[must_use]
    pub fn diff(&self) -> String {
        let name = self.place.path.display().to_string();
        let before = self.before.as_deref().unwrap_or_default();
        let from = if self.before.is_some() { name.as_str() } else { "/dev/null" };
        TextDiff::from_lines(before, self.after.as_str()).unified_diff().header(from, &name).to_string()
    }

    /// Makes the change. What the file was is kept beside; returns where. The file is replaced as a whole, keeps its
    /// permissions, and stays a link if it is one.
    ///
    /// # Errors
    /// When the file has changed since it was read, or the system says no. The file is then as it was.
    pub fn apply(&self, env: &Env) -> Result<Option<PathBuf>, Error> {
        if self.is_nothing() {
            return Ok(None);
        }
        let path = self.target()?;
        let now = match fs::read(&path) {
            Ok(bytes) => Some(bytes),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io(&path, "cannot be read", &e)),
        };
        if now.as_deref() != self.before.as_ref().map(String::as_bytes) {
            let what = format!("`{}` has just been changed by somebody else", path.display());
            return Err(Error::new(ErrorKind::Conflict, what).with_hint("nothing was written; try again"));
        }
        let backup = match &self.before {
            Some(before) => Some(backup::keep(env, &self.place.path, before)?),
            None => None,
        };
        replace(&path, &self.after, self.place.scope)?;
        Ok(backup)
    }

    /// The file itself, behind any links.
    fn target(&self) -> Result<PathBuf, Error> {
        let path = &self.place.path;
        match fs::canonicalize(path) {
            Ok(real) => Ok(real),
            Err(e) if e.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                Ok(to) => {
                    Err(Error::broken(path, None, format!("it is a link to `{}`, which is not there", to.display()))
                        .with_hint("make the file that it leads to, or take the link away"))
                }
                Err(_) => Ok(path.clone()),
            },
            Err(e) => Err(Error::io(path, "cannot be found", &e)),
        }
    }
}

/// Writes a file beside the one that it replaces, then gives it that one's name.
fn replace(path: &Path, text: &str, scope: Scope) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, "cannot be made", &e))?;
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        let what = format!("`{}` is read-only", path.display());
        return Err(Error::new(ErrorKind::Io, what).with_hint("allow writing to it, then try again"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write(&beside, text, old.as_ref(), scope).and_then(|()| fs::rename(&beside, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&beside);
        Error::io(path, "cannot be written", &e)
    })
}

fn write(path: &Path, text: &str, like: Option<&fs::Metadata>, scope: Scope) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(text.as_bytes())?;
    match like {
        Some(old) => take_after(&file, old)?,
        None if scope == Scope::Project => for_everybody(&file)?,
        // A file of the user's may come to hold keys.
        None => {}
    }
    file.sync_all()
}

#[cfg(unix)]
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn take_after(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    // Only the administrator can give files away, and only for them it matters.
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn take_after(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// What a file has that the project shares, as if any editor had made it.
#[cfg(unix)]
fn for_everybody(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn for_everybody(_: &File) -> io::Result<()> {
    Ok(())
}
