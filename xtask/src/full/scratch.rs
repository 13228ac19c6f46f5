//! Copies of the published packages below `target/full`, for checks that would change manifests or the lock file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure,
    workspace::{self, command, files, root},
};

/// A workspace of the published packages alone, without their dev-dependencies.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) folder: PathBuf,
    build: PathBuf,
}

impl Scratch {
    /// Copies the packages. An older copy of this name is replaced.
    pub(crate) fn new(name: &str) -> Result<Self, Failure> {
        let target = workspace::target()?.join("full");
        let folder = target.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let is_part = |file: &&String| {
            let folders = ["crates/", "servers/"];
            folders.iter().any(|f| file.starts_with(f)) || ["Cargo.toml", "Cargo.lock", "README.md"].contains(&&***file)
        };
        for file in files().iter().filter(is_part) {
            copy(file, &folder.join(file)).map_err(|e| format!("{file}: {e}"))?;
        }
        Ok(Self { folder, build: target.join("build") })
    }

    /// A command in this workspace, with a build folder that all copies share.
    pub(crate) fn within(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.build);
        command
    }

    pub(crate) fn cargo(&self) -> Command {
        self.within(command("cargo"))
    }
}

fn copy(file: &str, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let from = root().join(file);
    if !file.ends_with("Cargo.toml") {
        return fs::copy(from, to).map(drop);
    }
    let manifest = fs::read_to_string(from)?;
    fs::write(to, if file == "Cargo.toml" { published_alone(&manifest) } else { without_dev(&manifest) })
}

fn published_alone(manifest: &str) -> String {
    let members = |line: &str| {
        if line.starts_with("members = ") {
            "members = [\"crates/*\", \"servers/*\"]".to_owned()
        } else {
            line.to_owned()
        }
    };
    manifest.lines().map(|line| members(line) + "\n").collect()
}

/// A manifest without the tables of dev-dependencies.
fn without_dev(manifest: &str) -> String {
    let mut is_dev = false;
    let mut kept = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_dev = line.contains("dev-dependencies");
        }
        if !is_dev {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dev_dependencies_are_removed() {
        let manifest = "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"1\"\n[target.'cfg(unix)'.dev-dependencies]\n\
                        c = \"1\"\n[features]\nd = [\n    \"a/b\",\n]\n";
        assert_eq!(without_dev(manifest), "[dependencies]\na = \"1\"\n[features]\nd = [\n    \"a/b\",\n]\n");
        let root = "[workspace]\nmembers = [\"bench\", \"crates/*\"]\nexclude = [\"fuzz\"]\n";
        assert!(published_alone(root).contains("\nmembers = [\"crates/*\", \"servers/*\"]\nexclude"));
    }
}
