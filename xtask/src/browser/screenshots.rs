//! Pictures of each panel, in light and dark, wide and narrow.

use std::{cell::RefCell, fs, thread::sleep, time::Duration};

use super::{
    build, cdp,
    inspector::{Inspector, program},
    scenarios::PANELS,
    scratch,
    stage::{Stage, press, tool},
    subject::OURS,
};
use crate::{Failure, workspace};

/// The names and sizes of windows.
const SIZES: [(&str, u32, u32); 2] = [("wide", 1280, 800), ("narrow", 360, 740)];

/// Writes the pictures to `target/screenshots`, or to the folder that is named.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some(browser) = cdp::installed() else {
        return Err("there is no Chromium: install it, or set COUPLET_CHROMIUM".to_owned());
    };
    let (flags, folders): (Vec<_>, Vec<_>) = arguments.iter().partition(|word| *word == "--built");
    if flags.is_empty() {
        build()?;
    }
    let folder = match folders.as_slice() {
        [] => workspace::target()?.join("screenshots"),
        [folder] => folder.into(),
        _ => return Err("expected at most one folder".to_owned()),
    };
    fs::create_dir_all(&folder).map_err(|e| format!("`{}` cannot be made: {e}", folder.display()))?;
    let inspector = Inspector::start(&[&program("couplet-everything")?])?;
    let browser = cdp::Browser::start(&browser, &scratch()?.join("profile"))?;
    let stage = Stage { page: browser.page()?, inspector: &inspector, subject: &OURS, others: RefCell::default() };
    stage.open()?;
    let message = prepare(&stage)?;
    let page = &stage.page;
    let mut count = 0;
    for (size, width, height) in SIZES {
        for is_dark in [false, true] {
            page.look(width, height, is_dark)?;
            let mut picture = |name: &str| {
                let colours = if is_dark { "dark" } else { "light" };
                count += 1;
                page.picture(&folder.join(format!("{name}-{size}-{colours}.png")))
            };
            for panel in PANELS {
                let place = if *panel == "messages" { &message } else { place(panel) };
                page.eval(&format!("location.hash = '#/{place}'"))?;
                // Lists and lint findings arrive a moment later.
                sleep(Duration::from_millis(400));
                show(&stage, panel)?;
                picture(panel)?;
            }
            for view in ["sequence", "waterfall", "list"] {
                // A narrow page has the timeline behind a tab.
                page.eval("document.querySelector('.tabs [data-tab=timeline]')?.click()")?;
                page.eval(&format!("document.querySelector('.timeline [data-mode={view}]').click()"))?;
                sleep(Duration::from_millis(300));
                picture(&format!("timeline-{view}"))?;
            }
        }
    }
    drop(stage);
    drop(browser);
    let _ = fs::remove_dir_all(scratch()?);
    println!("{count} pictures in {}", folder.display());
    Ok(())
}

/// Calls some tools, so that there is something to see. Returns the place of a message.
fn prepare(stage: &Stage<'_>) -> Result<String, Failure> {
    let page = &stage.page;
    for (name, arguments, label, said) in [
        ("get-sum", r#"{ "a": 1, "b": 1 }"#, "Call", "is 2."),
        ("trigger-long-running-operation", r#"{ "duration": 0.2, "steps": 3 }"#, "Call", "completed"),
        ("trigger-error", r#"{ "kind": "protocol" }"#, "Call", "-32602"),
        ("simulate-research-query", r#"{ "topic": "browsers" }"#, "as task", "task"),
        ("get-sum", r#"{ "a": 2, "b": 40 }"#, "Call", "is 42."),
    ] {
        tool(page, name, arguments)?;
        press(page, "main .actions", label)?;
        stage.says(said)?;
    }
    press(page, "main .actions", "save")?;
    page.eval("document.querySelector('.side .links a').click()")?;
    let place = page.until("/^#.messages.[0-9]+$/.test(location.hash) && location.hash.slice(2)")?;
    Ok(place.as_str().unwrap_or_default().to_owned())
}

/// The place of the page for a picture of a panel.
fn place(panel: &str) -> &str {
    match panel {
        "tools" => "tools/get-sum",
        "resources" => "resources/demo%3A%2F%2Fresource%2Fstatic%2Fdocument%2Farchitecture.md",
        "prompts" => "prompts/completable-prompt",
        "compare" => "compare/get-sum",
        "load" => "load/get-sum",
        panel => panel,
    }
}

/// Opens what a panel has to show.
fn show(stage: &Stage<'_>, panel: &str) -> Result<(), Failure> {
    let page = &stage.page;
    match panel {
        "tasks" | "skills" => page.eval("document.querySelector('.list .vrow')?.click()").map(drop)?,
        "compare" => {
            press(page, "main", "Run in all")?;
            page.until("document.querySelectorAll('main .column .tree').length === 5")?;
        }
        "load" => {
            page.eval("document.getElementById('load-s').value = '1'")?;
            press(page, "main", "Start")?;
            page.until("!!document.querySelector('main svg')")?;
        }
        "lint" => page.until("!!document.querySelector('main table')").map(drop)?,
        _ => return Ok(()),
    }
    sleep(Duration::from_millis(300));
    Ok(())
}
