//! The candidates for an argument.

use clap::{Arg, Command};
use couplet_hosts::Hosts;

use super::{
    Candidate, Candidates,
    lists::{self, Deadline},
    offered::{Wanted, argument, prompt_argument, variable},
    position::{Position, Slot},
};
use crate::{
    commands::list::Offer,
    target::{ConnectionArgs, Known, Target, environment},
    topics::TOPICS,
};

/// Returns the candidates for a position. They need not start with what is typed.
pub(super) fn of(position: &Position<'_>) -> Candidates {
    match position.slot {
        Slot::Option => only(options(position.command)),
        Slot::Rest => Candidates { words: Vec::new(), files: true },
        Slot::Value(arg, prefix) => prefixed(prefix, of_argument(position, arg, &position.typed[prefix.len()..])),
        Slot::Word(arg) => {
            let mut found = arg.map_or_else(Candidates::default, |arg| of_argument(position, arg, position.typed));
            let shown = position.command.get_subcommands().filter(|command| !command.is_hide_set());
            let about = |command: &Command| command.get_about().map(ToString::to_string);
            found.words.extend(shown.map(|command| Candidate::new(command.get_name(), about(command).as_deref())));
            found
        }
    }
}

fn only(words: Vec<Candidate>) -> Candidates {
    Candidates { words, files: false }
}

fn prefixed(prefix: &str, mut found: Candidates) -> Candidates {
    for word in &mut found.words {
        word.value.insert_str(0, prefix);
    }
    found
}

fn options(command: &Command) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let option = |arg: &Arg| {
        let help = arg.get_help().map(ToString::to_string);
        Some(Candidate::new(format!("--{}", arg.get_long()?), help.as_deref()))
    };
    shown.filter_map(option).collect()
}

/// Returns the values of an argument: those that clap knows, or those of its name.
fn of_argument(position: &Position<'_>, arg: &Arg, typed: &str) -> Candidates {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        let about = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string);
        return only(shown.map(|value| Candidate::new(value.get_name(), about(value).as_deref())).collect());
    }
    // The value of an option has the name that the help shows.
    let name = match arg.get_value_names() {
        Some([name]) if !arg.is_positional() || name.as_str() == "TARGET" => name.as_str(),
        _ => arg.get_id().as_str(),
    };
    match name {
        "TARGET" | "target" => Candidates { words: servers(), files: true },
        "server" => only(servers()),
        "name" if ["uninstall", "sync"].contains(&position.command.get_name()) => only(servers()),
        "HOST" => {
            let before = typed.rfind(',').map_or("", |at| &typed[..=at]);
            prefixed(before, only(hosts()))
        }
        "words" => only(topics()),
        "PATH" | "FILE" | "DIR" | "FOLDER" | "file" | "files" | "dir" | "config" | "CONFIG" | "binary" => {
            Candidates { words: Vec::new(), files: true }
        }
        "tool" | "prompt" | "uri" | "uris" | "of" | "what" | "arguments" | "argument" => {
            only(of_server(position, name, typed).unwrap_or_default())
        }
        _ => Candidates::default(),
    }
}

/// The names of configured servers. One that several hosts have is offered with its host, too.
fn servers() -> Vec<Candidate> {
    let Ok(known) = Known::here() else { return Vec::new() };
    let mut found: Vec<Candidate> = Vec::new();
    for server in known.servers() {
        let about = format!("in {}", server.host);
        match found.iter_mut().find(|one| one.value == server.name) {
            Some(one) => one.about = format!("{}, {}", one.about, server.host),
            None => found.push(Candidate::new(&server.name, Some(&about))),
        }
        found.push(Candidate::new(format!("{}:{}", server.host, server.name), Some(&about)));
    }
    found
}

fn hosts() -> Vec<Candidate> {
    let hosts = environment().ok().and_then(|env| Hosts::load(&env).ok());
    let hosts = hosts.as_ref().map(|hosts| hosts.iter().map(|host| Candidate::new(host.id(), Some(host.name()))));
    hosts.into_iter().flatten().collect()
}

fn topics() -> Vec<Candidate> {
    use clap::CommandFactory;
    let topics = TOPICS.iter().map(|topic| Candidate::new(topic.name, Some(topic.about)));
    let program = crate::command::Cli::command();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    topics.chain(commands.map(|command| Candidate::plain(command.get_name()))).collect()
}

/// The names and arguments that a server offers.
fn of_server(position: &Position<'_>, name: &str, typed: &str) -> Option<Vec<Candidate>> {
    let connection = ConnectionArgs { cwd: position.option_value("cwd").map(Into::into), ..ConnectionArgs::default() };
    let target = Target::find(position.word("target")?, &connection, Known::here).ok()?;
    let deadline = Deadline::new();
    let offer = lists::of(&target, deadline)?;
    let wanted = match name {
        "tool" => return Some(tools(&offer)),
        "prompt" => return Some(prompts(&offer)),
        "uri" | "uris" => return Some(resources(&offer)),
        "of" => return Some(prompts(&offer).into_iter().chain(templates(&offer)).collect()),
        "what" => {
            let kinds = ["tools", "resources", "prompts"].map(Candidate::plain);
            return Some(kinds.into_iter().chain(tools(&offer)).chain(prompts(&offer)).collect());
        }
        _ => arguments(position, &offer, typed)?,
    };
    let words = match wanted {
        Wanted::OneOf(words) => words,
        Wanted::Value(of, argument, typed) => {
            let values = lists::values(&target, of, &argument, &typed, position.rest(), deadline);
            values.into_iter().map(|value| format!("{argument}={value}")).collect()
        }
    };
    Some(words.into_iter().map(Candidate::plain).collect())
}

fn arguments(position: &Position<'_>, offer: &Offer, typed: &str) -> Option<Wanted> {
    let given = position.rest();
    let of = |name: &str| match offer.prompts.iter().any(|prompt| prompt.name == name) {
        true => prompt_argument(offer, name, &[], typed),
        false => variable(name, &[], typed),
    };
    Some(match position.command.get_name() {
        "call" | "bench" => argument(offer, position.word("tool")?, given, typed),
        "prompt" => prompt_argument(offer, position.word("prompt")?, given, typed),
        "read" => variable(position.word("uri")?, given, typed),
        "complete" => of(position.word("of")?),
        _ => return None,
    })
}

fn tools(offer: &Offer) -> Vec<Candidate> {
    offer.tools.iter().map(|tool| Candidate::new(&tool.name, tool.description.as_deref())).collect()
}

fn prompts(offer: &Offer) -> Vec<Candidate> {
    offer.prompts.iter().map(|prompt| Candidate::new(&prompt.name, prompt.description.as_deref())).collect()
}

fn templates(offer: &Offer) -> Vec<Candidate> {
    offer.templates.iter().map(|one| Candidate::new(&one.uri_template, one.description.as_deref())).collect()
}

fn resources(offer: &Offer) -> Vec<Candidate> {
    let resources = offer.resources.iter().map(|one| Candidate::new(&one.uri, one.description.as_deref()));
    resources.chain(templates(offer)).collect()
}
