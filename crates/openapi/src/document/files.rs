//! References to other files beside a document: the files become a part of it.
//!
//! Each file is read once, into a member of the root, and references to it are changed to references within the document.
//! Only files in the folder of the document and below are read, whatever symbolic links say.

use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{LONGEST, parse_value, refs::decoded};
use crate::{error::SpecError, text};

/// The maximum number of files beside the document.
const MOST_FILES: usize = 256;

/// The member of the root that has the files.
const MEMBER: &str = "x-couplet-files";

/// Adds the files that a document refers to.
///
/// # Errors
/// If a file cannot be parsed, or if there are too many or too large ones. References to files that cannot be read, and to
/// files outside of the folder, stay as they are.
pub(super) fn add(root: &mut Value, path: &Path, size: usize) -> Result<(), SpecError> {
    let Ok(path) = path.canonicalize() else { return Ok(()) };
    let Some(folder) = path.parent().map(Path::to_owned) else { return Ok(()) };
    let mut files = Files { folder, pointers: HashMap::new(), size, found: Vec::new() };
    files.pointers.insert(path.clone(), String::new());
    files.change(root, &path, "")?;
    let mut parts = Vec::new();
    while let Some((path, mut part)) = files.next(parts.len()) {
        let pointer = files.pointers.get(&path).cloned().unwrap_or_default();
        files.change(&mut part, &path, &pointer)?;
        parts.push(part);
    }
    if let Some(root) = root.as_object_mut().filter(|_| !parts.is_empty()) {
        root.insert(MEMBER.to_owned(), Value::Array(parts));
    }
    Ok(())
}

struct Files {
    folder: PathBuf,
    /// The place of each file in the document.
    pointers: HashMap<PathBuf, String>,
    /// The size of the document and all files.
    size: usize,
    /// The files in the order of their places.
    found: Vec<(PathBuf, Value)>,
}

impl Files {
    fn next(&mut self, at: usize) -> Option<(PathBuf, Value)> {
        self.found.get_mut(at).map(|(path, part)| (path.clone(), part.take()))
    }

    /// Changes the references of a file, which has a place in the document.
    fn change(&mut self, value: &mut Value, path: &Path, place: &str) -> Result<(), SpecError> {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get_mut("$ref")
                    && let Some(within) = self.within(reference, path, place)?
                {
                    *reference = within;
                }
                members.values_mut().try_for_each(|member| self.change(member, path, place))
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.change(item, path, place)),
            _ => Ok(()),
        }
    }

    /// Returns a reference within the document; `None` if it leads out of it.
    fn within(&mut self, reference: &str, path: &Path, place: &str) -> Result<Option<String>, SpecError> {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if file.is_empty() {
            return Ok(Some(format!("#{place}{pointer}")));
        }
        let beside = || {
            let file = decoded(file).filter(|file| !file.contains("://") && !Path::new(file).is_absolute())?;
            let file = path.parent()?.join(file).canonicalize().ok()?;
            (file.starts_with(&self.folder) && file.is_file()).then_some(file)
        };
        let Some(file) = beside() else { return Ok(None) };
        Ok(self.place(file)?.map(|place| format!("#{place}{pointer}")))
    }

    /// Returns the place of a file in the document, and reads it the first time; `None` if it cannot be read.
    fn place(&mut self, path: PathBuf) -> Result<Option<String>, SpecError> {
        if let Some(place) = self.pointers.get(&path) {
            return Ok(Some(place.clone()));
        }
        if self.found.len() >= MOST_FILES {
            return Err(SpecError::new(format!("the document refers to more than {MOST_FILES} files")));
        }
        let mut bytes = Vec::new();
        let rest = LONGEST.saturating_sub(self.size);
        let read = File::open(&path).and_then(|file| file.take(rest as u64 + 1).read_to_end(&mut bytes));
        if read.is_err() {
            return Ok(None);
        }
        let too_large = || SpecError::new(format!("the document and its files have more than {} MiB", LONGEST >> 20));
        if bytes.len() > rest {
            return Err(too_large());
        }
        let part = parse_value(&bytes).map_err(|error| {
            let name = path.strip_prefix(&self.folder).unwrap_or(&path).display().to_string();
            SpecError::new(format!("the file `{}`: {error}", text::clean(&name, 200)))
        })?;
        // Aliases of YAML are copies.
        let copied = serde_json::to_vec(&part).map_or(0, |copy| copy.len());
        self.size = self.size.saturating_add(bytes.len().max(copied));
        if self.size > LONGEST {
            return Err(too_large());
        }
        let place = format!("/{MEMBER}/{}", self.found.len());
        self.pointers.insert(path.clone(), place.clone());
        self.found.push((path, part));
        Ok(Some(place))
    }
}
