//! Tools: called, filled in, cancelled.

use serde_json::json;

use crate::{
    Failure,
    browser::{
        stage::{Outcome, Stage, fill, place, press},
        subject::{Form, Offer},
    },
};

pub(super) fn calls(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let page = &stage.page;
    page.until("!location.href.includes('token')")?;
    page.until("document.querySelector('.nav [aria-current=page]')?.dataset.panel === 'overview'")?;
    stage.call(&stage.subject.echo)?;
    stage.says(stage.subject.echo.says)?;
    page.until(
        "[...document.querySelectorAll('.timeline .t-row')].some((row) => row.innerText.includes('tools/call'))",
    )?;
    // From the result to what was sent, which is valid.
    page.until("[...document.querySelectorAll('.side .links a')].find((one) => one.textContent === 'what was sent')?.click() ?? true")?;
    page.until("document.querySelector('main h2')?.textContent === 'tools/call'")?;
    let name = json!(stage.subject.echo.tool);
    page.until(&format!("document.querySelector('main .tree').innerText.includes({name})"))?;
    page.until("document.querySelector('.findings').innerText.includes('valid in')")?;
    Ok(Outcome::Passed)
}

pub(super) fn form(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    filled(stage, &stage.subject.form)
}

pub(super) fn nested(stage: &Stage) -> Result<Outcome, Failure> {
    match &stage.subject.nested {
        Offer::Lacks(lack) => stage.lacks(lack),
        Offer::Has(form) => {
            stage.open()?;
            filled(stage, form)
        }
    }
}

/// Sends nothing while the arguments are wrong; fills in the form, and calls.
fn filled(stage: &Stage, form: &Form) -> Result<Outcome, Failure> {
    let page = &stage.page;
    place(page, "tools", form.tool)?;
    let calls = || stage.sent(|_, message| message["method"] == "tools/call" && message["params"]["name"] == form.tool);
    let before = calls()?;
    press(page, "main .actions", "reset")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('main .row.wrong, main .verdict.bad')")?;
    if calls()? != before {
        return Err("wrong arguments were sent at the first attempt".to_owned());
    }
    for (pointer, value) in form.fields {
        fill(page, pointer, value)?;
    }
    page.until("document.querySelector('main .verdict').textContent === 'valid'")?;
    press(page, "main .actions", "Call")?;
    stage.says(form.says)?;
    Ok(Outcome::Passed)
}

pub(super) fn cancels(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let (page, slow) = (&stage.page, &stage.subject.slow);
    stage.call(slow)?;
    page.until("document.querySelector('main progress')?.value > 0")?;
    page.until(&format!("document.querySelector('main .progress').innerText.includes({})", json!(slow.says)))?;
    press(page, "main .progress", "cancel")?;
    stage.says("The call was cancelled.")?;
    stage.on_the_wire("notifications/cancelled")?;
    // The server still answers.
    stage.call(&stage.subject.echo)?;
    stage.says(stage.subject.echo.says)?;
    Ok(Outcome::Passed)
}
