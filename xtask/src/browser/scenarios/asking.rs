//! Questions of a server, answered by the user.

use serde_json::json;

use crate::{
    Failure,
    browser::{
        stage::{Outcome, Stage, choose, fill, place, press, type_into},
        subject::Offer,
    },
};

/// The newest revision with sessions.
const SESSION: &str = "2025-11-25";
/// The revision without them.
const STATELESS: &str = "2026-07-28";

pub(super) fn elicits(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    stage.revision(SESSION)?;
    let asked = || {
        stage.sent(|direction, message| direction == "server-to-client" && message["method"] == "elicitation/create")
    };
    let before = asked()?;
    answered(stage)?;
    match asked()? - before {
        0 => Err("the server has sent no `elicitation/create`".to_owned()),
        _ => Ok(Outcome::Passed),
    }
}

pub(super) fn elicits_stateless(stage: &Stage) -> Result<Outcome, Failure> {
    if let Offer::Lacks(lack) = &stage.subject.elicits_stateless {
        return stage.lacks(lack);
    }
    stage.open()?;
    stage.revision(STATELESS)?;
    let asked = || stage.sent(|_, message| message["result"]["resultType"] == "input_required");
    let before = asked()?;
    answered(stage)?;
    match asked()? - before {
        0 => Err("no result was `input_required`".to_owned()),
        _ => Ok(Outcome::Passed),
    }
}

/// Accepts with the fields of the form, then declines.
fn answered(stage: &Stage) -> Result<(), Failure> {
    let (page, form) = (&stage.page, &stage.subject.elicits);
    place(page, "tools", form.tool)?;
    press(page, "main .actions", "Call")?;
    // Who asks, and for what, is named.
    page.until(&format!("document.querySelector('main .question-from')?.textContent.includes({})", json!(form.tool)))?;
    for (pointer, value) in form.fields {
        fill(page, pointer, value)?;
    }
    press(page, "main .question", "Accept")?;
    stage.says(form.says)?;
    press(page, "main .actions", "Call")?;
    press(page, "main .question", "Decline")?;
    stage.says(stage.subject.declined)
}

pub(super) fn elicits_url(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let page = &stage.page;
    stage.call(&stage.subject.elicits_url)?;
    page.until("document.querySelector('main .url-host')?.textContent === 'login.example'")?;
    // It is opened by the user alone.
    page.until("[...document.querySelectorAll('main .question button')].some((one) => one.textContent === 'Open login.example')")?;
    press(page, "main .question", "Decline")?;
    stage.says(stage.subject.elicits_url.says)?;
    Ok(Outcome::Passed)
}

pub(super) fn samples(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let (page, samples) = (&stage.page, &stage.subject.samples);
    stage.call(samples)?;
    page.until(&format!(
        "document.querySelector('main .question .chat')?.innerText.includes({})",
        json!(samples.says)
    ))?;
    type_into(page, "document.querySelector('main .question textarea')", "written by hand")?;
    press(page, "main .question", "Send")?;
    stage.says("written by hand")?;
    // From now on without a question.
    page.eval("location.hash = '#/client'")?;
    choose(page, "document.getElementById('sampling')", "canned")?;
    type_into(page, "document.getElementById('canned')", "out of a can")?;
    page.eval("document.getElementById('canned').blur()")?;
    stage.call(samples)?;
    stage.says("out of a can")?;
    Ok(Outcome::Passed)
}
