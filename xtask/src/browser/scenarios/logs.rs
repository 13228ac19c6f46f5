//! Log messages and their levels.

use serde_json::json;

use crate::{
    Failure,
    browser::{
        cdp::Page,
        stage::{Outcome, Stage, choose},
    },
};

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

const WANTED: &str = "document.querySelector('select[aria-label=\"Level that requests ask for\"]')";

pub(super) fn level(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    match stage.subject.logs.all_levels {
        true => all_levels(stage),
        false => random_levels(stage),
    }
}

/// Each call sends a message of each level, of which those that are wanted arrive.
fn all_levels(stage: &Stage) -> Result<Outcome, Failure> {
    let page = &stage.page;
    for (wanted, from) in [("error", 4), ("debug", 0)] {
        ask_for(page, wanted)?;
        stage.call(&stage.subject.logs.call)?;
        stage.says(stage.subject.logs.call.says)?;
        page.eval("location.hash = '#/logs'")?;
        let expected = json!(&LEVELS[from..]);
        page.until(&format!("JSON.stringify({}) === JSON.stringify({expected})", shown()))
            .map_err(|why| format!("asked for {wanted}: {why}"))?;
    }
    // The panel itself hides what is below a level.
    choose(page, "document.querySelector('select[aria-label=\"Least level shown\"]')", "critical")?;
    let expected = json!(&LEVELS[5..]);
    page.until(&format!("JSON.stringify({}) === JSON.stringify({expected})", shown()))?;
    Ok(Outcome::Passed)
}

/// The server logs now and then: the level that it was asked for is on the wire, and a message arrives.
fn random_levels(stage: &Stage) -> Result<Outcome, Failure> {
    let page = &stage.page;
    ask_for(page, "debug")?;
    stage.call(&stage.subject.logs.call)?;
    stage.says(stage.subject.logs.call.says)?;
    page.eval("location.hash = '#/logs'")?;
    // Not one of those that the server sends by itself, for example when it has read the roots.
    page.until(
        "[...document.querySelectorAll('main .log-text')].some((one) => /level.message/.test(one.textContent))",
    )?;
    let asked =
        stage.sent(|_, message| message["method"] == "logging/setLevel" && message["params"]["level"] == "debug")?;
    stage.call(&stage.subject.logs.call)?;
    stage.says("Stopped")?;
    match asked {
        0 => Err("the server was not asked for the level".to_owned()),
        _ => Ok(Outcome::Passed),
    }
}

/// Chooses the level, with an empty log.
fn ask_for(page: &Page, level: &str) -> Result<(), Failure> {
    page.eval("location.hash = '#/logs'")?;
    choose(page, WANTED, level)?;
    // Again while there are lines: the server may log something that was not asked for, soon after it is connected.
    let clear = "[...document.querySelectorAll('main button')].find((one) => one.textContent === 'clear').click()";
    page.until(&format!("{}.length === 0 || ({clear}, false)", shown())).map(drop)
}

/// The levels that the panel shows, without lines of the error output.
fn shown() -> String {
    "[...document.querySelectorAll('main .log-row')].sort((a, b) => a.dataset.index - b.dataset.index)\
     .map((row) => row.querySelector('.log-level').textContent).filter((one) => one !== 'stderr')"
        .to_owned()
}
