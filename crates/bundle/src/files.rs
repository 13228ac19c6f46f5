//! The files of a bundle.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{Error, ErrorKind, ignore::Ignore};

/// Limits on the number and the total size of packed files.
const MOST_FILES: usize = 100_000;
const MOST_BYTES: u64 = 2 << 30;

/// Files by their paths in the bundle, in order.
#[derive(Debug, Default)]
pub struct Files {
    files: BTreeMap<String, FileData>,
}

#[derive(Debug)]
pub(crate) struct FileData {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl Files {
    /// Reads all files of a folder, except build artifacts, files that may contain secrets, and those that
    /// `.mcpbignore` names.
    ///
    /// # Errors
    /// If a file cannot be read, a link leads out of the folder, or there are more than 100,000 files or 2 GiB.
    pub fn in_folder(folder: &Path) -> Result<Self, Error> {
        let root = fs::canonicalize(folder).map_err(|e| Error::io(folder, "cannot be read", &e))?;
        let own = match fs::read_to_string(root.join(".mcpbignore")) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::io(&root.join(".mcpbignore"), "cannot be read", &e)),
        };
        let mut walk = Walk { root: root.clone(), ignore: Ignore::new(&own), files: Self::default(), bytes: 0 };
        walk.folder(&root, "")?;
        Ok(walk.files)
    }

    /// Adds a file, or replaces the one of that name.
    pub fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(name.into(), FileData { bytes: bytes.into(), is_program: false });
    }

    /// Adds an executable file, or replaces the one of that name.
    pub fn add_program(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(name.into(), FileData { bytes: bytes.into(), is_program: true });
    }

    /// Returns the content of a file.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(|file| file.bytes.as_slice())
    }

    /// Returns an iterator over the paths, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the total size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.files.values().map(|file| file.bytes.len()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &FileData)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file))
    }

    pub(crate) fn make_program(&mut self, name: &str) {
        if let Some(file) = self.files.get_mut(name) {
            file.is_program = true;
        }
    }
}

struct Walk {
    root: PathBuf,
    ignore: Ignore,
    files: Files,
    bytes: u64,
}

impl Walk {
    fn folder(&mut self, folder: &Path, prefix: &str) -> Result<(), Error> {
        let entries = fs::read_dir(folder).map_err(|e| Error::io(folder, "cannot be read", &e))?;
        for entry in entries {
            let path = entry.map_err(|e| Error::io(folder, "cannot be read", &e))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(Error::broken(&path, "its name is not Unicode").with_hint("rename it"));
            };
            let inside = format!("{prefix}{name}");
            // Links are followed, but must not lead out of the folder: a bundle is published.
            let real = fs::canonicalize(&path).map_err(|e| Error::io(&path, "cannot be read", &e))?;
            let is_folder = real.is_dir();
            if self.ignore.has(&inside, is_folder) {
                continue;
            }
            if !real.starts_with(&self.root) {
                return Err(Error::broken(&path, "it is a link that leads out of the folder")
                    .with_hint("copy its target, or name it in `.mcpbignore`"));
            }
            match is_folder {
                true if path.starts_with(&real) && path != real => {
                    return Err(
                        Error::broken(&path, "it is a link to one of its parent folders").with_hint("remove it")
                    );
                }
                true => self.folder(&path, &format!("{inside}/"))?,
                false => self.file(&path, inside)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), Error> {
        let meta = fs::metadata(path).map_err(|e| Error::io(path, "cannot be read", &e))?;
        self.bytes += meta.len();
        if self.bytes > MOST_BYTES || self.files.files.len() == MOST_FILES {
            let what = format!("the folder has more than {MOST_FILES} files or {} GiB", MOST_BYTES >> 30);
            return Err(Error::new(ErrorKind::Broken, what).with_hint("name what is not needed in `.mcpbignore`"));
        }
        let bytes = fs::read(path).map_err(|e| Error::io(path, "cannot be read", &e))?;
        self.files.files.insert(name, FileData { bytes, is_program: is_program(&meta) });
        Ok(())
    }
}

#[cfg(unix)]
fn is_program(meta: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(_: &fs::Metadata) -> bool {
    false
}
