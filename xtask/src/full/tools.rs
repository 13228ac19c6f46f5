//! The tools that the steps run: pinned, installed below `target/tools` when they are missing.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    Failure,
    workspace::{self, command, show},
};

/// A program from crates.io.
#[derive(Debug)]
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

pub(super) const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
pub(super) const EXTERNAL_TYPES: Tool = Tool { name: "cargo-check-external-types", version: "0.5.0" };
pub(super) const MDBOOK: Tool = Tool { name: "mdbook", version: "0.5.4" };
pub(super) const HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };
pub(super) const MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0" };
pub(super) const SEMVER_CHECKS: Tool = Tool { name: "cargo-semver-checks", version: "0.51.0" };

impl Tool {
    /// Installs the tool unless it is there, and returns a command that runs it as a subcommand of cargo.
    ///
    /// The error is a reason for which a step is not run.
    pub(super) fn command(&self) -> Result<Command, Failure> {
        let mut tool = self.program()?;
        tool.arg(self.name.trim_start_matches("cargo-"));
        Ok(tool)
    }

    /// Installs the tool unless it is there, and returns a command that runs it.
    ///
    /// The error is a reason for which a step is not run.
    pub(super) fn program(&self) -> Result<Command, Failure> {
        let Self { name, version } = self;
        let folder = workspace::target()?.join("tools");
        if !self.is_in(&fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default()) {
            println!("installing {name} {version} in {}", folder.display());
            let mut install = command("cargo");
            install.args(["install", "--locked", "--quiet", "--root"]).arg(&folder).arg(format!("{name}@{version}"));
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
        assert!(!Tool { name: "cargo-deny", version: "0.20.3" }.is_in(list));
        assert!(!Tool { name: "deny", version: "0.20.2" }.is_in(list));
    }
}
