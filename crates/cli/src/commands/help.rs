//! `couplet help`: a topic, or the help of a command.

use clap::CommandFactory;

use crate::{
    arguments::nearest,
    command::Cli,
    exit::Failure,
    output::Output,
    topics::{self, TOPICS, Topic},
};

/// The arguments of `couplet help`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Topic, or command
    words: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    if let [word] = &*args.words
        && let Some(topic) = Topic::named(word)
    {
        return output.print(&topic.text());
    }
    let mut command = Cli::command();
    command.build();
    for word in &args.words {
        let Some(found) = command.find_subcommand(word) else { return Err(unknown(word, &command)) };
        command = found.clone();
    }
    let help = command.render_long_help();
    output.print(&if output.out.colour { help.ansi().to_string() } else { help.to_string() })
}

fn unknown(word: &str, command: &clap::Command) -> Failure {
    let names = command.get_subcommands().map(clap::Command::get_name).chain(TOPICS.iter().map(|topic| topic.name));
    let failure = Failure::usage(format!("there is no help about `{word}`")).detail(topics::list());
    match nearest(word, names) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`couplet --help` lists the commands"),
    }
}
