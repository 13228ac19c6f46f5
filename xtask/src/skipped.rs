//! What a run did not do, and why: a file to which tests and steps append lines, and `cargo xtask ci` reads at its end.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::workspace;

/// The variable that names the file to tests; see `crates/testing/tests/common/skipped.rs`.
pub(crate) const VARIABLE: &str = "COUPLET_SKIPPED";

pub(crate) fn file() -> PathBuf {
    workspace::root().join("target/skipped.txt")
}

/// Removes the lines of an earlier run.
pub(crate) fn clear() {
    let _ = fs::remove_file(file());
}

/// Adds a line for something that was not run.
pub(crate) fn add(what: &str, why: &str) {
    add_to(&file(), what, why);
}

/// Everything that was skipped since [`clear`], each once.
pub(crate) fn report() -> String {
    report_of(&fs::read_to_string(file()).unwrap_or_default())
}

fn add_to(file: &Path, what: &str, why: &str) {
    // One line each, whatever a program has said.
    let why: Vec<_> = why.split_whitespace().collect();
    let file = OpenOptions::new().create(true).append(true).open(file);
    let written = file.and_then(|mut file| writeln!(file, "{what}: {}", why.join(" ")));
    if let Err(error) = written {
        println!("{what} was skipped, which cannot be written down: {error}");
    }
}

fn report_of(lines: &str) -> String {
    let lines: BTreeSet<&str> = lines.lines().filter(|line| !line.trim().is_empty()).collect();
    let list: String = lines.iter().map(|line| format!("\n  {line}")).collect();
    format!("skipped: {}{list}", lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_listed_once_and_counted() {
        let file = std::env::temp_dir().join(format!("xtask-skipped-{}", std::process::id()));
        for (what, why) in
            [("interop py", "12 runs:\n  no `python3`"), ("a test", "no network"), ("a test", "no network")]
        {
            add_to(&file, what, why);
        }
        let lines = fs::read_to_string(&file).unwrap_or_default();
        fs::remove_file(&file).expect("it was written");
        assert_eq!(report_of(&lines), "skipped: 2\n  a test: no network\n  interop py: 12 runs: no `python3`");
        assert_eq!(report_of(""), "skipped: 0");
    }
}
