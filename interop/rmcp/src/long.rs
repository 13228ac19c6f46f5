//! Tools that ask a model, or take long.
#![expect(deprecated, reason = "sampling is deprecated, and part of the suite")]

use std::time::Duration;

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use serde_json::Value;

use crate::{expect, shared::Shared, wrong};

/// How long a call takes that is to be cancelled.
const LONG: Duration = Duration::from_secs(30);
/// How long a call goes on after its stream was cut.
const SHORT: Duration = Duration::from_millis(400);

pub(crate) async fn ask(
    id: String,
    responses: Option<&InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let question = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(format!("Say {id}"))], 100);
    let answer: Value = if context.protocol_version() == Some(ProtocolVersion::V_2026_07_28) {
        let Some(responses) = responses else {
            let request = InputRequest::CreateMessage(CreateMessageRequest::new(question));
            let requests = InputRequests::from_iter([("model".to_owned(), request)]);
            return Ok(InputRequiredResult::new(Some(requests), None).into());
        };
        responses.get("model").cloned().unwrap_or_default()
    } else {
        let answer = context.peer.create_message(question).await.map_err(|e| wrong(e.to_string()))?;
        serde_json::to_value(answer).map_err(|e| wrong(e.to_string()))?
    };
    expect("the answer of the model", answer["content"]["text"].as_str(), Some(id.as_str()))?;
    Ok(CallToolResult::success(vec![ContentBlock::text(format!("said {id}"))]).into())
}

pub(crate) async fn wait(shared: &Shared, id: String, context: &RequestContext<RoleServer>) -> String {
    shared.note(&id, "running");
    tokio::select! {
        () = context.ct.cancelled() => shared.note(&id, "cancelled"),
        () = tokio::time::sleep(LONG) => shared.note(&id, "ended"),
    }
    format!("waited {id}")
}

pub(crate) async fn stall(id: &str, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let token = context.meta.get_progress_token().ok_or_else(|| wrong("progress was not asked for"))?;
    for n in 1..=3 {
        let message = if n == 1 { format!("cut {id} here") } else { format!("{id} {n}") };
        let progress = ProgressNotificationParam::new(token.clone(), n.into()).with_total(3.0).with_message(message);
        context.peer.notify_progress(progress).await.map_err(|e| wrong(e.to_string()))?;
        tokio::time::sleep(SHORT).await;
    }
    Ok(format!("stalled {id}"))
}
