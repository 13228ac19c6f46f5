//! What the public API promised at the last tag still holds, as far as the version says.

use super::{Options, Report, published, tools};
use crate::{
    Failure,
    workspace::{capture, command, show},
};

pub(super) fn run(options: &Options) -> Result<Report, Failure> {
    let base = match &options.base {
        Some(base) => base.clone(),
        None => match last_tag()? {
            Some(tag) => tag,
            None => return Ok(Report::not_run("no tag yet: nothing to compare with")),
        },
    };
    let mut tool = match tools::SEMVER_CHECKS.command() {
        Ok(tool) => tool,
        Err(why) => return Ok(Report::not_run(why)),
    };
    let libraries = published::libraries()?;
    let was_there = |folder: &str| {
        let manifest = format!("{base}:{folder}/Cargo.toml");
        capture(command("git").args(["cat-file", "-e", &manifest])).is_ok()
    };
    let (old, new): (Vec<_>, Vec<_>) = libraries.into_iter().partition(|library| was_there(&library.folder));
    for library in &new {
        println!("`{}` is new since `{base}`", library.name);
    }
    if old.is_empty() {
        return Ok(Report::not_run(format!("`{base}` has none of the libraries")));
    }
    show(tool.args(["check-release", "--baseline-rev", &base]).args(published::flags(&old)))?;
    Ok(Report::found(format!("{} libraries compared with `{base}`, {} new", old.len(), new.len())))
}

/// The newest version among the tags that lead here.
fn last_tag() -> Result<Option<String>, Failure> {
    let tags = capture(command("git").args(["tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname"]))?;
    Ok(tags.lines().next().map(str::to_owned))
}
