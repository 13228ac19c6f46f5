//! Reads files on a thread for blocking work.

use std::{
    fmt, fs,
    io::Read,
    path::{Path, PathBuf},
};

/// An error of [`media`](crate::media). The message has the name of the file, not its folder.
#[derive(Debug)]
pub struct MediaError {
    what: String,
    source: Option<std::io::Error>,
}

impl MediaError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None }
    }
}

impl fmt::Display for MediaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for MediaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// The last component of a path: clients see no more of it.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The whole of a file.
pub(super) async fn whole(path: &Path, most: u64) -> Result<Vec<u8>, MediaError> {
    let name = name_of(path);
    let (size, bytes) = begin(path, most.saturating_add(1)).await?;
    if size > most || bytes.len() as u64 > most {
        return Err(MediaError::new(format!("`{name}` has more than the {most} bytes that are read of a file")));
    }
    Ok(bytes)
}

/// The size of a file, and so many bytes of its beginning.
pub(super) async fn begin(path: &Path, most: u64) -> Result<(u64, Vec<u8>), MediaError> {
    let name = name_of(path);
    let failed = |source| MediaError { what: format!("`{name}` cannot be read: {source}"), source: Some(source) };
    let path: PathBuf = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        // Before it is opened: opening a pipe waits for its other end.
        if !fs::metadata(&path)?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        let file = fs::File::open(&path)?;
        let size = file.metadata()?.len();
        let mut bytes = Vec::new();
        if size <= most || most <= HEAD {
            file.take(most).read_to_end(&mut bytes)?;
        }
        Ok((size, bytes))
    });
    read.await.map_err(|e| failed(std::io::Error::other(e)))?.map_err(failed)
}

/// As much as sniffing looks at.
pub(super) const HEAD: u64 = 512;
