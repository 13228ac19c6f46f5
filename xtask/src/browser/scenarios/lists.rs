//! Prompts and resources.

use serde_json::json;

use crate::{
    Failure,
    browser::{
        stage::{Outcome, SIDE, Stage, place, press, tool, type_into},
        subject::Offer,
    },
};

pub(super) fn prompts(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let (page, prompt) = (&stage.page, &stage.subject.completes);
    place(page, "prompts", prompt.prompt)?;
    let field = |number: usize| format!("document.querySelectorAll('main .suggest input')[{number}]");
    type_into(page, &field(0), prompt.typed)?;
    // The server's suggestion is chosen with the keyboard.
    let value = json!(prompt.value);
    let options = "[...document.querySelectorAll('main .suggest-list:not([hidden]) [role=option]')]";
    let ways = format!(
        "{options}.findIndex((one) => one.textContent === {value}) - {options}.findIndex((one) => one.ariaSelected === 'true')"
    );
    page.until(&format!("{options}.some((one) => one.textContent === {value})"))?;
    // Later answers may move it.
    for _ in 0..20 {
        match page.eval(&ways)?.as_i64() {
            Some(0) => break,
            Some(1..) => page.key("ArrowDown")?,
            _ => page.key("ArrowUp")?,
        }
    }
    page.key("Enter")?;
    page.until(&format!("{}.value === {value}", field(0)))?;
    for (at, text) in prompt.others.iter().enumerate() {
        type_into(page, &field(at + 1), text)?;
    }
    press(page, "main .actions", "Get")?;
    page.until(&format!("document.querySelector('.side .chat')?.innerText.includes({})", json!(prompt.says)))?;
    Ok(Outcome::Passed)
}

pub(super) fn resources(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    let (page, resource) = (&stage.page, &stage.subject.resource);
    page.eval("location.hash = '#/resources'")?;
    page.until("document.querySelectorAll('.list-slot .vrow').length > 1")?;
    // A folder is closed, and opened again.
    let folder = |sign: &str| {
        format!(
            "[...document.querySelectorAll('.list-slot .vrow.group')].find((row) => row.innerText.startsWith('{sign}'))"
        )
    };
    let rows = page.until("document.querySelectorAll('.list-slot .vrow').length")?;
    page.until(&format!("(() => {{ const row = {}; row?.click(); return !!row; }})()", folder("▾")))?;
    page.until(&format!("{} && document.querySelectorAll('.list-slot .vrow').length < {rows}", folder("▸")))?;
    page.eval(&format!("{}.click()", folder("▸")))?;
    page.until(&format!("!{} && document.querySelectorAll('.list-slot .vrow').length === {rows}", folder("▸")))?;
    place(page, "resources", resource.uri)?;
    page.until(&format!("document.querySelector('main .resource')?.innerText.includes({})", json!(resource.says)))?;
    let template = json!(resource.template);
    page.eval(&format!("location.hash = '#/resources/template/' + encodeURIComponent({template})"))?;
    page.until(&format!("document.querySelector('main h2')?.textContent === {template}"))?;
    type_into(page, "document.querySelector('main .suggest input')", resource.value)?;
    press(page, "main .actions", "Read")?;
    let says = json!(resource.template_says);
    page.until(&format!("document.querySelector('main .resource')?.innerText.includes({says})"))?;
    Ok(Outcome::Passed)
}

pub(super) fn subscribes(stage: &Stage) -> Result<Outcome, Failure> {
    let toggle = match &stage.subject.updates {
        Offer::Has(toggle) => toggle,
        Offer::Lacks(lack) => return stage.lacks(lack),
    };
    stage.open()?;
    let page = &stage.page;
    let uri = stage.subject.resource.template.replace("{resourceId}", "9");
    place(page, "resources", &uri)?;
    press(page, "main .actions", "subscribe")?;
    stage.call(toggle)?;
    stage.says(toggle.says)?;
    // The contents have the time in them.
    place(page, "resources", &uri)?;
    page.until("document.querySelector('.side .diff .added') && document.querySelector('.side .diff .removed')")?;
    stage.on_the_wire("notifications/resources/updated")?;
    tool(page, toggle.tool, toggle.arguments)?;
    press(page, "main .actions", "Call")?;
    stage.says("Stopped")?;
    place(page, "resources", &uri)?;
    press(page, "main .actions", "unsubscribe")?;
    page.until(&format!("{SIDE}.includes('No subscription.')"))?;
    Ok(Outcome::Passed)
}
