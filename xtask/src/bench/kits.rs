//! Where the programs come from: what is built, and what it takes from the registries.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    Failure,
    workspace::{self, capture, cargo, children_seconds, command, root, show},
};

/// A way to make servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kit {
    Bare,
    Couplet,
    Rmcp,
    Turbomcp,
    TowerMcp,
    Pmcp,
    RustMcpSdk,
    TypeScript,
    Python,
    FastMcp,
}

impl Kit {
    /// Its name, which is its folder in `bench/peers` if it is a peer of ours in Rust.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Couplet => "couplet",
            Self::Rmcp => "rmcp",
            Self::Turbomcp => "turbomcp",
            Self::TowerMcp => "tower-mcp",
            Self::Pmcp => "pmcp",
            Self::RustMcpSdk => "rust-mcp-sdk",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::FastMcp => "fastmcp",
        }
    }

    pub(super) const fn is_rust(self) -> bool {
        !matches!(self, Self::TypeScript | Self::Python | Self::FastMcp)
    }

    pub(super) const fn is_ours(self) -> bool {
        matches!(self, Self::Bare | Self::Couplet)
    }

    /// The name and the version of what is measured.
    pub(super) fn version(self) -> String {
        let read = |file: &str| fs::read_to_string(peers().join(file)).unwrap_or_default();
        let version = match self {
            Self::Bare | Self::Couplet => None,
            Self::TypeScript => {
                let manifest: Value = serde_json::from_str(&read("ts/package.json")).unwrap_or_default();
                manifest["dependencies"]["@modelcontextprotocol/server"].as_str().map(str::to_owned)
            }
            Self::Python => after(&read("python/requirements.txt"), "mcp=="),
            Self::FastMcp => after(&read("python/requirements-fastmcp-itself.txt"), "fastmcp=="),
            _ => {
                after(&read(&format!("{}/Cargo.lock", self.name())), &format!("name = \"{}\"\nversion = ", self.name()))
            }
        };
        version.map_or(self.name().to_owned(), |version| format!("{} {version}", self.name()))
    }
}

/// The rest of the line after a text, without quotes.
fn after(text: &str, start: &str) -> Option<String> {
    let (_, rest) = text.split_once(start)?;
    rest.lines().next().map(|line| line.trim().trim_matches('"').to_owned())
}

/// The folders of what is built.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    /// Where the programs of the workspace are.
    pub(super) ours: PathBuf,
    /// Where the peers and the results are.
    pub(super) bench: PathBuf,
}

impl Folders {
    pub(super) fn new() -> Result<Self, Failure> {
        let text = capture(command("cargo").args(["metadata", "--format-version", "1", "--no-deps"]))?;
        let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?;
        let target = Path::new(metadata["target_directory"].as_str().ok_or("cargo metadata names no folder")?);
        let folders = Self { ours: target.join("dist"), bench: target.join("bench") };
        fs::create_dir_all(&folders.bench).map_err(|e| format!("{}: {e}", folders.bench.display()))?;
        Ok(folders)
    }

    /// A program of the workspace.
    pub(super) fn our(&self, program: &str) -> String {
        self.ours.join(program).to_string_lossy().into_owned()
    }

    /// A program of a peer in Rust.
    pub(super) fn peer(&self, program: &str) -> String {
        self.bench.join("peers/release").join(program).to_string_lossy().into_owned()
    }

    /// How the server of a kit is started.
    pub(super) fn server(&self, kit: Kit) -> Vec<String> {
        let here = |path: &str| self.bench.join(path).to_string_lossy().into_owned();
        let script = |name: &str| peers().join("python").join(name).to_string_lossy().into_owned();
        match kit {
            Kit::Bare => vec![self.our("bench-bare")],
            Kit::Couplet => vec![self.our("bench-server")],
            Kit::TypeScript => vec!["node".to_owned(), here("ts/server.mjs")],
            Kit::Python => vec![here("python/bin/python"), script("server.py")],
            Kit::FastMcp => vec![here("fastmcp/bin/python"), script("server_fastmcp.py")],
            _ => vec![self.peer(&format!("bench-{}", kit.name()))],
        }
    }

    /// Builds what measures, and our servers without what only measuring needs.
    pub(super) fn build_ours(&self) -> Result<(), Failure> {
        let rig = ["bench-load", "bench-bare", "bench-client"].into_iter().flat_map(|program| ["--bin", program]);
        cargo(
            ["build", "--profile", "dist", "--package", "couplet-bench", "--features", "rig"].into_iter().chain(rig),
        )?;
        cargo(["build", "--profile", "dist", "--package", "couplet-bench"])
    }

    /// Builds a peer, or brings it from a registry.
    pub(super) fn build(&self, kit: Kit) -> Result<(), Failure> {
        match kit {
            Kit::Bare | Kit::Couplet => Ok(()),
            Kit::TypeScript => self.npm(),
            Kit::Python => self.pip("python", &["requirements.txt"]),
            Kit::FastMcp => self.pip("fastmcp", &["requirements-fastmcp.txt", "requirements-fastmcp-itself.txt"]),
            Kit::Rmcp => {
                self.cargo_peer(kit, &[])?;
                self.cargo_peer(kit, &["--features", "client", "--bin", "bench-rmcp-client"])
            }
            _ => self.cargo_peer(kit, &[]),
        }
    }

    fn cargo_peer(&self, kit: Kit, more: &[&str]) -> Result<(), Failure> {
        let mut build = command("cargo");
        // One folder for all, so that what they share is built once.
        build.current_dir(peers().join(kit.name())).env("CARGO_TARGET_DIR", self.bench.join("peers"));
        show(build.args(["build", "--release", "--locked"]).args(more))
    }

    /// Builds a server from nothing, and says what it took.
    pub(super) fn build_anew(&self, folder: &Path, more: &[&str]) -> Result<Value, Failure> {
        let target = self.bench.join("anew");
        let _ = fs::remove_dir_all(&target);
        let mut build = command("cargo");
        build.current_dir(folder).env("CARGO_TARGET_DIR", &target).args(["build", "--locked"]).args(more);
        let (before, started) = (children_seconds()?, Instant::now());
        capture(&mut build)?;
        let values = json!({ "cpu_s": children_seconds()? - before, "wall_s": started.elapsed().as_secs_f64() });
        let _ = fs::remove_dir_all(&target);
        Ok(values)
    }

    fn npm(&self) -> Result<(), Failure> {
        let folder = self.bench.join("ts");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for file in ["package.json", "package-lock.json", "server.mjs"] {
            fs::copy(peers().join("ts").join(file), folder.join(file)).map_err(|e| format!("{file}: {e}"))?;
        }
        if folder.join("node_modules").is_dir() {
            return Ok(());
        }
        let mut npm = command("npm");
        capture(npm.current_dir(&folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])).map(drop)
    }

    fn pip(&self, name: &str, files: &[&str]) -> Result<(), Failure> {
        let paths: Vec<PathBuf> = files.iter().map(|file| peers().join("python").join(file)).collect();
        self.pip_at(name, &paths)
    }

    /// Makes a virtual environment with what the files ask for; only the first may bring along what it needs.
    pub(super) fn pip_at(&self, name: &str, paths: &[PathBuf]) -> Result<(), Failure> {
        let folder = self.bench.join(name);
        let ready = folder.join("installed");
        let wanted: String = paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
        if fs::read_to_string(&ready).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        capture(command("python3").args(["-m", "venv"]).arg(&folder))?;
        for (at, path) in paths.iter().enumerate() {
            let mut pip: Command = command(&folder.join("bin/pip").to_string_lossy());
            pip.args(["install", "--quiet", "--requirement"]).arg(path).args((at > 0).then_some("--no-deps"));
            capture(&mut pip)?;
        }
        fs::write(&ready, wanted).map_err(|e| format!("{}: {e}", ready.display()))
    }
}

/// The folder of the peers.
pub(super) fn peers() -> PathBuf {
    root().join("bench/peers")
}

/// The size of a program without its symbols, in bytes.
pub(super) fn stripped(program: &str) -> Option<u64> {
    let copy = format!("{program}.stripped");
    capture(command("strip").args(["-o", &copy, program])).ok()?;
    let size = fs::metadata(&copy).ok()?.len();
    let _ = fs::remove_file(copy);
    Some(size)
}

/// How many crates a package is built from, itself not counted.
pub(super) fn crates(folder: &Path, more: &[&str]) -> Option<usize> {
    let flags = ["tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let tree = capture(workspace::command("cargo").current_dir(folder).args(flags).args(more)).ok()?;
    let crates: std::collections::BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
    crates.len().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_files() {
        let shown = Kit::Rmcp.version();
        assert!(shown.starts_with("rmcp ") && shown.split('.').count() == 3, "{shown}");
        for kit in
            [Kit::Turbomcp, Kit::TowerMcp, Kit::Pmcp, Kit::RustMcpSdk, Kit::TypeScript, Kit::Python, Kit::FastMcp]
        {
            assert!(kit.version().contains(' '), "{kit:?}");
        }
    }
}
