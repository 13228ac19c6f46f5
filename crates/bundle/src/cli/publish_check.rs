//! `couplet publish-check`.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Out, described};
use crate::{
    Error, ErrorKind, Package,
    pack::hex,
    server_json::{self, Bundle, Facts},
};

/// Checks server.json against the rules of the registry, before publishing.
#[derive(Clone, Debug, clap::Args)]
pub struct PublishCheckArgs {
    /// The folder with server.json, and Cargo.toml if the server is in Rust
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Generate server.json from Cargo.toml, if it does not exist
    #[arg(long)]
    pub write: bool,
    /// A packed bundle, whose digest must be in server.json
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
    /// The download URL of the bundle, for --write
    #[arg(long, value_name = "URL", requires = "bundle")]
    pub bundle_url: Option<String>,
    /// Replace an existing server.json
    #[arg(long, requires = "write")]
    pub force: bool,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Checks `server.json` against the rules of the registry.
///
/// # Errors
/// If a rule is violated, in which case the problems are written to `out` first, or a file cannot be read.
pub fn publish_check(args: &PublishCheckArgs, cwd: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let mut out = Out(out);
    let folder: PathBuf = cwd.join(&args.folder).components().collect();
    let package = if folder.join("Cargo.toml").exists() { Some(Package::in_folder(&folder)?) } else { None };
    let digest = args.bundle.as_ref().map(|file| digest(&cwd.join(file))).transpose()?;
    let path = folder.join("server.json");
    if args.write {
        write(args, &path, package.as_ref(), digest.as_deref())?;
    }
    let text = fs::read_to_string(&path).map_err(|e| {
        let fix = match package {
            Some(_) => "`--write` generates one from `Cargo.toml`",
            None => "write one, or name the folder that has it",
        };
        Error::io(&path, "cannot be read", &e).with_hint(fix)
    })?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|e| Error::broken(&path, format!("it is not JSON: {e}")).with_hint("correct the file"))?;
    let facts = Facts::default().package(package.as_ref()).bundle_sha256(digest.as_deref());
    let problems = server_json::check(&value, &facts);
    if args.json {
        out.line(format_args!("{:#}", json!({ "path": path, "problems": described(&problems) })))?;
    } else {
        out.problems(&problems)?;
        if problems.is_empty() {
            out.line(format_args!("{} passes all checks that need no network", what(&value)))?;
        }
    }
    Error::for_problems("`server.json`", &problems).map_or(Ok(()), Err)
}

fn what(value: &Value) -> String {
    format!("`{}` {}", value["name"].as_str().unwrap_or("server.json"), value["version"].as_str().unwrap_or_default())
}

fn write(args: &PublishCheckArgs, path: &Path, package: Option<&Package>, digest: Option<&str>) -> Result<(), Error> {
    if path.exists() && !args.force {
        return Err(Error::new(ErrorKind::Usage, format!("`{}` already exists", path.display()))
            .with_hint("leave `--write` out to check it, or use `--force` to replace it"));
    }
    let package = package.ok_or_else(|| {
        Error::new(ErrorKind::Usage, "there is no `Cargo.toml` to generate it from")
            .with_hint("name the folder of the package")
    })?;
    let bundle = args.bundle_url.as_deref().zip(digest).map(|(url, sha256)| Bundle { url, sha256 });
    fs::write(path, server_json::make(package, bundle)?).map_err(|e| Error::io(path, "cannot be written", &e))
}

fn digest(path: &Path) -> Result<String, Error> {
    let bytes: io::Result<Vec<u8>> = fs::read(path);
    let bytes = bytes.map_err(|e| Error::io(path, "cannot be read", &e).with_hint("create it with `couplet pack`"))?;
    Ok(hex(&hmac_sha256::Hash::hash(&bytes)))
}
