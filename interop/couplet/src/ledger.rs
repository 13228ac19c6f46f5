//! A file to which the tools of all replicas append what they do, so that executions can be counted.

use std::{
    collections::HashMap,
    env,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

/// The variable that names the file.
pub const VARIABLE: &str = "INTEROP_LEDGER";

fn file() -> io::Result<PathBuf> {
    let unset = || io::Error::new(io::ErrorKind::NotFound, format!("`{VARIABLE}` is not set"));
    env::var_os(VARIABLE).map(PathBuf::from).ok_or_else(unset)
}

/// Appends a line.
///
/// # Errors
/// When the file cannot be written.
pub fn write(line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file()?)?;
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
    let text = match fs::read_to_string(file()?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let mut counts = HashMap::new();
    for line in text.lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    Ok(counts)
}
