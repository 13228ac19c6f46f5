//! The Debian package, installed by dpkg below an empty root, with a database of its own.

use std::fs;

use super::{Attempt, Tried, folder};
use crate::{
    Failure, debian,
    workspace::{capture, command},
};

/// Where a package has its files.
const PLACES: [&str; 6] = [
    "usr/bin/couplet",
    "usr/share/man/man1/couplet.1.gz",
    "usr/share/bash-completion/completions/couplet",
    "usr/share/zsh/vendor-completions/_couplet",
    "usr/share/fish/vendor_completions.d/couplet.fish",
    "usr/share/doc/couplet/copyright",
];

pub(super) fn run(attempt: &Attempt<'_>) -> Result<Tried, Failure> {
    if attempt.product.platform.debian.is_none() || debian::find("dpkg").is_none() {
        return Ok(Tried::NotRun("there is no `dpkg`".to_owned()));
    }
    let package = attempt.package("Debian package", |name| name.ends_with(".deb"))?;
    let root = attempt.place("deb")?;
    let database = root.join("var/lib/dpkg");
    for part in ["info", "updates", "triggers"] {
        folder(&database.join(part))?;
    }
    for file in ["status", "available"] {
        fs::write(database.join(file), "").map_err(|e| format!("{}: {e}", database.display()))?;
    }
    // The packages that it depends on are those of this machine, which an empty root does not list.
    let mut install = command("dpkg");
    install.arg(format!("--root={}", root.display())).arg(format!("--admindir={}", database.display()));
    capture(install.args(["--force-depends", "--force-not-root", "--install"]).arg(&package))?;
    if let Some(place) = PLACES.iter().find(|place| !root.join(place).is_file()) {
        return Err(format!("`{place}` is not in the package"));
    }
    attempt.check(|| Attempt::start(&root.join(PLACES[0]), &root))?;
    Ok(Tried::Ran("installed by dpkg below an empty root".to_owned()))
}
