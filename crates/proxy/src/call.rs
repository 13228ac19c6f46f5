//! One call, from whoever asks to the server and back.

use std::sync::Arc;

use couplet_client::{Client, Outcome};
use couplet_core::{Ask, Call, Error, ErrorKind, Event, Exchange, Extras, JsonText, Reply};
use couplet_types::{
    ElicitationComplete, ElicitationCompleteParams, InputRequest, LogMessage, LogParams, Notification, Progress,
    ProgressParams, RpcError, from_json,
};

use crate::{
    asking::{Aside, Listening},
    proxy::Shared,
    result,
};

/// How often a server may answer one call with questions.
const ROUNDS: usize = 10;

/// Whether questions and answers go through as they are: neither side has sessions.
pub(crate) fn is_passed_on(client: &Client, call: &Call) -> bool {
    !client.shape().has_sessions() && !call.shape.has_sessions()
}

pub(crate) async fn run(shared: Arc<Shared>, call: Call) -> Reply {
    Passing { shared: &shared, call: &call, asked: 0 }.run().await.unwrap_or_else(|error| Reply::Error(told(&error)))
}

struct Passing<'a> {
    shared: &'a Shared,
    call: &'a Call,
    /// How many questions there were: each needs a name.
    asked: usize,
}

impl Passing<'_> {
    async fn run(&mut self) -> Result<Reply, Error> {
        let (client, call) = (&self.shared.client, self.call);
        let asks = matches!(&*call.method, "tools/call" | "prompts/get" | "resources/read");
        let mut listening = match asks {
            true => Some(self.shared.asking.listen(client.shape().has_sessions()).await),
            false => None,
        };
        let mut extras = Extras::default();
        extras.progress = call.outbox.wants_progress();
        // What belongs to an extension, such as a task, could not be passed on afterwards.
        let mut capabilities = call.peer.capabilities.clone();
        (capabilities.extensions, capabilities.tasks) = (None, None);
        extras.capabilities = Some(capabilities);
        for _ in 0..ROUNDS {
            let exchange = client.forward(&call.method, &call.params, &extras)?;
            let answer = self.follow(exchange, listening.as_mut()).await?;
            let (asks, state) = match client.outcome(answer)? {
                Outcome::Complete(text) => return Ok(result::reply(client.shape(), call, &text)),
                Outcome::InputRequired { asks, state } => (asks, state),
                Outcome::Extension { kind, .. } => {
                    return Err(Error::new(ErrorKind::Protocol, format!("the server gave a `{kind}` unasked")));
                }
            };
            if is_passed_on(client, call) {
                return Ok(Reply::InputRequired { asks, state });
            }
            extras.answers = Vec::new();
            for (key, ask) in asks {
                let answer = self.ask(&key, &ask).await.map_err(Error::from)?;
                extras.answers.push((key, answer));
            }
            extras.state = state;
        }
        Err(Error::new(ErrorKind::Protocol, format!("after {ROUNDS} rounds the server still asks")))
    }

    /// The answer to a request, with all that is told and asked before it.
    async fn follow(
        &mut self,
        mut exchange: Exchange,
        mut listening: Option<&mut Listening<'_>>,
    ) -> Result<JsonText, Error> {
        loop {
            let aside = async {
                match &mut listening {
                    Some(listening) => listening.asides.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // What was said before the answer is passed on before it.
                biased;
                aside = aside => match aside {
                    Some(Aside::Log(line)) => self.log(line).await,
                    Some(Aside::Question(question, answer)) => {
                        self.asked += 1;
                        let said = self.ask(&self.asked.to_string(), &question).await;
                        let _ = answer.send(said);
                    }
                    None => listening = None,
                },
                event = exchange.next() => match event {
                    Event::Notification { method, params } => self.notify(&method, params.text().as_str()).await,
                    Event::Answer(answer) => return answer.map_err(Error::from),
                    Event::Failed(error) => return Err(error),
                    Event::Ended => {
                        return Err(Error::new(ErrorKind::Protocol, "the server ended the call without an answer"));
                    }
                },
            }
        }
    }

    async fn ask(&self, key: &str, question: &InputRequest) -> Result<JsonText, RpcError> {
        self.call.inputs.ask(self.call.shape, &self.call.peer, key, Ask::of(question)?).await
    }

    async fn notify(&self, method: &str, params: &str) {
        let outbox = &self.call.outbox;
        match method {
            Progress::METHOD => {
                if let Ok(ProgressParams { progress, total, message, .. }) = from_json(params) {
                    outbox.progress(progress, total, message).await;
                }
            }
            LogMessage::METHOD => {
                if let Ok(line) = from_json(params) {
                    self.log(line).await;
                }
            }
            ElicitationComplete::METHOD => {
                if let Ok(ElicitationCompleteParams { elicitation_id, .. }) = from_json(params) {
                    outbox.visited(elicitation_id).await;
                }
            }
            other => tracing::debug!(method = other, "a notification is not passed on"),
        }
    }

    async fn log(&self, line: LogParams) {
        self.call.outbox.log(line.level, line.logger, line.data).await;
    }
}

/// What the server reported stays as it is; what happened on the way is told as such.
fn told(error: &Error) -> RpcError {
    match (error.rpc(), error.kind()) {
        (Some(reported), _) => reported.clone(),
        (None, ErrorKind::Unsupported) => RpcError::new(couplet_types::code::METHOD_NOT_FOUND, error.to_string()),
        (None, _) => RpcError::internal(format!("the server behind the proxy: {error}")),
    }
}
