//! The subcommands, each with its `Args` and its `run`.

pub(crate) mod bench;
pub(crate) mod call;
pub(crate) mod card;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod gateway;
pub(crate) mod generate;
pub(crate) mod help;
pub(crate) mod inspect;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod lock;
pub(crate) mod login;
pub(crate) mod manual;
pub(crate) mod new;
pub(crate) mod openapi;
pub(crate) mod pack;
pub(crate) mod ping;
mod progress;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod repl;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod tap;
pub(crate) mod test;
pub(crate) mod vocabulary;
pub(crate) mod words;
pub(crate) mod written;

use clap::Args;
use couplet::types::LoggingLevel;

use crate::{
    exit::Failure,
    questions::Script,
    target::{self, Opening, TargetArgs},
};

/// Options for what a server sends while a request runs: elicitation, sampling and log messages.
#[derive(Args, Clone, Debug)]
pub(crate) struct TalkArgs {
    /// Answer a field of an elicitation form
    #[arg(long, help_heading = "Interaction", value_name = "KEY=VALUE", value_parser = target::pair)]
    answer: Vec<(String, String)>,
    /// Answer to a sampling request, in place of a model
    #[arg(long, help_heading = "Interaction", value_name = "TEXT")]
    sample: Option<String>,
    /// Minimum level of log messages to show, from debug to emergency
    #[arg(long, help_heading = "Interaction", value_name = "LEVEL", default_value = "info", value_parser = level)]
    log: LoggingLevel,
}

impl TalkArgs {
    fn open(self, target: &TargetArgs) -> Result<Opening, Failure> {
        let script = Script { answers: self.answer, sample: self.sample, plan: None };
        Ok(Opening { script, log: Some(self.log), ..Opening::of(target)? })
    }
}

fn level(name: &str) -> Result<LoggingLevel, String> {
    let quoted = serde_json::Value::from(name.to_ascii_lowercase());
    serde_json::from_value(quoted)
        .map_err(|_| "expected debug, info, notice, warning, error, critical, alert or emergency".to_owned())
}
