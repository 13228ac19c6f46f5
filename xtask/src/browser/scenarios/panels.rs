//! Each panel, and the state of the page.

use serde_json::json;

use crate::{
    Failure,
    browser::stage::{Outcome, Stage, connected, tool},
};

/// The panels that a connected target has.
pub(in crate::browser) const PANELS: &[&str] = &[
    "overview",
    "tools",
    "resources",
    "prompts",
    "tasks",
    "logs",
    "skills",
    "lint",
    "compare",
    "load",
    "collection",
    "client",
    "login",
    "connect",
    "help",
    "messages",
];

/// Whether the page shows a value of JavaScript that it does not mean. What the server has logged is not the page's.
const SLIP: &str = "(() => { const main = document.querySelector('main').cloneNode(true); \
     main.querySelectorAll('.log-text').forEach((one) => one.remove()); \
     return /undefined|NaN|\\[object/.test(main.textContent); })()";

pub(super) fn all(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    stage.listed()?;
    let page = &stage.page;
    for panel in PANELS {
        page.eval(&format!("location.hash = '#/{panel}'"))?;
        page.until(&format!(
            "location.hash === '#/{panel}' && document.querySelector('main').innerText.trim() && !{SLIP}"
        ))
        .map_err(|why| format!("{panel}: {why}"))?;
    }
    // Messages in the three views of the timeline.
    for (view, drawn) in [("sequence", ".timeline svg"), ("waterfall", ".timeline svg"), ("list", ".timeline .t-row")] {
        page.eval(&format!("document.querySelector('.timeline [data-mode={view}]').click()"))?;
        page.until(&format!("document.querySelector({})", json!(drawn)))?;
    }
    stays(stage)
}

/// The place in the list of the timeline is the same after another view.
fn stays(stage: &Stage) -> Result<Outcome, Failure> {
    let page = &stage.page;
    let list = "document.querySelector('.timeline .vlist')";
    let top = page.until(&format!(
        "(async () => {{ const list = {list}; if (list.scrollHeight < list.clientHeight + 100) return null; \
         list.scrollTop = 33; await new Promise((done) => list.addEventListener('scroll', done, {{ once: true }})); \
         return list.scrollTop; }})()"
    ))?;
    for view in ["sequence", "list"] {
        page.eval(&format!("document.querySelector('.timeline [data-mode={view}]').click()"))?;
    }
    match page.eval(&format!("{list}.scrollTop"))? {
        now if now == top => Ok(Outcome::Passed),
        now => Err(format!("the timeline was scrolled to {top}, and is at {now} after another view")),
    }
}

pub(super) fn reloads(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let (page, echo) = (&stage.page, &stage.subject.echo);
    stage.call(echo)?;
    stage.says(echo.says)?;
    tool(page, echo.tool, r#"{"message":"a draft"}"#)?;
    let rows = "[...document.querySelectorAll('.timeline .t-row')].some((row) => row.innerText.includes('tools/call'))";
    page.until(rows)?;
    page.call("Page.reload", &json!({}))?;
    page.until("document.readyState === 'complete'")?;
    connected(page)?;
    page.until(&format!("location.hash === {}", json!(format!("#/tools/{}", echo.tool))))?;
    page.until("document.querySelector('main .json-text')?.value.includes('a draft')")?;
    // The last result, the history of calls and the timeline are there again.
    stage.says(echo.says)?;
    page.until("document.querySelector('.side .history-row')")?;
    page.until(rows)?;
    Ok(Outcome::Passed)
}

pub(super) fn lints(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    stage.listed()?;
    let page = &stage.page;
    page.eval("location.hash = '#/lint'")?;
    page.until("document.querySelector('main .grid .badge')")?;
    page.until(
        "(() => { const place = document.querySelector('main .grid .link'); place?.click(); return !!place; })()",
    )?;
    page.until("/^#\\/(tools|resources|prompts|skills)\\/./.test(location.hash) && document.querySelector('main h2')")?;
    Ok(Outcome::Passed)
}

pub(super) fn loads(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    stage.listed()?;
    let (page, echo) = (&stage.page, &stage.subject.echo);
    tool(page, echo.tool, echo.arguments)?;
    page.eval(&format!("location.hash = '#/load/{}'", echo.tool))?;
    page.until("document.getElementById('load-s')")?;
    page.eval("document.getElementById('load-s').value = '1'")?;
    page.eval("document.querySelector('main button.primary').click()")?;
    page.until("document.querySelector('main svg.histogram') && document.querySelector('main .grid').innerText.includes('p99')")?;
    let calls = page.eval("Number(document.querySelector('main .grid td').textContent)")?;
    let errors = page.eval("Number(document.querySelectorAll('main .grid td')[1].textContent)")?;
    match (calls.as_f64(), errors.as_f64()) {
        (Some(1.0..), Some(0.0)) => Ok(Outcome::Passed),
        _ => Err(format!("{calls} calls, {errors} errors")),
    }
}
