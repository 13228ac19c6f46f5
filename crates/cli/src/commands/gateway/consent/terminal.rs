//! Questions at the terminal, as they come.

use std::{sync::Arc, time::Duration};

use couplet_host::consent::Answer;
use serde_json::Value;
use tokio::time::sleep;

use super::{
    super::running::{self, Control, Id},
    answers, page,
};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    questions::{self, Line},
};

/// The interval at which gateways are asked for questions.
const INTERVAL: Duration = Duration::from_millis(500);

/// A question of a gateway.
struct Waiting {
    control: Control,
    id: Id,
    question: Value,
}

/// Asks until Ctrl-C.
pub(super) async fn ask(output: &Arc<Output>) -> Result<(), Failure> {
    let mut said = None;
    loop {
        let (asking, waiting) = waiting().await?;
        if said.replace(asking) != Some(asking) {
            let what = match asking {
                0 => "no gateway runs that asks here; waiting for one, until Ctrl-C".to_owned(),
                number => {
                    format!("waiting for questions of {}, until Ctrl-C", text::count(number, "gateway", "gateways"))
                }
            };
            output.note(&output.err.faint(what));
        }
        match waiting.into_iter().next() {
            Some(waiting) => decide(&waiting, output).await?,
            None => sleep(INTERVAL).await,
        }
    }
}

/// Returns the number of gateways that ask on this machine, and all questions.
async fn waiting() -> Result<(usize, Vec<Waiting>), Failure> {
    blocking(|| {
        let (mut asking, mut waiting) = (0, Vec::new());
        for control in running::running()? {
            // One that does not answer has just ended, or is asked again.
            let Ok(listed) = control.questions() else { continue };
            asking += usize::from(listed["asksHere"] == true);
            let items = running::items(&control, listed, "questions").into_iter();
            waiting.extend(items.map(|(id, question)| Waiting { control: control.clone(), id, question }));
        }
        Ok((asking, waiting))
    })
    .await?
}

/// Shows a question, and sends the answer.
async fn decide(waiting: &Waiting, output: &Arc<Output>) -> Result<(), Failure> {
    let id = waiting.id;
    output.note(&format!("\n{}", page(id, &waiting.question, output.err).trim_end()));
    let possible = answers(&waiting.question);
    let Some(answer) = choose(waiting, &possible, output).await? else { return Ok(()) };
    let control = waiting.control.clone();
    match blocking(move || control.answer(id.number, answer)).await? {
        Ok(()) => output.note(&output.err.faint(format!("answered {id}: {}", answer.as_str()))),
        Err(error) => output.warn(&text::line(&error.to_string())),
    }
    Ok(())
}

/// Prompts for one of some answers. There is no default. `None` if the question has gone meanwhile.
async fn choose(waiting: &Waiting, possible: &[Answer], output: &Output) -> Result<Option<Answer>, Failure> {
    let words: Vec<_> = possible.iter().map(|answer| answer.as_str()).collect();
    let keys: Vec<_> =
        words.iter().filter_map(|word| Some(format!("[{}]{}", word.get(..1)?, word.get(1..)?))).collect();
    let prompt = format!("  {}: ", keys.join(", "));
    loop {
        let prompt = prompt.clone();
        let mut reading = tokio::task::spawn_blocking(move || questions::line(&prompt));
        let (read, has_gone) = tokio::select! {
            read = &mut reading => (read, false),
            () = gone(waiting) => {
                output.note("\n  The question does not wait any more: press Enter to continue.");
                // What is typed now must not answer the next question.
                (reading.await, true)
            }
        };
        let Ok(Line::Text(typed)) = read else { return Err(Failure::silent(Exit::Interrupted)) };
        let typed = typed.to_lowercase();
        let meant = possible.iter().find(|answer| !typed.is_empty() && answer.as_str().starts_with(&typed));
        match meant {
            _ if has_gone => return Ok(None),
            Some(answer) => return Ok(Some(*answer)),
            None => {}
        }
    }
}

/// Waits until a question does not wait any more.
async fn gone(waiting: &Waiting) {
    let number = waiting.id.number;
    loop {
        sleep(INTERVAL).await;
        let control = waiting.control.clone();
        let listed = blocking(move || control.questions()).await;
        let Ok(Ok(listed)) = listed else { return };
        let mut questions = listed["questions"].as_array().into_iter().flatten();
        if !questions.any(|question| question["id"] == number) {
            return;
        }
    }
}

/// Runs work that blocks.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let ended = |_| Failure::silent(Exit::Interrupted);
    tokio::task::spawn_blocking(work).await.map_err(ended)
}
