//! The same request in all revisions.

use serde_json::json;

use crate::{
    Failure,
    browser::stage::{Outcome, Stage, tool},
};

pub(super) fn five(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    stage.listed()?;
    let (page, echo) = (&stage.page, &stage.subject.echo);
    tool(page, echo.tool, echo.arguments)?;
    page.eval(&format!("location.hash = '#/compare/{}'", echo.tool))?;
    page.until("document.querySelector('main h2')?.textContent === 'Compare revisions'")?;
    page.eval("document.querySelector('main button.primary').click()")?;
    page.until("document.querySelectorAll('main .column').length === 5")?;
    let columns = page.eval(
        "[...document.querySelectorAll('main .column')].map((one) => \
         [one.querySelector('h3 .mono').textContent, one.querySelector('h3 .badge').textContent, one.innerText])",
    )?;
    for column in columns.as_array().into_iter().flatten() {
        let revision = column[0].as_str().unwrap_or_default();
        let expected = if stage.subject.revisions.contains(&revision) { "ok" } else { "error" };
        let says = column[2].as_str().is_some_and(|text| expected == "error" || text.contains(echo.says));
        if column[1] != expected || !says {
            return Err(format!("{revision} is not {expected}: {column}"));
        }
    }
    // A resource is compared, too.
    let uri = json!(stage.subject.resource.uri);
    page.eval(&format!("location.hash = '#/compare/resources%2Fread/' + encodeURIComponent({uri})"))?;
    page.until("document.querySelector('main select[aria-label=Request]')?.value.includes('resources/read')")?;
    page.eval("document.querySelector('main button.primary').click()")?;
    let read = json!(stage.subject.resource.says);
    page.until(&format!(
        "document.querySelectorAll('main .column').length === 5 && document.querySelector('main .columns-five').innerText.includes({read})"
    ))?;
    page.eval(&format!("location.hash = '#/compare/{}'", echo.tool))?;
    page.until("document.querySelector('main .empty')")?;
    page.eval("document.querySelector('main button.primary').click()")?;
    page.until("document.querySelectorAll('main .column').length === 5")?;
    // The requests differ: only one of the eras has its revision in each.
    let part = "document.querySelector('main select[aria-label=Part]')";
    crate::browser::stage::choose(page, part, "requests")?;
    if stage.subject.revisions.contains(&"2026-07-28") {
        page.until("document.querySelector('main .column .tree-row.differs')")?;
        page.until(&format!(
            "document.querySelector('main .columns-five').innerText.includes({})",
            json!("protocolVersion")
        ))?;
    }
    Ok(Outcome::Passed)
}
