//! A recording: made of a session, opened and stepped through.

use std::fs;

use serde_json::{Value, json};

use crate::{
    Failure,
    browser::{
        inspector::Inspector,
        scratch,
        stage::{Outcome, Stage},
    },
};

/// The number of messages that are stepped through.
const STEPS: usize = 12;

pub(super) fn steps(stage: &Stage) -> Result<Outcome, Failure> {
    stage.open()?;
    stage.listed()?;
    let page = &stage.page;
    stage.call(&stage.subject.echo)?;
    stage.says(stage.subject.echo.says)?;
    let name = format!("{}.jsonl", stage.subject.name.replace(' ', "-"));
    let file = scratch()?.join(name);
    fs::write(&file, stage.inspector.recording()?).map_err(|e| e.to_string())?;
    let recorded = Inspector::start(&[&file.display().to_string()])?;
    let messages = recorded.messages()?;
    page.go(&recorded.url)?;
    page.until("[...document.querySelectorAll('main a')].find((one) => one.textContent === 'Step through the messages')?.click() ?? location.hash.startsWith('#/messages/')")?;
    for (at, (direction, message)) in messages.iter().enumerate().take(STEPS) {
        shows(stage, direction, message).map_err(|why| format!("step {at}: {why}"))?;
        step(stage, "j")?;
    }
    step(stage, "k")?;
    let (direction, message) = &messages[messages.len().min(STEPS) - 1];
    shows(stage, direction, message)?;
    // The lists of the recording are there, and nothing can be called.
    page.eval(&format!("location.hash = '#/tools/{}'", stage.subject.echo.tool))?;
    page.until(&format!("document.querySelector('main h2')?.textContent === {}", json!(stage.subject.echo.tool)))?;
    page.eval(
        "[...document.querySelectorAll('main .actions button')].find((one) => one.textContent === 'Call').click()",
    )?;
    page.until("document.getElementById('say').textContent.includes('a recording cannot be called')")?;
    let now = recorded.messages()?.len();
    stage.others.borrow_mut().push(recorded);
    match now == messages.len() {
        true => Ok(Outcome::Passed),
        false => Err(format!("the recording had {} messages, and has {now}", messages.len())),
    }
}

/// Presses a key until another message is shown: changes of the state are in the timeline, too.
fn step(stage: &Stage, key: &str) -> Result<(), Failure> {
    loop {
        let before = stage.page.eval("location.hash")?;
        stage.page.key(key)?;
        // The title has the number of the message when it is drawn.
        let is_drawn = "document.title.startsWith(`${location.hash.split('/')[2]} `)";
        stage.page.until(&format!("location.hash !== {before} && {is_drawn}"))?;
        let kind = stage.page.until("document.querySelector('main .facts dd')?.textContent")?;
        if kind != "state" {
            return Ok(());
        }
    }
}

/// Waits until the page shows a message.
fn shows(stage: &Stage, direction: &str, message: &Value) -> Result<(), Failure> {
    let id = message["id"].clone();
    let facts = "document.querySelector('main .facts')?.innerText";
    let method = message["method"].as_str().map_or("true".to_owned(), |method| {
        format!("document.querySelector('main h2')?.textContent === {}", json!(method))
    });
    let direction = if direction == "client-to-server" { "client → server" } else { "server → client" };
    let id = if id.is_null() { "true".to_owned() } else { format!("{facts}?.includes({})", json!(id.to_string())) };
    stage.page.until(&format!("{method} && {id} && {facts}?.includes({})", json!(direction))).map(drop)
}
