//! Views of MCP Apps.

use serde_json::json;

use crate::{
    Failure,
    browser::{
        stage::{Outcome, Stage},
        subject::Offer,
    },
};

/// The origin of a frame without one.
pub(in crate::browser) const OPAQUE: &str = "://";

pub(super) fn shows(stage: &Stage) -> Result<Outcome, Failure> {
    let view = match &stage.subject.view {
        Offer::Has(view) => view,
        Offer::Lacks(lack) => return stage.lacks(lack),
    };
    stage.open()?;
    let page = &stage.page;
    stage.call(&view.call)?;
    stage.says(view.call.says)?;
    // The frame has an origin of its own, and the view in it none.
    let frames = stage.inspector.frames()?;
    page.until(&format!("document.querySelector('.side iframe')?.src.startsWith({})", json!(format!("{frames}/"))))?;
    stage.says("the view is initialized")?;
    page.until_in(Some(OPAQUE), view.shows)?;
    page.until_in(Some(OPAQUE), "(() => { try { return !parent.document } catch { return true } })()")?;
    if let Some((button, tool)) = view.button {
        page.until_in(Some(OPAQUE), &format!("document.getElementById({})?.click() ?? true", json!(button)))?;
        stage.says(&format!("the view calls {tool}"))?;
    }
    Ok(Outcome::Passed)
}
