//! Questions to the client of a session, on the connection that the call came on.

use couplet_types::{CancelledParams, InputRequest, RawJson, RequestId, RpcError};

use crate::{
    input::Backchannel,
    json::JsonText,
    pending::Pending,
    queue::{Kind, Queue},
    running::BoxFuture,
    wire,
};

/// The way back to the client for one call.
pub(crate) struct Back {
    queue: Queue,
    questions: Pending,
    call: RequestId,
    most: usize,
}

impl Back {
    pub(crate) fn new(queue: Queue, questions: Pending, call: RequestId, most: usize) -> Self {
        Self { queue, questions, call, most }
    }
}

impl Backchannel for Back {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        if self.questions.len() >= self.most {
            let error = RpcError::internal(format!("more than {} questions to the client are open", self.most));
            return Box::pin(async { Err(error) });
        }
        let Some((id, answer)) = self.questions.open() else { return Box::pin(async { Err(gone()) }) };
        let params = ask.params.as_ref().map_or("{}", RawJson::get);
        let text = wire::request(&RequestId::Number(id), &ask.method, params.as_bytes());
        self.queue.push(Kind::Question(self.call.clone(), id), text);
        let asked = Asked { id, queue: self.queue.clone(), questions: self.questions.clone() };
        Box::pin(async move {
            let answer = answer.await;
            drop(asked);
            answer.unwrap_or_else(|_| Err(gone()))
        })
    }
}

fn gone() -> RpcError {
    RpcError::internal("the client is gone and cannot answer")
}

/// A question that was asked. If the call ends first it is taken back, or the client is told that no answer is
/// needed.
struct Asked {
    id: i64,
    queue: Queue,
    questions: Pending,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.questions.forget(self.id) && !self.queue.purge_question(self.id) {
            let params = wire::to_json(&CancelledParams::new(self.id));
            self.queue.push(Kind::Free, wire::notification("notifications/cancelled", &params));
        }
    }
}
