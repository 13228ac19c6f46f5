//! Each panel under axe-core, in light and dark: no serious or critical violation.

use std::{cell::RefCell, fs, path::Path};

use serde_json::{Value, json};

use super::{
    cdp::{Browser, Page},
    inspector::{Inspector, program},
    scenarios::PANELS,
    sound,
    stage::{Stage, place, press, tool},
    subject::OURS,
};
use crate::Failure;

/// Runs axe-core, whose script is in the folder of node's packages, in one of the two colour schemes.
pub(super) fn run(browser: &Browser, packages: &Path, is_dark: bool) -> Result<(), Failure> {
    let script = packages.join("node_modules/axe-core/axe.min.js");
    let script = fs::read_to_string(&script).map_err(|e| format!("{}: {e}", script.display()))?;
    let inspector = Inspector::start(&[&program("couplet-everything")?])?;
    let stage = Stage { page: browser.page()?, inspector: &inspector, subject: &OURS, others: RefCell::default() };
    let page = &stage.page;
    page.look(1280, 800, is_dark)?;
    stage.open()?;
    stage.listed()?;
    page.eval(&script)?;
    works(page)?;
    let mut found = Vec::new();
    let mut check = |place: &str| -> Result<(), Failure> {
        found.extend(violations(page)?.into_iter().map(|violation| format!("{place}: {violation}")));
        Ok(())
    };
    stage.call(&OURS.echo)?;
    stage.says(OURS.echo.says)?;
    check("a tool with its result")?;
    tool(page, OURS.form.tool, "{}")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('main .row.wrong')")?;
    check("a form with a wrong field")?;
    place(page, "tools", OURS.elicits.tool)?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('main .question')")?;
    check("a question")?;
    press(page, "main .question", "Cancel")?;
    place(page, "resources", OURS.resource.uri)?;
    page.until("document.querySelector('main .resource')")?;
    check("a resource")?;
    place(page, "prompts", OURS.completes.prompt)?;
    check("a prompt")?;
    for panel in PANELS {
        page.eval(&format!("location.hash = '#/{panel}'"))?;
        page.until(&format!("location.hash === '#/{panel}' && document.querySelector('main').innerText.trim()"))?;
        if *panel == "lint" {
            page.until("document.querySelector('main .grid')")?;
        }
        check(panel)?;
    }
    page.eval("document.querySelector('.timeline .t-row').click()")?;
    page.until("document.querySelector('.findings').innerText.includes('valid')")?;
    check("a message")?;
    for view in ["sequence", "waterfall"] {
        page.eval(&format!("document.querySelector('.timeline [data-mode={view}]').click()"))?;
        page.until("document.querySelector('.timeline svg')")?;
        check(view)?;
    }
    page.eval("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Search or run').click()")?;
    page.until("document.querySelector('dialog[open]')")?;
    check("the palette")?;
    page.key("Escape")?;
    page.look(360, 740, is_dark)?;
    page.eval("location.hash = '#/tools/echo'")?;
    page.until("document.querySelector('main h2')?.textContent === 'echo'")?;
    check("a tool on a narrow page")?;
    sound::check(&page.record(), &[&inspector])?;
    if found.is_empty() { Ok(()) } else { Err(format!("{} violations\n{}", found.len(), found.join("\n"))) }
}

/// Checks that a violation is found where there is one.
fn works(page: &Page) -> Result<(), Failure> {
    page.eval(
        "document.querySelector('main').append(Object.assign(document.createElement('button'), { id: 'nameless' }))",
    )?;
    let found = violations(page)?;
    page.eval("document.getElementById('nameless').remove()")?;
    match found.iter().any(|one| one.contains("button-name")) {
        true => Ok(()),
        false => Err("axe-core does not find a button without a name".to_owned()),
    }
}

/// The serious and critical violations of the page as it is.
fn violations(page: &Page) -> Result<Vec<String>, Failure> {
    let options = json!({ "resultTypes": ["violations"], "iframes": false, "elementRef": false });
    let found = page.eval(&format!(
        "axe.run(document, {options}).then(({{ violations }}) => violations.filter((one) => \
         ['serious', 'critical'].includes(one.impact)).map((one) => ({{ id: one.id, help: one.help, nodes: \
         one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + ' ' + (node.any[0]?.message ?? node.all[0]?.message ?? '')) }})))"
    ))?;
    let line = |one: &Value| format!("{} ({}) {}", one["id"], one["help"], one["nodes"]);
    Ok(found.as_array().into_iter().flatten().map(line).collect())
}
