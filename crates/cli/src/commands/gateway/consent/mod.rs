//! `couplet gateway consent`: answers the questions of gateways that run.

mod terminal;

use std::sync::Arc;

use clap::ValueEnum;
use couplet_host::consent::Answer;
use serde_json::Value;

use super::{
    running::{self, Control, Id},
    status::age,
};
use crate::{
    exit::{Exit, Failure},
    output::{Output, Paint, text},
    target::or_interrupted,
};

/// The arguments of `couplet gateway consent`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Question, as --list shows it
    #[arg(requires = "answer")]
    id: Option<Id>,
    /// Answer a question: once, session, always or deny
    #[arg(long, requires = "id", hide_possible_values = true, conflicts_with = "list")]
    answer: Option<AnswerArg>,
    /// List the calls that wait, and do not ask
    #[arg(long)]
    list: bool,
}

/// An answer on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum AnswerArg {
    Once,
    Session,
    Always,
    Deny,
}

impl From<AnswerArg> for Answer {
    fn from(arg: AnswerArg) -> Self {
        match arg {
            AnswerArg::Once => Self::Once,
            AnswerArg::Session => Self::Session,
            AnswerArg::Always => Self::Always,
            AnswerArg::Deny => Self::Deny,
        }
    }
}

pub(super) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    if let (Some(id), Some(answer)) = (args.id, args.answer) {
        let answer = Answer::from(answer);
        running::of(id)?.answer(id.number, answer)?;
        output.note(&format!("answered {id}: {}", answer.as_str()));
        return Ok(());
    }
    if args.list {
        return list(output);
    }
    if output.json {
        return Err(Failure::usage("--json needs --list here"));
    }
    if !output.can_ask() {
        let hint = "use --list, and --answer ANSWER ID";
        return Err(Failure::new(Exit::Unanswered, "there is no terminal to ask").hint(hint));
    }
    or_interrupted(terminal::ask(output)).await
}

/// Lists the questions that wait.
fn list(output: &Output) -> Result<(), Failure> {
    let questions = running::list("questions", Control::questions, output)?;
    if output.json {
        return output.print(&questions.iter().map(|(_, question)| format!("{question}\n")).collect::<String>());
    }
    if questions.is_empty() {
        output.note("no call waits for an answer");
        return Ok(());
    }
    let pages = questions.iter().map(|(id, question)| {
        let answers: Vec<_> = answers(question).iter().map(|answer| answer.as_str()).collect();
        format!("{}  Answers: {}\n", page(*id, question, output.out), answers.join(", "))
    });
    output.print(&pages.collect::<Vec<_>>().join("\n"))
}

/// Formats a question. It is data of another process: everything in it is escaped.
fn page(id: Id, question: &Value, paint: Paint) -> String {
    let word = |key: &str| question[key].as_str().map(text::line);
    let caller = word("principal").map_or_else(String::new, |principal| format!(" by {principal}"));
    let profile = word("profile").unwrap_or_default();
    let (asked, left) = (age(&question["age"]), age(&question["left"]));
    let head = format!("asked {asked} ago{caller} in the profile {profile}, denied in {left}");
    let body = text::indented(question["text"].as_str().unwrap_or_default(), 2);
    format!("{} {}\n{body}\n", paint.strong(id), paint.faint(head))
}

/// The possible answers.
fn answers(question: &Value) -> Vec<Answer> {
    let answers = question["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
    answers.iter().filter_map(|answer| serde_json::from_value(answer.clone()).ok()).collect()
}
