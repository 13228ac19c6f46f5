//! `couplet pack`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Out, described};
use crate::{
    Error, ErrorKind, Files, Package, Surface,
    manifest::{self, Binary},
};

/// Packs a bundle (.mcpb) that hosts install with a click.
#[derive(Clone, Debug, clap::Args)]
pub struct PackArgs {
    /// The folder with manifest.json and the server; with --binary, the folder with Cargo.toml
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// An executable to pack, one per operating system; the manifest is generated from Cargo.toml
    #[arg(long, value_name = "FILE")]
    pub binary: Vec<PathBuf>,
    /// The output file (default: name-version.mcpb in this folder)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Check everything and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace an existing file that differs
    #[arg(long)]
    pub force: bool,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Packs a bundle from a folder or from binaries.
///
/// # Errors
/// If the manifest is invalid, in which case its problems are written to `out` first, or a file cannot be read or
/// written.
pub fn pack(args: &PackArgs, cwd: &Path, out: &mut dyn Write) -> Result<(), Error> {
    pack_with(args, cwd, &Surface::default(), out)
}

/// Packs a bundle, with the tools of the server listed in a generated manifest.
///
/// # Errors
/// As [`pack`].
pub fn pack_with(args: &PackArgs, cwd: &Path, surface: &Surface, out: &mut dyn Write) -> Result<(), Error> {
    let mut out = Out(out);
    let files = files(args, cwd, surface)?;
    let (count, size) = (files.names().count(), files.size());
    let packed = match crate::pack(files) {
        Ok(packed) => packed,
        Err(error) => {
            match args.json {
                true => out.line(format_args!("{:#}", json!({ "problems": described(error.problems()) })))?,
                false => out.problems(error.problems())?,
            }
            return Err(error);
        }
    };
    let path = cwd.join(args.output.clone().unwrap_or_else(|| packed.file_name.clone().into()));
    if !args.dry_run {
        write(&path, &packed.bytes, args.force)?;
    }
    if args.json {
        return out.line(format_args!(
            "{:#}",
            json!({
                "path": path,
                "sha256": packed.sha256,
                "files": count,
                "bytes": packed.bytes.len(),
                "unpackedBytes": size,
                "dryRun": args.dry_run,
                "problems": described(&packed.warnings),
            })
        ));
    }
    out.problems(&packed.warnings)?;
    let verb = if args.dry_run { "would write" } else { "wrote" };
    out.line(format_args!("{verb} {}", path.strip_prefix(cwd).unwrap_or(&path).display()))?;
    out.line(format_args!("  {count} files, {} bytes, {} in the bundle", size, packed.bytes.len()))?;
    out.line(format_args!("  sha256: {}", packed.sha256))
}

fn files(args: &PackArgs, cwd: &Path, surface: &Surface) -> Result<Files, Error> {
    let folder: PathBuf = cwd.join(&args.folder).components().collect();
    if !folder.is_dir() {
        return Err(Error::new(ErrorKind::Usage, format!("the folder `{}` does not exist", args.folder.display()))
            .with_hint("name the folder of the server"));
    }
    if args.binary.is_empty() {
        return Files::in_folder(&folder);
    }
    let binary = |path: &PathBuf| {
        let whole = cwd.join(path);
        let bytes = fs::read(&whole)
            .map_err(|e| Error::io(path, "cannot be read", &e).with_hint("build it first: `cargo build --release`"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Binary { name, bytes })
    };
    let binaries = args.binary.iter().map(binary).collect::<Result<_, Error>>()?;
    let mut files = Files::default();
    manifest::make(&Package::in_folder(&folder)?, binaries, surface, &mut files)?;
    Ok(files)
}

/// Writes a file atomically.
fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), Error> {
    match fs::read(path) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) if !force => {
            return Err(Error::new(ErrorKind::Usage, format!("`{}` already exists, and differs", path.display()))
                .with_hint("use `--force` to replace it, or `--output` for another name"));
        }
        _ => {}
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, "cannot be created", &e))?;
    let beside = folder.join(format!(".{}.tmp", path.file_name().unwrap_or_default().to_string_lossy()));
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&beside);
        Error::io(path, "cannot be written", &e)
    })
}
