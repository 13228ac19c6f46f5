//! A change to a file, which can be shown as a diff before it is applied atomically.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use similar::TextDiff;

use crate::{Env, Error, ErrorKind, Place, Scope, backup, lock::Lock};

/// How often a change is planned again because another program has written the file.
#[cfg(feature = "cli")]
const ATTEMPTS: usize = 5;

/// A pending change to a configuration file, from [`Config::add`](crate::Config::add) or
/// [`Config::remove`](crate::Config::remove). Nothing is written before [`Change::apply`].
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

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Returns the text of the file after the change.
    #[must_use]
    pub fn after(&self) -> &str {
        &self.after
    }

    /// Returns `true` if the file already has the desired content.
    #[must_use]
    pub fn is_noop(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after
    }

    /// Returns what was left out because the host's format cannot express it, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the change as a unified diff.
    #[must_use]
    pub fn diff(&self) -> String {
        let name = self.place.path.display().to_string();
        let before = self.before.as_deref().unwrap_or_default();
        let from = if self.before.is_some() { name.as_str() } else { "/dev/null" };
        TextDiff::from_lines(before, self.after.as_str()).unified_diff().header(from, &name).to_string()
    }

    /// Applies the change, and returns the path of the backup if the file existed.
    ///
    /// The file is replaced atomically; it keeps its permissions, and a symbolic link stays one. Backups are stored in
    /// the state folder of the user. Processes that use this crate lock each other out while they write; this blocks
    /// until the lock is free.
    ///
    /// # Errors
    /// If the file has changed since it was read ([`ErrorKind::Conflict`]), or cannot be written. It is then
    /// unmodified.
    pub fn apply(&self, env: &Env) -> Result<Option<PathBuf>, Error> {
        if self.is_noop() {
            return Ok(None);
        }
        let _lock = Lock::take(env, &self.target()?)?;
        match self.write(env, || {})? {
            Outcome::Done(backup) => Ok(backup),
            Outcome::Outdated => Err(self.outdated()),
        }
    }

    /// Checks, as far as possible, that the file can be written.
    ///
    /// # Errors
    /// If the file, or the folder that it would be created in, is read-only.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_noop() {
            return Ok(());
        }
        let file = self.target()?;
        let there = file.ancestors().find_map(|path| Some((path, fs::metadata(path).ok()?)));
        match there {
            Some((path, found)) if found.permissions().readonly() => {
                let what = format!("`{}` is read-only", path.display());
                Err(Error::new(ErrorKind::Io, what).with_hint("allow writing to it, then try again"))
            }
            _ => Ok(()),
        }
    }
    /// Applies the change if the file is unmodified since it was read. `meanwhile` runs just before that is verified.
    fn write(&self, env: &Env, meanwhile: impl FnOnce()) -> Result<Outcome, Error> {
        self.check()?;
        let path = self.target()?;
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, "cannot be created", &e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = Beside(folder.join(format!(".{name}.{}.tmp", std::process::id())));
        let cannot = |e: io::Error| Error::io(&path, "cannot be written", &e);
        write(&new.0, &self.after, fs::metadata(&path).ok().as_ref(), self.place.scope).map_err(cannot)?;
        let backup = match &self.before {
            Some(before) => Some(backup::keep(env, &self.place.path, before)?),
            None => None,
        };
        meanwhile();
        // Hosts take none of our locks: this is the last moment to detect their changes.
        if !self.is_current(&path)? {
            backup.into_iter().for_each(|backup| drop(fs::remove_file(backup)));
            return Ok(Outcome::Outdated);
        }
        fs::rename(&new.0, &path).map_err(cannot)?;
        Ok(Outcome::Done(backup))
    }

    /// Whether the file is unmodified since it was read.
    fn is_current(&self, path: &Path) -> Result<bool, Error> {
        let now = match fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io(path, "cannot be read", &e)),
        };
        Ok(now.as_deref() == self.before.as_ref().map(String::as_bytes))
    }

    fn outdated(&self) -> Error {
        let what = format!("`{}` has just been changed by another program", self.place.path.display());
        Error::new(ErrorKind::Conflict, what).with_hint("nothing was written; try again")
    }

    /// The file with symbolic links resolved.
    fn target(&self) -> Result<PathBuf, Error> {
        let path = &self.place.path;
        match fs::canonicalize(path) {
            Ok(real) => Ok(real),
            Err(e) if e.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                Ok(to) => {
                    Err(Error::broken(path, None, format!("it is a link to `{}`, which does not exist", to.display()))
                        .with_hint("create the file that it points to, or remove the link"))
                }
                Err(_) => Ok(path.clone()),
            },
            Err(e) => Err(Error::io(path, "cannot be found", &e)),
        }
    }
}

/// The outcome of writing a change.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It was applied, with the path of the backup.
    Done(Option<PathBuf>),
    /// The file has changed since it was read, and was not modified.
    Outdated,
}

/// A temporary file that replaces another one, removed on drop.
struct Beside(PathBuf);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Applies the change of a plan. If another program has written the file since it was read, `again` makes a new plan
/// from its current content.
///
/// # Errors
/// If other programs keep writing the file, or the change cannot be applied.
#[cfg(feature = "cli")]
pub(crate) fn settle<P: AsRef<Change>>(
    env: &Env,
    mut plan: P,
    again: impl Fn(P) -> Result<P, Error>,
) -> Result<(P, Option<PathBuf>), Error> {
    if plan.as_ref().is_noop() {
        return Ok((plan, None));
    }
    let _lock = Lock::take(env, &plan.as_ref().target()?)?;
    for _ in 0..ATTEMPTS {
        if let Outcome::Done(backup) = plan.as_ref().write(env, || {})? {
            return Ok((plan, backup));
        }
        plan = again(plan)?;
        if plan.as_ref().is_noop() {
            return Ok((plan, None));
        }
    }
    Err(plan.as_ref().outdated())
}

fn write(path: &Path, text: &str, like: Option<&fs::Metadata>, scope: Scope) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(text.as_bytes())?;
    match like {
        Some(old) => take_after(&file, old)?,
        None if scope == Scope::Project => share(&file)?,
        // A file of one user stays private: it may hold secrets.
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
    // Only root can change the owner, and only for root it matters.
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn take_after(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Gives a project's file the usual permissions of a shared file.
#[cfg(unix)]
fn share(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn share(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Os;

    /// A temporary folder with a file, removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("couplet-change-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(fs::canonicalize(folder).unwrap())
        }

        fn file(&self) -> PathBuf {
            self.0.join("mcp.json")
        }

        fn env(&self) -> Env {
            Env::new(Os::Linux, &self.0, &self.0)
        }

        /// The change that appends a line to the file.
        fn append(&self, line: &str) -> Change {
            let before = fs::read_to_string(self.file()).unwrap();
            let place = Place { path: self.file(), key: Vec::new(), scope: Scope::User };
            Change::new(place, Some(before.clone()), format!("{before}{line}\n"), Vec::new())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_another_program_writes_just_before_is_not_lost() {
        let scratch = Scratch::new("window");
        fs::write(scratch.file(), "one\n").unwrap();
        let change = scratch.append("two");
        let outcome = change.write(&scratch.env(), || fs::write(scratch.file(), "other\n").unwrap()).unwrap();
        assert_eq!(outcome, Outcome::Outdated);
        assert_eq!(fs::read_to_string(scratch.file()).unwrap(), "other\n");
        assert!(backup::all(&scratch.env(), &scratch.file()).is_empty());
        let names: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{names:?}");
        let error = change.apply(&scratch.env()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().ends_with("has just been changed by another program"), "{error}");
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_change_is_made_anew_from_what_others_wrote() {
        struct Plan(Change);
        impl AsRef<Change> for Plan {
            fn as_ref(&self) -> &Change {
                &self.0
            }
        }
        let scratch = Scratch::new("anew");
        let path = scratch.file();
        for (writers, expected) in
            [(1, Some("1\nmine\n")), (ATTEMPTS - 1, Some("1\n2\n3\n4\nmine\n")), (ATTEMPTS, None)]
        {
            fs::write(&path, "").unwrap();
            let written = Cell::new(0);
            // Another program writes whenever the file has just been read.
            let plan = || {
                let plan = Plan(scratch.append("mine"));
                if written.get() < writers {
                    written.set(written.get() + 1);
                    fs::write(&path, fs::read_to_string(&path).unwrap() + &format!("{}\n", written.get())).unwrap();
                }
                plan
            };
            let outcome = settle(&scratch.env(), plan(), |_| Ok(plan()));
            match expected {
                Some(expected) => {
                    let (_, backup) = outcome.unwrap();
                    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
                    assert!(backup.is_some_and(|backup| backup.exists()));
                }
                None => assert_eq!(outcome.err().unwrap().kind(), ErrorKind::Conflict),
            }
        }
    }
}
