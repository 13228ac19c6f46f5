//! Requests to the client of a session, on the connection of the call.

use std::sync::Arc;

use couplet_types::{CancelledParams, InputRequest, RawJson, RequestId, RpcError};
use futures_channel::oneshot;

use crate::{
    message::scan::JsonText,
    server::{
        input::Backchannel,
        pending::{Answer, Pending},
        queue::{EntryKind, Queue},
        running::BoxFuture,
    },
    wire,
};

/// Sends requests of one call to the client.
#[derive(Clone)]
pub(crate) struct Back {
    queue: Queue,
    questions: Pending,
    /// The call that sends the request, unless it has ended.
    call: Option<RequestId>,
    most: usize,
    /// Changes each request before it is sent.
    edit: Option<Arc<Edit>>,
}

type Edit = dyn Fn(InputRequest) -> InputRequest + Send + Sync;

impl Back {
    pub(crate) fn new(queue: Queue, questions: Pending, call: RequestId, most: usize) -> Self {
        Self { queue, questions, call: Some(call), most, edit: None }
    }

    /// Returns a backchannel for requests after the end of the call.
    pub(crate) fn lasting(&self) -> Self {
        Self { call: None, ..self.clone() }
    }

    /// Returns a backchannel that changes requests before this one does.
    pub(crate) fn edited(&self, edit: impl Fn(InputRequest) -> InputRequest + Send + Sync + 'static) -> Self {
        let next = self.edit.clone();
        let edit = move |ask| match &next {
            Some(next) => next(edit(ask)),
            None => edit(ask),
        };
        Self { edit: Some(Arc::new(edit)), ..self.clone() }
    }

    /// Sends a request and waits for the response; `None` if none will arrive.
    pub(crate) fn ask(
        &self,
        ask: &InputRequest,
    ) -> impl Future<Output = Option<Result<JsonText, RpcError>>> + Send + use<> {
        let asked = self.send(ask);
        async move {
            let (asked, answer) = match asked {
                Ok(asked) => asked?,
                Err(error) => return Some(Err(error)),
            };
            let answer = answer.await;
            drop(asked);
            answer.ok()
        }
    }

    fn send(&self, ask: &InputRequest) -> Result<Option<(PendingQuestion, oneshot::Receiver<Answer>)>, RpcError> {
        if self.questions.len() >= self.most {
            return Err(RpcError::internal(format!("more than {} questions to the client are open", self.most)));
        }
        let Some((id, answer)) = self.questions.open() else { return Ok(None) };
        let changed = self.edit.as_ref().map(|edit| edit(ask.clone()));
        let ask = changed.as_ref().unwrap_or(ask);
        let params = ask.params.as_ref().map_or("{}", RawJson::get);
        let text = wire::request(&RequestId::Number(id), &ask.method, params.as_bytes());
        let kind = self.call.clone().map_or(EntryKind::Free, |call| EntryKind::Question(call, id));
        self.queue.push(kind, text);
        Ok(Some((PendingQuestion { id, queue: self.queue.clone(), questions: self.questions.clone() }, answer)))
    }
}

impl Backchannel for Back {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        let asked = self.ask(&ask);
        Box::pin(async move { asked.await.unwrap_or_else(|| Err(gone())) })
    }
}

fn gone() -> RpcError {
    RpcError::internal("the client is gone and cannot answer")
}

/// An open request to the client. If the call ends first it is removed from the queue, or cancelled.
struct PendingQuestion {
    id: i64,
    queue: Queue,
    questions: Pending,
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        if self.questions.forget(self.id) && !self.queue.purge_question(self.id) {
            let params = wire::to_json(&CancelledParams::new(self.id));
            self.queue.push(EntryKind::Free, wire::notification("notifications/cancelled", &params));
        }
    }
}
