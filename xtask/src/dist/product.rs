//! What is packaged: the program, and the documents that go with it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    elf::Needs,
    files::{Effort, Files, empty},
    licenses,
    options::Options,
    platform::Platform,
    sbom,
};
use crate::{
    Failure, optimized,
    workspace::{self, capture, command, root, show},
};

/// One line about the program, for every kind of package.
pub(super) const SUMMARY: &str = "command-line client for Model Context Protocol (MCP) servers";

/// A few more.
pub(super) const DESCRIPTION: &str = "couplet lists, calls, tests, bridges, inspects and installs servers of the Model Context Protocol (MCP), written \
     in any language, over stdio and HTTP, in all revisions of the protocol.";

pub(super) const LICENSE: &str = "MIT OR Apache-2.0";

/// The texts of the workspace that each package has.
const TEXTS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// A program with its documents.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) platform: &'static Platform,
    pub(super) version: String,
    pub(super) repository: String,
    /// Seconds since 1970, for every file: when the last commit was made.
    pub(super) time: u64,
    pub(super) program: Vec<u8>,
    pub(super) needs: Needs,
    /// The change log, the licenses, those of the dependencies, and the bill of materials.
    pub(super) texts: Files,
    /// `couplet.1` and its like.
    pub(super) man: Files,
    /// Scripts for shells, under the names that these look for.
    pub(super) completions: Files,
    pub(super) effort: Effort,
}

impl Product {
    /// Builds the program unless there is one already, and gathers its documents.
    pub(super) fn new(options: &Options, scratch: &Path) -> Result<Self, Failure> {
        let platform = Platform::host()?;
        let path = match &options.binary {
            Some(path) => path.clone(),
            None => build(&options.profile, platform)?,
        };
        let program = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let package = cli()?;
        let text = |key: &str| package[key].as_str().map(str::to_owned).ok_or_else(|| format!("couplet-cli: no {key}"));
        let time = time()?;
        let manual = scratch.join("manual");
        empty(&manual)?;
        capture(command(&path.to_string_lossy()).arg("manual").arg(&manual))?;
        let mut texts = Files::default();
        for name in TEXTS {
            texts.add(name, fs::read(root().join(name)).map_err(|e| format!("{name}: {e}"))?);
        }
        if options.effort == Effort::Small {
            texts.add(licenses::FILE, licenses::text()?);
            texts.add(sbom::FILE, sbom::json(platform.target, time)?);
        }
        Ok(Self {
            platform,
            version: text("version")?,
            repository: text("repository")?,
            time,
            needs: Needs::of(&program)?,
            program,
            texts,
            man: read(&manual.join("man/man1"))?,
            completions: read(&manual.join("completions"))?,
            effort: options.effort,
        })
    }
}

/// Builds the program, and returns its path.
fn build(profile: &str, platform: &Platform) -> Result<PathBuf, Failure> {
    println!("building couplet ({profile})");
    let mut cargo = optimized::cargo(profile)?;
    if profile == "dist" {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", without_paths());
    }
    show(&mut cargo)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(workspace::target()?.join(folder).join(platform.program()))
}

/// Flags for the compiler that remove the folders of this machine from the program's messages. Two machines with the same
/// compiler then build the same program.
fn without_paths() -> String {
    let home = std::env::home_dir().unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let given = std::env::var("RUSTFLAGS").unwrap_or_default();
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let ours = [remap(&root(), "/couplet"), remap(&cargo_home, "/cargo")];
    given.split_whitespace().map(str::to_owned).chain(ours).collect::<Vec<_>>().join("\x1f")
}

/// The program's package as cargo describes it.
fn cli() -> Result<serde_json::Value, Failure> {
    let metadata = workspace::metadata()?;
    let found = metadata["packages"].as_array().into_iter().flatten().find(|p| p["name"] == "couplet-cli");
    found.cloned().ok_or_else(|| "there is no package `couplet-cli`".to_owned())
}

/// `SOURCE_DATE_EPOCH`, or the time of the last commit.
fn time() -> Result<u64, Failure> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => capture(command("git").args(["log", "-1", "--format=%ct"]))?,
    };
    text.trim().parse().map_err(|_| format!("`{}` is no number of seconds", text.trim()))
}

/// The files of a folder, without those in folders below it.
fn read(folder: &Path) -> Result<Files, Failure> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut files = Files::default();
    for entry in entries.map_err(|e| format!("{}: {e}", folder.display()))? {
        let bytes = fs::read(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
        files.add(entry.file_name().to_string_lossy(), bytes);
    }
    Ok(files)
}
