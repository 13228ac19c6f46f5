//! Tasks: followed, answered and cancelled.

use serde_json::{Value, json};

use crate::{
    Failure,
    browser::{
        stage::{Outcome, Stage, fill, place, press, tool},
        subject::{Offer, Task},
    },
};

/// Tasks of the extension.
pub(super) fn runs(stage: &Stage) -> Result<Outcome, Failure> {
    match &stage.subject.task {
        Offer::Lacks(lack) => stage.lacks(lack),
        Offer::Has(task) => {
            stage.open()?;
            follow(stage, task)
        }
    }
}

/// Tasks of 2025-11-25, on the wire between the inspector and the server.
pub(super) fn runs_in_session(stage: &Stage) -> Result<Outcome, Failure> {
    let task = match &stage.subject.session_task {
        Offer::Has(task) => task,
        Offer::Lacks(lack) => return stage.lacks(lack),
    };
    stage.open()?;
    stage.revision("2025-11-25")?;
    // The tool is marked, as the server has listed it.
    let mark = "[...document.querySelectorAll('main .heading .badge')].some((one) => one.textContent === 'task')";
    place(&stage.page, "tools", task.call.tool)?;
    stage.page.until(mark)?;
    let wire = |method: &'static str| stage.sent(move |_, message| message["method"] == method);
    let as_task =
        || stage.sent(|_, message| message["method"] == "tools/call" && message["params"]["task"].is_object());
    let before = (as_task()?, wire("tasks/result")?, wire("tasks/cancel")?);
    let outcome = follow(stage, task)?;
    let after = (as_task()?, wire("tasks/result")?, wire("tasks/cancel")?);
    match after.0 - before.0 == 2 && after.1 > before.1 && after.2 - before.2 == 1 {
        true => Ok(outcome),
        false => Err(format!("calls as tasks, `tasks/result` and `tasks/cancel`: {before:?}, then {after:?}")),
    }
}

/// Runs a task to its end, with the question that it may ask, and cancels another one.
fn follow(stage: &Stage, task: &Task) -> Result<Outcome, Failure> {
    let (page, call) = (&stage.page, &task.call);
    let first = start(stage, call.tool, call.arguments, &Value::Null)?;
    page.until(&is("working"))?;
    if let Some((pointer, value)) = &task.question {
        page.until(&is("input_required"))?;
        fill(page, pointer, value)?;
        press(page, "main .question", "Accept")?;
    }
    page.until(&is("completed"))?;
    stage.says(call.says)?;
    let life = page.eval("[...document.querySelectorAll('main .grid .badge')].map((one) => one.textContent)")?;
    let life: Vec<_> = life.as_array().into_iter().flatten().filter_map(|one| one.as_str()).collect();
    if life.first() != Some(&"working") || life.last() != Some(&"completed") {
        return Err(format!("the life of the task is {life:?}"));
    }
    // Another one is cancelled.
    start(stage, call.tool, task.long, &first)?;
    press(page, "main .actions", "cancel")?;
    page.until(&is("cancelled"))?;
    Ok(Outcome::Passed)
}

/// Calls a tool as a task, follows the link in its result, and returns it. It is not that of another task.
fn start(stage: &Stage, name: &str, arguments: &str, other: &Value) -> Result<Value, Failure> {
    let page = &stage.page;
    tool(page, name, arguments)?;
    press(page, "main .actions", "as task")?;
    let link = "document.querySelector('.side a[href^=\"#/tasks/\"]')?.hash";
    let link = page.until(&format!("[{link}].find((link) => link && link !== {other})"))?;
    page.eval(&format!("location.hash = {link}"))?;
    let id = link.as_str().unwrap_or_default().trim_start_matches("#/tasks/");
    page.until(&format!(
        "document.querySelector('main .heading')?.innerText.includes(decodeURIComponent({}))",
        json!(id)
    ))?;
    Ok(link)
}

/// Whether the task that is shown has a status.
fn is(status: &str) -> String {
    format!("document.querySelector('main .heading .badge')?.textContent === {}", json!(status))
}
