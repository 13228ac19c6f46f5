//! Consent by form elicitation.

use couplet_core::{Ask, BoxFuture, Call};
use couplet_types::{ElicitAction, ElicitParams, ElicitResult, ElicitSchema, EnumSchema};

use super::{Answer, Consent, Question};

/// The key of the elicitation among those of the call.
const KEY: &str = "dev.couplet/consent";

/// Asks the caller's user by form elicitation. A caller that cannot show a form is denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elicited;

impl Consent for Elicited {
    fn ask<'a>(&'a self, question: &'a Question, call: &'a Call) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let form = Ask::Elicit(Box::new(form(question)));
            let answer = call.inputs.ask(call.revision, &call.peer, KEY, form).await;
            let answer = answer.ok().and_then(|text| text.parse::<ElicitResult>().ok());
            answer.and_then(|answer| parse(question, &answer)).unwrap_or(Answer::Deny)
        })
    }
}

/// The form: one choice.
fn form(question: &Question) -> ElicitParams {
    let titled = |answer: Answer| {
        let title = match answer {
            Answer::Once => "Allow this call",
            Answer::Session => "Allow it for this session",
            Answer::Always => "Allow it until its definition changes or the host restarts",
            Answer::Deny => "Deny",
        };
        (answer.as_str(), title)
    };
    let choices = EnumSchema::titled(question.answers().into_iter().map(titled));
    let schema = ElicitSchema::new().required("answer", choices);
    ElicitParams::form(question.text(), &schema)
}

fn parse(question: &Question, result: &ElicitResult) -> Option<Answer> {
    #[derive(serde::Deserialize)]
    struct Form {
        answer: Answer,
    }
    if result.action != ElicitAction::Accept {
        return None;
    }
    let answer = result.parse::<Form>().ok()?.answer;
    question.answers().contains(&answer).then_some(answer)
}
