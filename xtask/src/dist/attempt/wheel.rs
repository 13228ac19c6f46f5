//! The wheel, installed by pip into a fresh environment, and run by uvx.

use std::path::Path;

use super::{Attempt, SCRIPTS, Tried};
use crate::{
    Failure,
    interop::peer::{Missing, venv},
    workspace::{self, capture, root},
};

/// uv, in a version that is known to work.
const REQUIREMENTS: &str = "packaging/requirements.txt";

pub(super) fn pip(attempt: &Attempt<'_>) -> Result<Tried, Failure> {
    let place = attempt.place("pip")?;
    let python = if cfg!(windows) { "python" } else { "python3" };
    let start = |program: &Path| Attempt::start(program, &place);
    if capture(start(Path::new(python)).args(["-m", "venv", "venv"])).is_err() {
        return Ok(Tried::NotRun("there is no `python3` with `venv`".to_owned()));
    }
    let programs = place.join("venv").join(SCRIPTS);
    let mut install = start(&programs.join(python));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    capture(install.arg(wheel(attempt)?))?;
    // pip compares the files with RECORD only when it removes them.
    attempt.check(|| start(&programs.join(attempt.product.platform.program())))?;
    let mut remove = start(&programs.join(python));
    capture(remove.args(["-m", "pip", "uninstall", "--quiet", "--disable-pip-version-check", "--yes", "couplet"]))?;
    if programs.join(attempt.product.platform.program()).exists() {
        return Err("pip has not removed the program: RECORD is wrong".to_owned());
    }
    Ok(Tried::Ran("installed by pip without an index".to_owned()))
}

pub(super) fn uvx(attempt: &Attempt<'_>) -> Result<Tried, Failure> {
    let python = match venv(&workspace::target()?.join("tools/python"), &root().join(REQUIREMENTS)) {
        Ok(python) => python,
        Err(Missing::Skipped(why)) => return Ok(Tried::NotRun(format!("uv: {why}"))),
        Err(Missing::Broken(why)) => return Err(why),
    };
    let place = attempt.place("uvx")?;
    let wheel = wheel(attempt)?;
    attempt.check(|| {
        let mut uvx = Attempt::start(&python.with_file_name("uvx"), &place);
        uvx.env("UV_CACHE_DIR", place.join("cache")).env("UV_TOOL_DIR", place.join("tools"));
        uvx.args(["--quiet", "--offline", "--no-index", "--no-config", "--python-preference", "only-system", "--from"]);
        uvx.arg(&wheel).arg("couplet");
        uvx
    })?;
    Ok(Tried::Ran("run by uvx, offline".to_owned()))
}

fn wheel(attempt: &Attempt<'_>) -> Result<std::path::PathBuf, Failure> {
    attempt.package("wheel", |name| name.ends_with(".whl"))
}
