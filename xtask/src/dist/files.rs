//! The files of a package, and the containers that they are packed into: the same files always give the same bytes.

use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Write},
    path::Path,
};

use flate2::{Compression, GzBuilder};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::Failure;

/// How much time compression may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    Small,
    Quick,
}

impl Effort {
    fn level(self) -> u32 {
        match self {
            Self::Small => 9,
            Self::Quick => 1,
        }
    }
}

/// Files by their paths, which are relative, with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<String, File>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

impl Files {
    /// Adds a file that everyone may read.
    pub(super) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), File { mode: 0o644, bytes: bytes.into() });
    }

    /// Adds a file that everyone may run.
    pub(super) fn add_program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), File { mode: 0o755, bytes: bytes.into() });
    }

    /// Adds all files of another list below a folder.
    pub(super) fn add_below(&mut self, folder: &str, files: &Self) {
        self.0.extend(files.iter().map(|(path, file)| (format!("{folder}/{path}"), file.clone())));
    }

    /// The files, sorted by their paths.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// A compressed tar archive in which every file has this time, in seconds since 1970.
    pub(super) fn tar_gz(&self, time: u64, effort: Effort) -> Result<Vec<u8>, Failure> {
        let pack = || -> std::io::Result<Vec<u8>> {
            let mut tar = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::new(effort.level())));
            for (path, file) in self.iter() {
                let mut header = tar::Header::new_gnu();
                header.set_mode(file.mode);
                header.set_uid(0);
                header.set_gid(0);
                header.set_mtime(time);
                header.set_size(file.bytes.len() as u64);
                tar.append_data(&mut header, path, file.bytes.as_slice())?;
            }
            tar.into_inner()?.finish()
        };
        pack().map_err(|e| format!("a tar archive cannot be written: {e}"))
    }

    /// A zip archive in which every file has the first time that zip can express.
    pub(super) fn zip(&self, effort: Effort) -> Result<Vec<u8>, Failure> {
        let pack = || -> zip::result::ZipResult<Vec<u8>> {
            let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
            for (path, file) in self.iter() {
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Deflated)
                    .compression_level(Some(i64::from(effort.level())))
                    .last_modified_time(zip::DateTime::default())
                    .unix_permissions(file.mode);
                zip.start_file(path, options)?;
                zip.write_all(&file.bytes)?;
            }
            Ok(zip.finish()?.into_inner())
        };
        pack().map_err(|e| format!("a zip archive cannot be written: {e}"))
    }

    /// Writes the files into a folder, for programs that make a package of one.
    pub(super) fn write_into(&self, folder: &Path) -> Result<(), Failure> {
        for (path, file) in self.iter() {
            let path = folder.join(path);
            let written = fs::create_dir_all(path.parent().unwrap_or(folder))
                .and_then(|()| fs::write(&path, &file.bytes))
                .and_then(|()| set_mode(&path, file.mode));
            written.map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(())
    }
}

/// The gzip format without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(|e| format!("gzip failed: {e}"))
}

/// A folder that exists and is empty.
pub(super) fn empty(folder: &Path) -> Result<(), Failure> {
    let removed = if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) };
    removed.and_then(|()| fs::create_dir_all(folder)).map_err(|e| format!("{}: {e}", folder.display()))
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn sample(order: &[&str]) -> Files {
        let mut files = Files::default();
        for name in order {
            files.add(*name, name.repeat(50));
        }
        files.add_program("bin/couplet", "program");
        files
    }

    #[test]
    fn the_same_files_are_the_same_bytes_in_any_order() {
        let (one, other) = (sample(&["b", "a", "c/d"]), sample(&["c/d", "b", "a"]));
        for effort in [Effort::Small, Effort::Quick] {
            assert_eq!(one.tar_gz(1_700_000_000, effort), other.tar_gz(1_700_000_000, effort));
            assert_eq!(one.zip(effort), other.zip(effort));
        }
        assert_ne!(one.tar_gz(1, Effort::Quick), one.tar_gz(2, Effort::Quick));
    }

    #[test]
    fn entries_are_sorted_with_their_modes_and_one_time() {
        let bytes = sample(&["b", "a"]).tar_gz(1_700_000_000, Effort::Quick).unwrap();
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut seen = Vec::new();
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (1_700_000_000, 0));
            seen.push((entry.path().unwrap().display().to_string(), header.mode().unwrap(), text.len()));
        }
        let expected = [("a", 0o644, 50), ("b", 0o644, 50), ("bin/couplet", 0o755, 7)];
        assert_eq!(seen, expected.map(|(path, mode, length)| (path.to_owned(), mode, length)));
    }
}
