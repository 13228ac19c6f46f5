//! Snapshots: results in files beside the collection.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{diff::readable, expect::SnapshotRule, mismatch::Mismatch};
use crate::exit::Failure;

/// The value at ignored places.
const IGNORED: &str = "(ignored)";

/// The snapshots of a collection in one run.
#[derive(Debug)]
pub(super) struct Snapshots {
    /// `FILE.snapshots`, beside the collection.
    folder: PathBuf,
    /// The revision of the run.
    revision: String,
    /// Whether other runs of the same collection may have other results.
    is_first: bool,
    update: bool,
}

impl Snapshots {
    pub(super) fn new(collection: &Path, revision: &str, is_first: bool, update: bool) -> Self {
        let folder = collection.with_extension("snapshots");
        Self { folder, revision: revision.to_owned(), is_first, update }
    }

    /// Compares a result with the snapshot of a call. With `--update`, writes the snapshot instead; returns whether it
    /// was written.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(super) fn check(
        &self,
        call: &str,
        rule: &SnapshotRule,
        result: &Value,
    ) -> Result<(Option<Mismatch>, bool), Failure> {
        let text = format!("{:#}\n", masked(result.clone(), &rule.ignore));
        let shared = self.folder.join(format!("{}.json", file_name(call)));
        // A snapshot of a revision exists only if the result differs there.
        let own = self.folder.join(format!("{}.{}.json", file_name(call), self.revision));
        let (own_text, shared_text) = (read(&own)?, read(&shared)?);
        if own_text.as_ref().or(shared_text.as_ref()) == Some(&text) && !(self.update && own_text == shared_text) {
            return Ok((None, false));
        }
        if !self.update {
            return Ok((Some(mismatch(own_text.or(shared_text), &text)), false));
        }
        if self.is_first || shared_text.is_none() || shared_text.as_ref() == Some(&text) {
            remove(&own)?;
            write(&shared, &text)?;
        } else {
            write(&own, &text)?;
        }
        Ok((None, true))
    }
}

fn mismatch(stored: Option<String>, text: &str) -> Mismatch {
    let Some(stored) = stored else {
        return Mismatch { details: vec!["write it with --update".to_owned()], ..Mismatch::new("snapshot", "missing") };
    };
    // Strings are broken at line breaks for the comparison only.
    let shown =
        |text: &str| serde_json::from_str(text).map_or_else(|_| text.to_owned(), |value: Value| readable(&value));
    let (expected, actual) = (Some(shown(&stored)), Some(shown(text)));
    Mismatch { expected, actual, ..Mismatch::new("snapshot", "differs") }
}

/// Replaces the values at JSON pointers.
fn masked(mut result: Value, ignore: &[String]) -> Value {
    for pointer in ignore {
        if let Some(value) = result.pointer_mut(pointer) {
            *value = IGNORED.into();
        }
    }
    result
}

/// Returns the name of a call as the name of a file.
pub(super) fn file_name(call: &str) -> String {
    let mut name = String::new();
    for c in call.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_alphanumeric() || c == '_' => name.push(c),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    if name.is_empty() { "call".to_owned() } else { name }
}

fn read(file: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(file) {
        // A checkout may have changed the line endings.
        Ok(text) => Ok(Some(text.replace("\r\n", "\n"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(file, "read", &error)),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Failure::file(folder, "created", &error))?;
    fs::write(file, text).map_err(|error| Failure::file(file, "written", &error))
}

fn remove(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::file(file, "removed", &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_revision_has_its_own_snapshot_only_if_it_differs() {
        let folder = std::env::temp_dir().join(format!("couplet-snapshots-{}", std::process::id()));
        let file = folder.join("shop.toml");
        let rule = SnapshotRule { ignore: vec!["/time".to_owned()] };
        let check = |revision: &str, is_first, update, result: Value| {
            let snapshots = Snapshots::new(&file, revision, is_first, update);
            let (wrong, written) = snapshots.check("Adds two", &rule, &result).unwrap();
            (wrong.map(|wrong| wrong.heading()), written)
        };
        let (good, missing) = ((None, false), (Some("snapshot: missing".to_owned()), false));
        let differs = (Some("snapshot: differs".to_owned()), false);
        assert_eq!(check("new", true, false, json!({ "a": 1 })), missing);
        assert_eq!(check("new", true, true, json!({ "a": 1, "time": 5 })), (None, true));
        assert_eq!(check("new", true, false, json!({ "a": 1, "time": 6 })), good);
        assert_eq!(check("old", false, false, json!({ "a": 2, "time": 6 })), differs);
        assert_eq!(check("old", false, true, json!({ "a": 2, "time": 6 })), (None, true));
        assert_eq!(check("old", false, false, json!({ "a": 2, "time": 7 })), good);
        assert_eq!(check("new", true, false, json!({ "a": 1, "time": 6 })), good);
        let names = || {
            let mut names: Vec<_> = fs::read_dir(folder.join("shop.snapshots"))
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(), ["adds-two.json", "adds-two.old.json"]);
        // The result of the older revision is now the same.
        assert_eq!(check("old", false, true, json!({ "a": 1, "time": 6 })), (None, true));
        assert_eq!(names(), ["adds-two.json"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_of_calls_are_names_of_files() {
        for (call, expected) in
            [("Adds 2/3 numbers!", "adds-2-3-numbers"), ("../x", "x"), ("…", "call"), ("grün_ä", "grün_ä")]
        {
            assert_eq!(file_name(call), expected);
        }
    }
}
