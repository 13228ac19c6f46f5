//! `cargo xtask dist`: the packages of the command `couplet` for this machine's platform, and a try of each.
//!
//! One program, built once, is packed into every kind of package: an archive, a Debian package, npm packages and a wheel.
//! This module knows the formats of packages and the programs that install them; it does not know registries, which are
//! the business of `.github/workflows/release.yml`.

mod archive;
mod attempt;
mod container;
mod deb;
mod elf;
mod files;
mod licenses;
mod npm;
mod options;
mod platform;
mod product;
mod sbom;
mod sums;
#[cfg(test)]
mod tests;
mod wheel;
#[cfg(test)]
mod workflows;
#[cfg(test)]
mod yaml;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, skipped, workspace};
use files::{Effort, empty};
use options::Options;
use product::Product;

/// What was done, in lines for people.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) done: Vec<String>,
    /// What this machine cannot do, each with the reason.
    pub(crate) not_run: Vec<String>,
}

/// A package: the name of its file, and its bytes.
type Package = (String, Vec<u8>);

/// Makes the packages; with `--try`, installs and runs each of them.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let outcome = make(&Options::read(arguments)?)?;
    for why in &outcome.not_run {
        skipped::add("dist", why);
        println!("not run: {why}");
    }
    println!("{}", outcome.done.join("\n"));
    Ok(())
}

/// Everything: what a release has, and the try of it.
pub(crate) fn everything() -> Result<Outcome, Failure> {
    make(&Options::read(&["--try".to_owned()])?)
}

fn make(options: &Options) -> Result<Outcome, Failure> {
    let out = match &options.out {
        Some(folder) => folder.clone(),
        None => workspace::target()?.join("distribution"),
    };
    empty(&out)?;
    let out = out.canonicalize().map_err(|e| format!("{}: {e}", out.display()))?;
    // Beside the packages and not among them.
    let scratch = out.with_extension("scratch");
    empty(&scratch)?;
    let product = Product::new(options, &scratch)?;
    let mut outcome = Outcome::default();
    let packages = pack(&product, &scratch, &mut outcome)?;
    for (name, bytes) in &packages {
        write(&out.join(name), bytes)?;
        outcome.done.push(format!("{:>10} KiB  {name}", bytes.len().div_ceil(1024)));
    }
    let sums = sums::list(packages.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
    write(&out.join("SHA256SUMS"), sums.as_bytes())?;
    outcome.done.push(format!("{} packages in {}", packages.len(), out.display()));
    outcome.done.extend(container::check(&product.needs)?);
    if options.attempt {
        if options.effort == Effort::Small {
            is_reproducible(&product, &scratch, &packages)?;
            outcome.done.push("packed twice, every package has the same bytes".to_owned());
        }
        attempt::all(&product, &out, &scratch.join("try"), &mut outcome)?;
    }
    Ok(outcome)
}

/// Every package that this machine can make.
fn pack(product: &Product, scratch: &Path, outcome: &mut Outcome) -> Result<Vec<Package>, Failure> {
    let mut packages = vec![archive::pack(product)?, wheel::pack(product)?];
    packages.extend(npm::pack(product)?);
    match deb::pack(product, scratch) {
        Ok(package) => packages.push(package),
        Err(deb::Absent::NotHere(why)) => outcome.not_run.push(format!("Debian package: {why}")),
        Err(deb::Absent::Failed(why)) => return Err(why),
    }
    packages.sort();
    Ok(packages)
}

fn is_reproducible(product: &Product, scratch: &Path, packages: &[Package]) -> Result<(), Failure> {
    let again = pack(product, scratch, &mut Outcome::default())?;
    let differs = |((name, bytes), (_, other)): (&Package, &Package)| (bytes != other).then(|| name.clone());
    let different: Vec<String> = packages.iter().zip(&again).filter_map(differs).collect();
    if different.is_empty() && packages.len() == again.len() {
        return Ok(());
    }
    Err(format!("packed twice, other bytes: {}", different.join(", ")))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// The file of a kind of package in a folder of packages.
fn find(folder: &Path, is_it: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    files.map(|file| file.path()).find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&is_it))
}
