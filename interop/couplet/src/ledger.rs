//! A file to which the tools of all replicas append what they do, so that executions can be counted. A server that has no
//! replicas and no file stores the lines in memory.

use std::{
    collections::HashMap,
    env,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// The variable that names the file.
pub const VARIABLE: &str = "INTEROP_LEDGER";

/// The lines of a process without a file.
static LINES: Mutex<String> = Mutex::new(String::new());

fn file() -> Option<PathBuf> {
    env::var_os(VARIABLE).map(PathBuf::from)
}

/// Appends a line.
///
/// # Errors
/// When the file cannot be written.
pub fn write(line: &str) -> io::Result<()> {
    let Some(path) = file() else {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).push_str(&format!("{line}\n"));
        return Ok(());
    };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    // One write: lines of several processes do not mix.
    file.write_all(format!("{line}\n").as_bytes())
}

/// Counts the lines that are equal to this one.
///
/// # Errors
/// When the file cannot be read.
pub fn count(line: &str) -> io::Result<usize> {
    Ok(counts()?.get(line).copied().unwrap_or_default())
}

/// Counts all lines.
///
/// # Errors
/// When the file cannot be read.
pub fn counts() -> io::Result<HashMap<String, usize>> {
    let text = match file().map(fs::read_to_string) {
        None => LINES.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Some(text) => text?,
    };
    let mut counts = HashMap::new();
    for line in text.lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    Ok(counts)
}
