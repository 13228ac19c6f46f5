//! Verification of an audit log.

use std::{
    fmt,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::Path,
};

use blake3::Hash;

use super::{
    AuditError, Head,
    chain::{Link, START, hash},
    file::beside,
};

/// An audit log whose lines are complete and unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The number of lines.
    pub lines: u64,
    /// The number of the first line; 1 unless older files are missing.
    pub first: u64,
    /// Whether the end was compared with a head.
    pub has_head: bool,
}

/// The first place at which an audit log is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, from 1, over all files.
    pub line: u64,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for Broken {}

/// Verifies the lines of an audit log, oldest first, against the head that was stored beside it.
///
/// Lines behind the head are accepted if they continue the chain: the head is stored after them. With a `key` the head must
/// be signed. Without a head, missing lines at the end are not found.
///
/// # Errors
/// If a line was changed, removed or added, or if the head is not signed with the key.
pub fn verify(reader: impl BufRead, head: Option<&Head>, key: Option<&[u8; 32]>) -> Result<Verified, Broken> {
    if let (Some(head), Some(key)) = (head, key)
        && !head.is_signed(key)
    {
        return Err(Broken { line: 0, reason: "the head is not signed with this key".to_owned() });
    }
    let mut chain = Chain { line: 0, first: None, expected: None, head, found: false };
    for line in reader.split(b'\n') {
        let line = line.map_err(|error| Broken { line: chain.line + 1, reason: error.to_string() })?;
        chain.push(&line)?;
    }
    chain.end()
}

/// Verifies the files of a [`JsonLines`](super::JsonLines) log: the old ones, the current one and its head.
///
/// # Errors
/// If a file cannot be read, or as [`verify`] says.
pub fn verify_file(path: impl AsRef<Path>, key: Option<&[u8; 32]>) -> Result<Verified, AuditError> {
    let path = path.as_ref();
    let head = match fs::read(beside(path, "head")) {
        Ok(text) => Some(serde_json::from_slice(&text).map_err(|_| AuditError::new("the head is not readable"))?),
        Err(_) => None,
    };
    let old = (1..).map(|number| beside(path, &number.to_string())).take_while(|path| path.exists());
    let mut files: Vec<_> = old.collect();
    files.reverse();
    files.push(path.to_owned());
    let empty: Box<dyn std::io::Read> = Box::new(std::io::empty());
    let all = files.iter().try_fold(empty, |all, path| -> std::io::Result<Box<dyn std::io::Read>> {
        Ok(Box::new(std::io::Read::chain(all, File::open(path)?)))
    });
    let all = all.map_err(|error| AuditError::new(format!("{}: {error}", path.display())))?;
    verify(BufReader::new(all), head.as_ref(), key).map_err(AuditError::new)
}

struct Chain<'a> {
    line: u64,
    first: Option<u64>,
    /// The number of the next line, and the hash of the last one.
    expected: Option<(u64, Hash)>,
    head: Option<&'a Head>,
    found: bool,
}

impl Chain<'_> {
    fn push(&mut self, line: &[u8]) -> Result<(), Broken> {
        self.line += 1;
        let broken = |reason: &str| Broken { line: self.line, reason: reason.to_owned() };
        let link: Link = serde_json::from_slice(line).map_err(|_| broken("not a record"))?;
        match &self.expected {
            Some((_, hash)) if !link.continues(*hash) => {
                return Err(broken("the line before it was changed or removed"));
            }
            Some((seq, _)) if *seq != link.seq => return Err(broken("its number does not follow")),
            None if link.seq == 1 && !link.continues(START) => return Err(broken("a line before it was removed")),
            _ => {}
        }
        let hash = hash(line);
        if let Some(head) = self.head.filter(|head| head.seq == link.seq) {
            if head.hash != hash.to_string() {
                return Err(broken("it differs from the head"));
            }
            self.found = true;
        }
        self.first.get_or_insert(link.seq);
        self.expected = Some((link.seq.saturating_add(1), hash));
        Ok(())
    }

    fn end(self) -> Result<Verified, Broken> {
        if let Some(head) = self.head.filter(|_| !self.found) {
            let reason = format!("the log ends before line {} of its head", head.seq);
            return Err(Broken { line: self.line, reason });
        }
        Ok(Verified { lines: self.line, first: self.first.unwrap_or(1), has_head: self.head.is_some() })
    }
}
