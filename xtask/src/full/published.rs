//! The packages of the workspace that are published.

use serde_json::Value;

use crate::{Failure, workspace};

/// A published package.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) name: String,
    /// The folder, from the root on.
    pub(super) folder: String,
    /// Whether the package has a library that is not a procedural macro.
    pub(super) is_library: bool,
    /// Whether the package is there for its program, with a library only for its tests.
    pub(super) is_program: bool,
    pub(super) features: Vec<String>,
}

/// All of them, in the order of `cargo metadata`.
pub(super) fn all() -> Result<Vec<Published>, Failure> {
    let metadata = workspace::metadata()?;
    let published = metadata["packages"].as_array().into_iter().flatten().filter(|p| workspace::is_published(p));
    let folders = workspace::packages()?;
    let found: Vec<_> = published
        .filter_map(|package| {
            let name = package["name"].as_str()?.to_owned();
            let known = folders.iter().find(|p| p.name == name)?;
            let (folder, features) = (known.folder.clone(), known.features.clone());
            Some(Published { name, folder, is_library: has(package, "lib"), is_program: has(package, "bin"), features })
        })
        .collect();
    if found.is_empty() { Err("no package of the workspace is published".to_owned()) } else { Ok(found) }
}

/// The libraries among them.
pub(super) fn libraries() -> Result<Vec<Published>, Failure> {
    Ok(all()?.into_iter().filter(|package| package.is_library).collect())
}

/// `--package a --package b`.
pub(super) fn flags(packages: &[Published]) -> impl Iterator<Item = &str> {
    packages.iter().flat_map(|package| ["--package", package.name.as_str()])
}

fn has(package: &Value, wanted: &str) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.flat_map(|target| target["kind"].as_array().into_iter().flatten()).any(|kind| kind == wanted)
}
