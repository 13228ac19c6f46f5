//! The tools that the steps run: pinned, installed below `target/tools` when they are missing.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    Failure,
    workspace::{self, command, show},
};

/// A program from crates.io.
#[derive(Debug)]
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    /// The features that its program needs, beside those that it has by default.
    features: &'static str,
}

pub(crate) const ABOUT: Tool = Tool { features: "cli", ..Tool::new("cargo-about", "0.9.3") };
pub(crate) const CYCLONEDX: Tool = Tool::new("cargo-cyclonedx", "0.5.9");
pub(crate) const DENY: Tool = Tool::new("cargo-deny", "0.20.2");
pub(crate) const EXTERNAL_TYPES: Tool = Tool::new("cargo-check-external-types", "0.5.0");
pub(crate) const MDBOOK: Tool = Tool::new("mdbook", "0.5.4");
pub(crate) const HACK: Tool = Tool::new("cargo-hack", "0.6.46");
pub(crate) const MUTANTS: Tool = Tool::new("cargo-mutants", "27.1.0");
pub(crate) const SEMVER_CHECKS: Tool = Tool::new("cargo-semver-checks", "0.51.0");

impl Tool {
    const fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version, features: "" }
    }

    /// Installs the tool unless it is there, and returns a command that runs it as a subcommand of cargo.
    ///
    /// The error is a reason for which a step is not run.
    pub(crate) fn command(&self) -> Result<Command, Failure> {
        let mut tool = self.program()?;
        tool.arg(self.name.trim_start_matches("cargo-"));
        Ok(tool)
    }

    /// Installs the tool unless it is there, and returns a command that runs it.
    ///
    /// The error is a reason for which a step is not run.
    pub(crate) fn program(&self) -> Result<Command, Failure> {
        let Self { name, version, features } = self;
        let folder = workspace::target()?.join("tools");
        if !self.is_in(&fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default()) {
            println!("installing {name} {version} in {}", folder.display());
            let mut install = command("cargo");
            install.args(["install", "--locked", "--quiet", "--features", features, "--root"]).arg(&folder);
            install.arg(format!("{name}@{version}"));
            show(&mut install).map_err(|why| format!("`{name}` {version} cannot be installed: {why}"))?;
        }
        let program: PathBuf = folder.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        Ok(command(&program.to_string_lossy()))
    }

    /// Whether the list of `cargo install` has the tool in this version.
    fn is_in(&self, list: &str) -> bool {
        list.contains(&format!("\"{} {} (", self.name, self.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_not_the_tool() {
        let list = "[v1]\n\"cargo-deny 0.20.2 (registry+https://example.com)\" = [\"cargo-deny\"]\n";
        assert!(DENY.is_in(list));
        assert!(!Tool::new("cargo-deny", "0.20.3").is_in(list));
        assert!(!Tool::new("deny", "0.20.2").is_in(list));
    }
}
