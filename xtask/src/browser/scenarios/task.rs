//! Tasks: followed, answered and cancelled.

use serde_json::{Value, json};

use crate::{
    Failure,
    browser::{
        stage::{Outcome, Stage, fill, press, tool},
        subject::Offer,
    },
};

pub(super) fn runs(stage: &Stage) -> Result<Outcome, Failure> {
    let task = match &stage.subject.task {
        Offer::Has(task) => task,
        Offer::Lacks(lack) => return stage.lacks(lack),
    };
    stage.open()?;
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
