//! A change to a file: seen before it is made, and made whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use similar::TextDiff;

use crate::{Env, Error, ErrorKind, Place, Scope, backup, lock::Lock};

/// How often a change is made anew because another program has written the file.
#[cfg(feature = "cli")]
const ATTEMPTS: usize = 5;

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

    /// Makes the change. What the file was is stored in the state folder; returns where. The file is replaced as a whole,
    /// keeps its permissions, and stays a link if it is one. Other processes that use this crate wait meanwhile.
    ///
    /// # Errors
    /// When the file has changed since it was read, or the system says no. The file is then as it was.
    pub fn apply(&self, env: &Env) -> Result<Option<PathBuf>, Error> {
        if self.is_nothing() {
            return Ok(None);
        }
        let _lock = Lock::take(env, &self.target()?)?;
        match self.write(env, || {})? {
            Outcome::Done(backup) => Ok(backup),
            Outcome::Outdated => Err(self.outdated()),
        }
    }

    /// Whether the system will let the change be made, as far as that can be told before.
    ///
    /// # Errors
    /// When the file, or the folder that it would be made in, is read-only.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_nothing() {
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
    /// Makes the change, if the file is still what it was made from. `meanwhile` is called last before that is looked at.
    fn write(&self, env: &Env, meanwhile: impl FnOnce()) -> Result<Outcome, Error> {
        self.check()?;
        let path = self.target()?;
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, "cannot be made", &e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = Beside(folder.join(format!(".{name}.{}.tmp", std::process::id())));
        let cannot = |e: io::Error| Error::io(&path, "cannot be written", &e);
        write(&new.0, &self.after, fs::metadata(&path).ok().as_ref(), self.place.scope).map_err(cannot)?;
        let backup = match &self.before {
            Some(before) => Some(backup::keep(env, &self.place.path, before)?),
            None => None,
        };
        meanwhile();
        // Hosts take no lock of ours: this is the last moment in which their changes can be seen.
        if !self.is_current(&path)? {
            backup.into_iter().for_each(|backup| drop(fs::remove_file(backup)));
            return Ok(Outcome::Outdated);
        }
        fs::rename(&new.0, &path).map_err(cannot)?;
        Ok(Outcome::Done(backup))
    }

    /// Whether the file says what it said when it was read.
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

/// What came of writing a change.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It was made, and what the file was is stored there.
    Done(Option<PathBuf>),
    /// The file is not what the change was made from, and was left alone.
    Outdated,
}

/// A file that is written before it replaces another one, gone with the value if it does not.
struct Beside(PathBuf);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes the change of a plan. When another program has written the file since it was read, `again` makes a new plan from
/// what it says now.
///
/// # Errors
/// When the file is written by others faster than it can be read, or the change cannot be made.
#[cfg(feature = "cli")]
pub(crate) fn settle<P: AsRef<Change>>(
    env: &Env,
    mut plan: P,
    again: impl Fn(P) -> Result<P, Error>,
) -> Result<(P, Option<PathBuf>), Error> {
    if plan.as_ref().is_nothing() {
        return Ok((plan, None));
    }
    let _lock = Lock::take(env, &plan.as_ref().target()?)?;
    for _ in 0..ATTEMPTS {
        if let Outcome::Done(backup) = plan.as_ref().write(env, || {})? {
            return Ok((plan, backup));
        }
        plan = again(plan)?;
        if plan.as_ref().is_nothing() {
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Os;

    /// A file in a folder of its own, gone with the value.
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

        /// The change that adds a line to what the file says now.
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
