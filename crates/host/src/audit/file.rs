//! The file of an audit log: its end, and its rotation.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use blake3::Hash;

use super::chain::{Head, Link, START, hash};

/// More than any line has.
const TAIL: u64 = 256 << 10;

/// The beginning of each line.
const FIRST: &[u8] = br#"{"seq":"#;

/// An open file, and the chain up to its end.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// The size up to the last complete line.
    pub(super) size: u64,
    /// Whether there may be more behind that size.
    is_torn: bool,
    pub(super) seq: u64,
    /// The hash of the last line.
    pub(super) prev: Hash,
}

impl LogFile {
    /// Opens a file at its end; returns the number of bytes of an incomplete line, which are removed.
    pub(super) fn open(path: &Path) -> io::Result<(Self, u64)> {
        let mut file = open(path)?;
        let size = file.metadata()?.len();
        let (torn, last) = end(&mut file, size)?;
        if torn > 0 {
            file.set_len(size - torn)?;
        }
        let (seq, prev) = match last {
            Some(last) => last,
            None => end_of_old(path)?,
        };
        Ok((Self { path: path.to_owned(), file, size: size - torn, is_torn: false, seq, prev }, torn))
    }

    /// Appends complete lines, or nothing.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        // A failed attempt may have written a part of them.
        if std::mem::replace(&mut self.is_torn, true) {
            self.file.set_len(self.size)?;
        }
        self.file.write_all(lines)?;
        self.size += lines.len() as u64;
        self.is_torn = false;
        Ok(())
    }

    /// Stores the head beside the file.
    pub(super) fn write_head(&self, head: &Head) -> io::Result<()> {
        let (path, temporary) = (beside(&self.path, "head"), beside(&self.path, "head.new"));
        let mut file = private().write(true).create(true).truncate(true).open(&temporary)?;
        file.write_all(serde_json::to_string(head)?.as_bytes())?;
        fs::rename(temporary, path)
    }

    /// Continues in a new file; at most `files` old ones stay.
    pub(super) fn rotate(&mut self, files: usize) -> io::Result<()> {
        // After a failure halfway the file is moved already.
        let files = if self.path.exists() { files } else { 0 };
        for number in (1..=files).rev() {
            let from = if number == 1 { self.path.clone() } else { beside(&self.path, &(number - 1).to_string()) };
            match fs::rename(from, beside(&self.path, &number.to_string())) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if files == 0 && self.path.exists() {
            fs::remove_file(&self.path)?;
        }
        self.file = open(&self.path)?;
        self.size = self.file.metadata()?.len();
        Ok(())
    }
}

/// The number of bytes of an incomplete line, and the number and the hash of the last complete one.
fn end(file: &mut File, size: u64) -> io::Result<(u64, Option<(u64, Hash)>)> {
    let from = size.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(size - from).read_to_end(&mut tail)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let torn = (tail.len() - whole) as u64;
    // Nothing is removed from a file that is not an audit log.
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the file is not an audit log");
    match tail[..whole].strip_suffix(b"\n").and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next()) {
        Some(line) => {
            let link: Link = serde_json::from_slice(line).map_err(|_| wrong())?;
            Ok((torn, Some((link.seq, hash(line)))))
        }
        None if from == 0 && (tail.starts_with(FIRST) || FIRST.starts_with(&tail)) => Ok((torn, None)),
        None => Err(wrong()),
    }
}

/// The end of the newest old file, which an empty file continues; the start if there is none.
fn end_of_old(path: &Path) -> io::Result<(u64, Hash)> {
    match File::open(beside(path, "1")) {
        Ok(mut old) => {
            let size = old.metadata()?.len();
            Ok(end(&mut old, size)?.1.unwrap_or((0, START)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((0, START)),
        Err(error) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    private().read(true).append(true).create(true).open(path)
}

/// Options for a file that only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The path with another ending behind it: `audit.jsonl.1`.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
