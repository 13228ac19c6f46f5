//! Tools of the contract that send requests which the client runs as tasks; the server polls the task until it is done.
//! Clients without tasks answer at once.
//!
//! `Tasks::asking` does the same for all requests of a server. Here it is written out, because the contract reports each
//! poll.

use std::time::Duration;

use couplet::{
    prelude::*,
    types::{
        BooleanSchema, ContentBlock, CreateMessage, CreateTaskResult, Elicit, ElicitAction, ElicitParams, ElicitResult,
        ElicitSchema, EnumSchema, GetTask, GetTaskParams, GetTaskPayload, GetTaskPayloadParams, InputRequest, Request,
        StringSchema, Task, TaskMetadata, TaskRequestsCapability, TaskStatus,
    },
};
use serde_json::Value;

use crate::{App, asking, sampling};

const PACE: Duration = Duration::from_secs(1);

pub(crate) fn register(server: Server<App>) -> Server<App> {
    server.tool(trigger_sampling_request_async).tool(trigger_elicitation_request_async)
}

const SAMPLING: &str = "Trigger an async sampling request that the CLIENT executes as a background task. Demonstrates \
    bidirectional MCP tasks where the server sends a request and the client executes it asynchronously, allowing the \
    server to poll for progress and results.";

/// Sends a sampling request as a task.
#[tool(
    name = "trigger-sampling-request-async",
    title = "Trigger Async Sampling Request Tool",
    description = SAMPLING,
    destructive = false,
    open_world
)]
async fn trigger_sampling_request_async(
    /// The prompt to send to the LLM
    prompt: String,
    /// Maximum number of tokens to generate
    #[serde(rename = "maxTokens")]
    #[default(100.0)]
    max_tokens: f64,
    ctx: Ctx,
) -> Result<String, ToolError> {
    let question = sampling::question("trigger-sampling-request-async", &prompt, max_tokens);
    if !runs(&ctx, |can| can.sampling.is_some()) {
        return at_once(&ctx.sample("question", question).await?);
    }
    let question = question.task(TaskMetadata::new().ttl(300_000));
    match look_after::<CreateMessage>(&ctx, &question, 60).await? {
        Outcome::Completed { looks, result } => {
            Ok(format!("[COMPLETED] Async sampling completed!\n\n**Progress:**\n{looks}\n\n**Result:**\n{result:#}"))
        }
        Outcome::Over(said) => Ok(said),
    }
}

const ELICITATION: &str = "Trigger an async elicitation request that the CLIENT executes as a background task. \
    Demonstrates bidirectional MCP tasks where the server sends an elicitation request and the client handles user input \
    asynchronously, allowing the server to poll for completion.";

/// Sends an elicitation request as a task.
#[tool(
    name = "trigger-elicitation-request-async",
    title = "Trigger Async Elicitation Request Tool",
    description = ELICITATION,
    destructive = false,
    open_world = false
)]
async fn trigger_elicitation_request_async(ctx: Ctx) -> Result<Vec<ContentBlock>, ToolError> {
    let text = |title: &str, description: &str| StringSchema::new().title(title).description(description);
    let colors = EnumSchema::new(["Red", "Blue", "Green", "Yellow", "Purple"]).title("Favorite Color");
    let terms = BooleanSchema::new().title("Terms Agreement");
    let form = ElicitSchema::new()
        .required("name", text("Your Name", "Your full name"))
        .optional("favoriteColor", colors.description("What is your favorite color?"))
        .optional("agreeToTerms", terms.description("Do you agree to the terms and conditions?"));
    let message = "Please provide inputs for the following fields (async task demo):";
    let question = ElicitParams::form(message, &form);
    if !runs(&ctx, |can| can.elicitation.is_some()) {
        return Ok(vec![at_once(&ctx.elicit_with("form", question).await?)?.into()]);
    }
    let question = question.task(TaskMetadata::new().ttl(600_000));
    let (looks, result) = match look_after::<Elicit>(&ctx, &question, 600).await? {
        Outcome::Completed { looks, result } => (looks, result),
        Outcome::Over(said) => return Ok(vec![said.into()]),
    };
    let answer: ElicitResult = serde_json::from_value(result.clone())?;
    let fields = [("name", "Name"), ("favoriteColor", "Favorite Color"), ("agreeToTerms", "Agreed to terms")];
    let mut content = match answer.action {
        ElicitAction::Accept => {
            vec!["[COMPLETED] User provided the requested information!".to_owned(), asking::said(&answer, &fields)]
        }
        ElicitAction::Decline => vec!["[DECLINED] User declined to provide the requested information.".to_owned()],
        ElicitAction::Cancel => vec!["[CANCELLED] User cancelled the elicitation dialog.".to_owned()],
    };
    content.push(format!("\nProgress:\n{looks}\n\nRaw result: {result:#}"));
    Ok(content.into_iter().map(ContentBlock::text).collect())
}

/// Whether the client supports tasks for a kind of request.
fn runs(ctx: &Ctx, kind: impl Fn(&TaskRequestsCapability) -> bool) -> bool {
    let tasks = ctx.peer().capabilities.tasks.as_ref();
    ctx.call().revision.has_core_tasks() && tasks.and_then(|tasks| tasks.requests.as_ref()).is_some_and(kind)
}

fn at_once(answer: &impl serde::Serialize) -> Result<String, ToolError> {
    Ok(format!("[SYNC] Client executed synchronously:\n{}", serde_json::to_string_pretty(answer)?))
}

/// The outcome of a task.
enum Outcome {
    Completed { looks: String, result: Value },
    Over(String),
}

/// Sends a request, and polls the client's task once a second, at most `most` times.
async fn look_after<R: Request>(ctx: &Ctx, question: &R::Params, most: usize) -> Result<Outcome, ToolError> {
    let answer = ask::<R>(ctx, question).await?;
    let Ok(CreateTaskResult { mut task, .. }) = serde_json::from_value(answer.clone()) else {
        return Ok(Outcome::Over(at_once(&answer)?));
    };
    let mut looks = vec![format!("Task created: {}", task.task_id)];
    for look in 1.. {
        if task.status.is_terminal() {
            break;
        }
        if look > most {
            let said =
                format!("[TIMEOUT] Task timed out after {most} poll attempts\n\nProgress:\n{}", looks.join("\n"));
            return Ok(Outcome::Over(said));
        }
        tokio::time::sleep(PACE).await;
        task = serde_json::from_value::<Task>(ask::<GetTask>(ctx, &GetTaskParams::new(&task.task_id)).await?)?;
        let message = task.status_message.as_ref().map(|message| format!(" - {message}")).unwrap_or_default();
        looks.push(format!("Poll {look}: {}{message}", word(task.status)));
    }
    let looks = looks.join("\n");
    if task.status != TaskStatus::Completed {
        let message = task.status_message.as_deref().unwrap_or("No message");
        let status = word(task.status).to_uppercase();
        return Ok(Outcome::Over(format!("[{status}] {message}\n\nProgress:\n{looks}")));
    }
    let result = ask::<GetTaskPayload>(ctx, &GetTaskPayloadParams::new(&task.task_id)).await?;
    Ok(Outcome::Completed { looks, result })
}

/// Sends a request to the client.
async fn ask<R: Request>(ctx: &Ctx, params: &R::Params) -> Result<Value, ToolError> {
    let answer = ctx.call().inputs.request(InputRequest::new::<R>(params)?).await;
    Ok(answer.ok_or_else(|| ToolError::new("the client disconnected"))??.parse()?)
}

fn word(status: TaskStatus) -> String {
    serde_json::to_value(status).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}
