//! `cargo xtask browser` and `cargo xtask screenshots`: the inspector's page in a real browser.
//!
//! One browser, a page of its own for each scenario, and a thread for each server: most of the time is spent in waiting.

mod axe;
mod cdp;
mod driver;
mod endpoint;
mod hostile;
mod http;
mod inspector;
mod node;
mod oauth;
mod refused;
mod report;
mod scenarios;
mod screenshots;
mod sound;
mod stage;
mod subject;
mod walks;

use std::{cell::RefCell, fs, path::PathBuf, thread, time::Instant};

use crate::{
    Failure,
    ci::NOT_RUN,
    interop::{peer::Missing, servers},
    skipped, workspace,
};
use cdp::Browser;
use inspector::{Inspector, program};
use report::Row;
use stage::{Outcome, Stage};
use subject::Subject;

pub(crate) use driver::Driver;
pub(crate) use screenshots::run as screenshots;

/// Runs all scenarios, or those whose names contain a word.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    if let Some((first, rest)) = words.split_first()
        && first == "serve"
    {
        return hostile::server::run(rest);
    }
    let Some(program) = cdp::installed() else {
        let why = "there is no Chromium: install it, or set COUPLET_CHROMIUM";
        skipped::add("browser", why);
        return Err(format!("{NOT_RUN}{why}"));
    };
    // For a second run, while nothing has changed.
    let (flags, words): (Vec<_>, Vec<_>) = words.iter().cloned().partition(|word| *word == "--built");
    if flags.is_empty() {
        build()?;
    }
    let browser = Browser::start(&program, &scratch()?.join("profile"))?;
    let run = Run { browser: &browser, words: &words };
    let rows = run.all();
    drop(browser);
    let _ = fs::remove_dir_all(scratch()?);
    println!("\n{}", report::table(&rows));
    let failed = rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().err()?)));
    let failed: Vec<_> = failed.map(|(row, why)| format!("{}: {}: {why}", row.server, row.scenario)).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("{} failed\n{}", failed.len(), failed.join("\n\n"))) }
}

/// A run of scenarios.
struct Run<'a> {
    browser: &'a Browser,
    words: &'a [String],
}

impl Run<'_> {
    fn all(&self) -> Vec<Row> {
        let folder = workspace::root().join("target/interop/servers");
        thread::scope(|scope| {
            let threads = [
                scope.spawn(|| self.without_browser()),
                scope.spawn(|| self.alone("hostile servers", hostile::SCENARIOS)),
                scope.spawn(|| self.alone("other origins", refused::SCENARIOS)),
                scope.spawn(|| self.alone("beside an endpoint", endpoint::SCENARIOS)),
                scope.spawn(|| self.alone("walks", walks::SCENARIOS)),
                scope.spawn(|| self.subject(&subject::OURS, program("couplet-everything").map_err(Missing::Broken))),
                scope.spawn(|| self.subject(&subject::NPM, servers::everything(&folder))),
                scope.spawn(|| self.subject(&subject::FASTMCP, servers::fastmcp_panels(&folder))),
            ];
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread does not panic")).collect()
        })
    }

    fn wants(&self, server: &str, scenario: &str) -> bool {
        let name = format!("{server}: {scenario}");
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// All scenarios with a server, which has one inspector.
    fn subject(&self, subject: &'static Subject, target: Result<String, Missing>) -> Vec<Row> {
        let wanted: Vec<_> = scenarios::SCENARIOS.iter().filter(|(name, _)| self.wants(subject.name, name)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let inspector = match target {
            Ok(target) => Inspector::start(&[&target]).and_then(|inspector| inspector.connected().map(|()| inspector)),
            Err(Missing::Broken(why)) => Err(why),
            Err(Missing::Skipped(why)) => {
                skipped::add(&format!("browser {}", subject.name), &format!("{} scenarios: {why}", wanted.len()));
                return Vec::new();
            }
        };
        let inspector = match &inspector {
            Ok(inspector) => inspector,
            Err(why) => return vec![self.row(subject.name, "the inspector starts", || Err(why.clone()))],
        };
        let row = |(name, steps): &scenarios::Scenario| {
            self.row(subject.name, name, || {
                let stage = Stage { page: self.browser.page()?, inspector, subject, others: RefCell::default() };
                let outcome = steps(&stage)?;
                let others = stage.others.borrow();
                let inspectors: Vec<_> = others.iter().chain([inspector]).collect();
                sound::check(&stage.page.record(), &inspectors)?;
                Ok(outcome)
            })
        };
        wanted.into_iter().map(row).collect()
    }

    /// Scenarios that have inspectors of their own.
    fn alone(&self, server: &'static str, scenarios: &'static [hostile::Scenario]) -> Vec<Row> {
        let wanted = scenarios.iter().filter(|(name, _)| self.wants(server, name));
        let row = |(name, steps): &hostile::Scenario| {
            self.row(server, name, || self.browser.page().and_then(|page| steps(&page)).map(|()| Outcome::Passed))
        };
        wanted.map(row).collect()
    }

    /// The tests under node, the types, and axe-core, which all need node.
    fn without_browser(&self) -> Vec<Row> {
        const NAME: &str = "the page";
        type Check<'a> = (&'static str, &'a dyn Fn(&std::path::Path) -> Result<(), Failure>);
        let checks: [Check; 4] = [
            ("tests of its scripts", &|_| node::tests()),
            ("types of its scripts", &node::types),
            ("axe-core in light colours", &|packages| axe::run(self.browser, packages, false)),
            ("axe-core in dark colours", &|packages| axe::run(self.browser, packages, true)),
        ];
        let wanted: Vec<_> = checks.into_iter().filter(|(name, _)| self.wants(NAME, name)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let packages = match node::packages() {
            Ok(packages) => packages,
            Err(Missing::Broken(why)) => return vec![self.row(NAME, "node's packages", || Err(why))],
            Err(Missing::Skipped(why)) => {
                skipped::add(&format!("browser {NAME}"), &format!("{} checks: {why}", wanted.len()));
                return Vec::new();
            }
        };
        let row = |(name, check): Check| self.row(NAME, name, || check(&packages).map(|()| Outcome::Passed));
        wanted.into_iter().map(row).collect()
    }

    fn row(&self, server: &'static str, scenario: &'static str, run: impl FnOnce() -> Result<Outcome, Failure>) -> Row {
        let began = Instant::now();
        let outcome = run();
        let row = Row { scenario, server, outcome, seconds: began.elapsed().as_secs_f64() };
        println!("{}", row.line());
        row
    }
}

fn build() -> Result<(), Failure> {
    let packages = ["--package", "couplet-cli", "--package", "couplet-everything", "--package", "example-axum"];
    workspace::cargo(["build"].into_iter().chain(packages))
}

/// The folder for files of a run.
fn scratch() -> Result<PathBuf, Failure> {
    let folder = workspace::target()?.join(format!("browser-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("`{}` cannot be made: {e}", folder.display()))?;
    Ok(folder)
}
