//! What this client answers, and what it hears.

#![expect(deprecated, reason = "sampling is deprecated, and part of the suite")]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::*,
    service::{NotificationContext, RequestContext},
};
use serde_json::json;

use crate::{calls::Calls, script::Script};

/// How far, of how much, and a message.
pub(crate) type Heard = (f64, Option<f64>, Option<String>);

#[derive(Clone)]
pub(crate) struct Handler {
    heard: Arc<Mutex<Vec<Heard>>>,
    /// The resources that have changed.
    updated: Arc<Mutex<Vec<String>>>,
    pub(crate) calls: Arc<Calls>,
    /// What it does instead of the steps of the suite.
    pub(crate) script: Option<Arc<Script>>,
}

impl Handler {
    pub(crate) fn new(calls: Arc<Calls>, script: Option<Arc<Script>>) -> Self {
        Self { heard: Arc::default(), updated: Arc::default(), calls, script }
    }

    /// Answers a form.
    ///
    /// # Errors
    /// If it is not one that is expected.
    pub(crate) fn answer(&self, request: &ElicitRequestParams) -> Result<ElicitResult, ErrorData> {
        let Some(script) = &self.script else { return answer(&self.calls, request) };
        let request = serde_json::to_value(request).map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        let fields = script.answer(self, request["message"].as_str().unwrap_or_default());
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(fields))
    }

    /// The progress of the call that has just ended, in order. This client hears of notifications in tasks of their own,
    /// which may run after the result is there.
    pub(crate) async fn heard(&self) -> Vec<Heard> {
        self.heard_at_least(3).await
    }

    pub(crate) async fn heard_at_least(&self, expected: usize) -> Vec<Heard> {
        let heard = || self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for _ in 0..1000 {
            if heard().len() >= expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut heard = heard();
        heard.sort_by(|a, b| a.0.total_cmp(&b.0));
        heard
    }

    pub(crate) fn forget_progress(&self) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn updated(&self) -> Option<String> {
        self.updated.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().enable_sampling().enable_tasks().build();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.answer(&request)
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let first = request.messages.first().map(|message| serde_json::to_value(&message.content));
        let content = first.and_then(Result::ok).unwrap_or_default();
        let content = content.get(0).unwrap_or(&content);
        let text = content["text"].as_str().unwrap_or_default();
        let id = match &self.script {
            Some(script) => Ok(script.say(self, text)),
            None => self.calls.asked(text),
        };
        let id = id.map_err(|wrong| ErrorData::invalid_params(wrong, None))?;
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(id), "interop-model".to_owned()))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push((params.progress, params.total, params.message));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.updated.lock().unwrap_or_else(PoisonError::into_inner).push(params.uri);
    }
}

/// Answers a form of the suite.
///
/// # Errors
/// If it is not one of the suite.
fn answer(calls: &Calls, request: &ElicitRequestParams) -> Result<ElicitResult, ErrorData> {
    let request = serde_json::to_value(request).map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    if let Some(message) = request["message"].as_str().filter(|message| message.starts_with("Confirm ")) {
        let id = calls.asked(message).map_err(|wrong| ErrorData::invalid_params(wrong, None))?;
        return Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "id": id })));
    }
    let field = |name: &str| request["requestedSchema"]["properties"][name]["type"].clone();
    let asked = (&request["message"], field("name"), field("age"));
    if asked != (&json!("Who are you?"), json!("string"), json!("integer")) {
        return Err(ErrorData::invalid_params(format!("the question: {asked:?}"), None));
    }
    Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada", "age": 36 })))
}
