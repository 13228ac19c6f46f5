//! Golden files.

use std::{env, fs, path::Path};

/// Compares a text with a golden file, ignoring line endings.
///
/// With `UPDATE_GOLDEN=1` in the environment the file is written instead, and missing directories are created.
///
/// ```no_run
/// couplet_testing::assert_golden("tests/help.txt", "Usage: server [OPTIONS]\n");
/// ```
///
/// # Panics
/// If the two differ, with the first line that does, or if the file cannot be read or written.
#[track_caller]
pub fn assert_golden(path: impl AsRef<Path>, text: &str) {
    compare(path.as_ref(), text, is_updating());
}

/// Returns whether golden files are written. The second name is the older one.
pub(crate) fn is_updating() -> bool {
    is_set("UPDATE_GOLDEN") || is_set("UPDATE_SURFACE")
}

/// Returns whether an environment variable is set to a true value.
pub(crate) fn is_set(name: &str) -> bool {
    env::var(name).is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()))
}

#[track_caller]
pub(crate) fn compare(path: &Path, now: &str, update: bool) {
    let shown = path.display();
    if update {
        let folder = path.parent().unwrap_or(path);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, now));
        return written.unwrap_or_else(|e| panic!("cannot write `{shown}`: {e}"));
    }
    let then = fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("cannot read `{shown}`: {e}; set UPDATE_GOLDEN=1 to write it, and commit it"));
    if then.replace("\r\n", "\n") == now {
        return;
    }
    let (then, now): (Vec<_>, Vec<_>) = (then.lines().collect(), now.lines().collect());
    let same = then.iter().zip(&now).take_while(|(then, now)| then == now).count();
    let line = |of: &[&str]| of.get(same).map_or("(the end)".to_owned(), |line| (*line).to_owned());
    panic!(
        "`{shown}` differs from line {} on:\n- {}\n+ {}\nset UPDATE_GOLDEN=1 to accept the change",
        same + 1,
        line(&then),
        line(&now)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(path: &Path, now: &str) -> String {
        let panic = std::panic::catch_unwind(|| compare(path, now, false)).expect_err("the texts differ");
        panic.downcast_ref::<String>().expect("a message").clone()
    }

    #[test]
    fn files_are_compared_by_line_and_written_on_request() {
        let folder = env::temp_dir().join(format!("couplet-golden-{}", std::process::id()));
        let path = folder.join("below").join("a.txt");
        assert!(complaint(&path, "a\n").contains("set UPDATE_GOLDEN=1 to write it"));
        assert!(!path.exists());
        compare(&path, "a\r\nb\n", true);
        compare(&path, "a\nb\n", false);
        assert!(complaint(&path, "a\nc\n").contains("differs from line 2 on:\n- b\n+ c\n"));
        assert!(complaint(&path, "a\n").contains("differs from line 2 on:\n- b\n+ (the end)\n"));
        fs::remove_dir_all(&folder).expect("the temporary folder");
    }
}
