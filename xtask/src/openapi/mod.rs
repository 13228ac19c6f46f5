//! `cargo xtask openapi`: real OpenAPI documents of npm packages, made into tools and linted, and a foreign client of such
//! tools; and a comparison with others.

mod compare;
mod documents;
mod foreign;
mod speed;

use crate::{
    Failure, skipped,
    workspace::{self, command},
};

/// The variable that names the folder of packages to the test.
const VARIABLE: &str = "COUPLET_OPENAPI_DOCUMENTS";

/// Whether the checks are compiled with optimizations. Without, they use what the tests were built with, and times are not
/// checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

/// Runs the checks.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check(Profile::Release).map(drop),
        ["--debug"] => check(Profile::Debug).map(drop),
        ["compare", ref options @ ..] => compare::run(options),
        _ => Err("usage: cargo xtask openapi [--debug | compare [NAME..] [--write]]".to_owned()),
    }
}

/// Checks the documents, and the foreign client. What needs npm, Python or the network is skipped without it: returns the
/// reasons.
pub(crate) fn check(profile: Profile) -> Result<Vec<String>, Failure> {
    let folder = match documents::fetch()? {
        Ok(folder) => folder,
        Err(why) => return Ok(vec![not_run("openapi documents", &why)]),
    };
    let mut cargo = command("cargo");
    cargo.args(["test", "--package", "couplet-openapi", "--all-features", "--test", "openapi"]);
    cargo.args((profile == Profile::Release).then_some("--release"));
    workspace::show(cargo.args(["documents::", "--", "--nocapture"]).env(VARIABLE, &folder))?;
    if profile == Profile::Release {
        speed::check(&folder)?;
    }
    Ok(match foreign::run(&folder)? {
        Ok(()) => Vec::new(),
        Err(why) => vec![not_run("openapi with a foreign client", &why)],
    })
}

fn not_run(what: &str, why: &str) -> String {
    println!("{what}: skipped: {why}");
    skipped::add(what, why);
    format!("{what}: {why}")
}
