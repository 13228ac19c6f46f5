//! Replies that are planned in advance, for the calls of `couplet test`.

use std::sync::Mutex;

use couplet::{
    client::Elicitation,
    core::sync::lock,
    types::{CreateMessageParams, CreateMessageResult, ElicitAction, ElicitResult, RawJson, RpcError, code},
};
use serde_json::Value;

use super::{form, sample};
use crate::output::text;

/// A reply to one elicitation or sampling request.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) reply: Reply,
    /// Text that the message of the request must contain.
    pub(crate) message: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// The content of a form; the defaults of other fields are added.
    Form(Value),
    /// The action for a form or a URL.
    Action(ElicitAction),
    /// The text of the model.
    Sample(String),
}

/// The replies for the call that is running.
#[derive(Debug, Default)]
pub(crate) struct Plan(Mutex<PlanState>);

#[derive(Debug, Default)]
struct PlanState {
    replies: Vec<Planned>,
    /// What went wrong.
    problems: Vec<String>,
}

impl Plan {
    /// Starts a call.
    pub(crate) fn start(&self, replies: Vec<Planned>) {
        *lock(&self.0) = PlanState { replies, problems: Vec::new() };
    }

    /// Ends a call, and returns what went wrong: requests without a reply, and replies without a request.
    pub(crate) fn finish(&self) -> Vec<String> {
        let PlanState { replies, mut problems } = std::mem::take(&mut *lock(&self.0));
        problems.extend(replies.iter().map(|unused| {
            let reply = match &unused.reply {
                Reply::Form(content) => format!("`content = {content}`"),
                Reply::Action(action) => format!("`action = \"{}\"`", format!("{action:?}").to_lowercase()),
                Reply::Sample(words) => format!("`text = {words:?}`"),
            };
            format!("the server did not ask for {reply}")
        }));
        problems
    }

    /// Replies to form and URL elicitation.
    pub(super) fn elicit(&self, ask: &Elicitation) -> Result<ElicitResult, RpcError> {
        let fits = |reply: &Reply| match reply {
            Reply::Form(_) => !ask.is_url(),
            Reply::Action(action) => ask.is_url() || *action != ElicitAction::Accept,
            Reply::Sample(_) => false,
        };
        let kind = if ask.is_url() { "URL elicitation" } else { "elicitation" };
        let Some(reply) = self.take(ask.message(), fits) else {
            let fields = form::fields(ask).iter().map(|field| format!("\n  {field}")).collect::<String>();
            return Err(self.problem(format!("no answer to the {kind} `{}`{fields}", text::first_line(ask.message()))));
        };
        match reply {
            Reply::Form(content) => {
                let mut whole = ask.defaults();
                for (name, value) in content.as_object().into_iter().flatten() {
                    whole.insert(name.as_str(), RawJson::new(value).unwrap_or_default());
                }
                let accepted = ask.accept(whole);
                accepted.map_err(|error| self.problem(format!("the answer to `{}`: {}", ask.message(), error.message)))
            }
            Reply::Action(ElicitAction::Accept) => ask.accept_url(),
            Reply::Action(action) => Ok(ElicitResult::new(action)),
            Reply::Sample(_) => Err(self.problem("a sampling reply does not fit an elicitation".to_owned())),
        }
    }

    /// Replies to sampling.
    pub(super) fn sample(&self, request: &CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        let message = request.messages.last().map(|message| message.content.all_text()).unwrap_or_default();
        match self.take(&message, |reply| matches!(reply, Reply::Sample(_))) {
            Some(Reply::Sample(words)) => Ok(sample::answer(&words)),
            _ => Err(self.problem(format!("no answer to the sampling request `{}`", text::first_line(&message)))),
        }
    }

    /// Removes the first reply that fits.
    fn take(&self, message: &str, fits: impl Fn(&Reply) -> bool) -> Option<Reply> {
        let mut state = lock(&self.0);
        let wanted = |planned: &Planned| {
            fits(&planned.reply) && planned.message.as_ref().is_none_or(|words| message.contains(words.as_str()))
        };
        let at = state.replies.iter().position(wanted)?;
        Some(state.replies.remove(at).reply)
    }

    /// Records a problem. The error makes the call fail at once.
    fn problem(&self, what: String) -> RpcError {
        lock(&self.0).problems.push(what);
        RpcError::new(code::USER_REJECTED, "the test has no answer to this request")
    }
}

#[cfg(test)]
mod tests {
    use couplet::types::{ElicitParams, ElicitSchema, PrimitiveSchema, SamplingMessage};
    use serde_json::json;

    use super::*;

    #[test]
    fn replies_are_taken_by_kind_and_message() {
        let plan = Plan::default();
        let planned = |reply, message: Option<&str>| Planned { reply, message: message.map(str::to_owned) };
        plan.start(vec![
            planned(Reply::Sample("a poem".to_owned()), None),
            planned(Reply::Form(json!({ "size": "L" })), Some("size")),
            planned(Reply::Action(ElicitAction::Decline), None),
            planned(Reply::Action(ElicitAction::Accept), None),
        ]);
        let schema = ElicitSchema::new().required("size", PrimitiveSchema::string());
        let ask = |message: &str| Elicitation::new(ElicitParams::form(message, &schema));
        assert_eq!(plan.elicit(&ask("Go on?")).unwrap().action, ElicitAction::Decline);
        assert_eq!(plan.elicit(&ask("Which size?")).unwrap().action, ElicitAction::Accept);
        let visit = Elicitation::new(ElicitParams::visit("Pay.", "https://pay.example.com"));
        assert_eq!(plan.elicit(&visit).unwrap().action, ElicitAction::Accept);
        let request = CreateMessageParams::new(vec![SamplingMessage::user("A poem?")], 9);
        assert_eq!(plan.sample(&request).unwrap().content.all_text(), "a poem");
        assert!(plan.finish().is_empty());
    }

    #[test]
    fn what_does_not_fit_is_reported() {
        let plan = Plan::default();
        plan.start(vec![Planned { reply: Reply::Form(json!({ "size": 3 })), message: None }]);
        let schema = ElicitSchema::new().required("size", PrimitiveSchema::string());
        let ask = Elicitation::new(ElicitParams::form("Which size?", &schema));
        assert!(plan.elicit(&ask).is_err() && plan.elicit(&ask).is_err());
        let problems = plan.finish();
        assert!(problems[0].contains("the answer to `Which size?`"), "{problems:?}");
        assert!(problems[1].starts_with("no answer to the elicitation `Which size?`"), "{problems:?}");
        plan.start(vec![Planned { reply: Reply::Sample("x".to_owned()), message: None }]);
        assert_eq!(plan.finish(), ["the server did not ask for `text = \"x\"`"]);
    }
}
