//! Binary content, saved to files.

use std::{
    fs,
    io::{self, Write},
    path::{self, Path, PathBuf},
};

use couplet::{client::Media, types::mime};

use crate::exit::Failure;

/// The destination of files. Existing files are never replaced.
#[derive(Debug)]
pub(crate) struct Saver {
    /// The file or directory of `--output`.
    wanted: Option<PathBuf>,
    /// A temporary directory, created on first use.
    own: Option<PathBuf>,
    /// The base name of the files.
    base: String,
    count: usize,
}

impl Saver {
    pub(crate) fn new(wanted: Option<PathBuf>, about: &str) -> Self {
        Self { wanted, own: None, base: base(about), count: 0 }
    }

    /// Writes a file and returns its path.
    pub(crate) fn save(&mut self, media: &Media) -> Result<PathBuf, Failure> {
        self.count += 1;
        let path = self.path(media)?;
        let written = fs::File::options().write(true).create_new(true).open(&path);
        written.and_then(|mut file| file.write_all(&media.bytes)).map_err(|e| Failure::file(&path, "written", &e))?;
        Ok(path)
    }

    fn path(&mut self, media: &Media) -> Result<PathBuf, Failure> {
        // The detected type takes precedence over the server's.
        let kind = mime::sniff(&media.bytes).unwrap_or(&media.mime_type);
        let extension = mime::extension(kind).unwrap_or("bin");
        let name = format!("{}-{}.{extension}", self.base, self.count);
        match &self.wanted {
            Some(wanted) if wanted.is_dir() => Ok(wanted.join(name)),
            Some(wanted) if wanted.to_string_lossy().ends_with(path::is_separator) => {
                fs::create_dir_all(wanted).map_err(|e| Failure::file(wanted, "created", &e))?;
                Ok(wanted.join(name))
            }
            Some(wanted) if self.count == 1 => Ok(wanted.clone()),
            Some(wanted) => Ok(numbered(wanted, self.count)),
            None => Ok(self.own_folder()?.join(name)),
        }
    }

    /// Creates a temporary directory that only this user can read.
    fn own_folder(&mut self) -> Result<&Path, Failure> {
        if self.own.is_none() {
            let base = std::env::temp_dir();
            let names = (0..1000).map(|n| base.join(format!("couplet-{}-{n}", std::process::id())));
            let mut made = Err(io::Error::other("no free name"));
            for folder in names {
                made = private(&folder).map(|()| folder);
                if !made.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::AlreadyExists) {
                    break;
                }
            }
            self.own = Some(made.map_err(|e| Failure::file(&base, "used for files", &e))?);
        }
        Ok(self.own.as_deref().unwrap_or(Path::new(".")))
    }
}

fn private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Numbers a path: `chart.png`, `chart-2.png`.
fn numbered(path: &Path, count: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    path.with_file_name(format!("{stem}-{count}{extension}"))
}

/// Derives a safe file name from a tool name or URI.
fn base(about: &str) -> String {
    let last = about.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(plain).take(40).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "result".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for (about, expected) in [
            ("get-tiny-image", "get-tiny-image"),
            ("file:///etc/passwd", "passwd"),
            ("../../..", "result"),
            ("demo://logo.png", "logo"),
            ("a b\u{1b}c", "a-b-c"),
        ] {
            assert_eq!(base(about), expected);
        }
        assert_eq!(numbered(Path::new("out/chart.png"), 2), Path::new("out/chart-2.png"));
    }
}
