//! `cargo xtask browser` and `cargo xtask screenshots`: the inspector's page in a real browser.

mod cdp;
mod driver;
mod inspector;
mod scenarios;
mod screenshots;

use std::{fs, path::PathBuf, time::Instant};

use crate::{Failure, ci::NOT_RUN, skipped, workspace};
use cdp::{Browser, Page};

pub(crate) use driver::Driver;
pub(crate) use screenshots::run as screenshots;

/// Runs all scenarios, or those whose names contain a word.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let Some(program) = cdp::installed() else {
        let why = "there is no Chromium: install it, or set COUPLET_CHROMIUM";
        skipped::add("browser", why);
        return Err(format!("{NOT_RUN}{why}"));
    };
    // For a second run, while nothing has changed.
    let (flags, words): (Vec<_>, Vec<_>) = words.iter().partition(|word| *word == "--built");
    if flags.is_empty() {
        build()?;
    }
    let mut failed = Vec::new();
    for (name, scenario) in scenarios::SCENARIOS {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let began = Instant::now();
        let outcome = page(&program).and_then(|mut page| {
            scenario(&mut page)?;
            sound(&page)
        });
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("{verdict:>7}  {name} ({:.1} s)", began.elapsed().as_secs_f64());
        failed.extend(outcome.err().map(|why| format!("{name}: {why}")));
    }
    let _ = fs::remove_dir_all(scratch()?);
    if failed.is_empty() { Ok(()) } else { Err(format!("{} failed\n{}", failed.len(), failed.join("\n\n"))) }
}

/// Whether the page was quiet: no errors, and no requests to anything but its own origin and the sandbox.
fn sound(page: &Page) -> Result<(), Failure> {
    let remote = || page.requests.iter().filter(|url| !["data:", "blob:", "about:"].iter().any(|s| url.starts_with(s)));
    let origin = |url: &str| url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let own = remote().next().map(|url| origin(url)).filter(|own| own.starts_with("http://127.0.0.1:"));
    let is_own = |url: &&String| {
        let is_sandbox = || {
            let path = url.splitn(4, '/').nth(3).unwrap_or_default();
            url.starts_with("http://127.0.0.1:")
                && matches!(path.split('?').next(), Some("" | "sandbox.html" | "sandbox.js"))
        };
        Some(origin(url)) == own || is_sandbox()
    };
    if let Some(url) = remote().find(|url| !is_own(url)) {
        return Err(format!("the page has requested `{url}`"));
    }
    match page.errors.first() {
        Some(error) => Err(format!("the page has an error: {error}")),
        None => Ok(()),
    }
}

fn build() -> Result<(), Failure> {
    workspace::cargo(["build", "--package", "couplet-cli", "--package", "couplet-everything"])
}

fn page(program: &std::path::Path) -> Result<Page, Failure> {
    let profile = scratch()?.join("profile");
    let mut page = Browser::start(program, &profile)?.page()?;
    page.look(1280, 800, false)?;
    Ok(page)
}

/// The folder for files of a run.
fn scratch() -> Result<PathBuf, Failure> {
    let folder = workspace::target()?.join(format!("browser-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("`{}` cannot be made: {e}", folder.display()))?;
    Ok(folder)
}
