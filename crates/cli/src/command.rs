//! The command line: every subcommand, in one place.

use std::{process::ExitCode, sync::Arc};

use clap::{Parser, Subcommand};
use couplet_bundle::cli as bundle;
use couplet_hosts::cli as hosts;
use couplet_serve::LogFormat;

use crate::{
    commands::{
        bench, call, complete, completions, demo, discover, doctor, lint, list, listen, login, new, pack, ping, prompt,
        read, repl, replay, run, tap, vocabulary, written,
    },
    exit::{self, Exit, Failure},
    logs,
    output::{Colour, Look, Output},
    target::overdue,
};

/// Any server of the Model Context Protocol, from the command line.
///
/// TARGET is a URL; a command in one argument ("node server.js"; it is split into words, never run by a shell); the
/// name of a server that a host on this machine has configured; a file with a server in it (server.py, server.js,
/// server.ts); or a file of a configuration (mcp.json, or mcp.json:name where it has several servers).
#[derive(Debug, Parser)]
#[command(name = "couplet", version, after_long_help = exit::help(), disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    look: Look,
    #[command(subcommand)]
    command: Command,
}

/// A subcommand: what it takes is in the module of its name.
#[derive(Debug, Subcommand)]
enum Command {
    /// Lists what a server offers
    List(list::Args),
    /// Calls a tool
    Call(call::Args),
    /// Reads a resource
    Read(read::Args),
    /// Gets a prompt
    Prompt(prompt::Args),
    /// Asks for suggestions for an argument
    Complete(complete::Args),
    /// Prints changes as they happen
    Listen(listen::Args),
    /// Asks whether a server is there
    Ping(ping::Args),
    /// Finds out what a server is and speaks
    Discover(discover::Args),
    /// Opens a server for an interactive session
    Repl(repl::Args),
    /// Serves a server over stdio, or over HTTP, in every revision
    Run(run::Args),
    /// Sits between a host and a server on stdio and writes down what they say
    Tap(tap::Args),
    /// Plays a recording to a client, or to a server
    Replay(replay::Args),
    /// Measures how fast a server answers
    Bench(bench::Args),
    /// Writes a server to begin with
    New(new::Args),
    /// Logs in at a server that wants to know the caller
    Login(login::Args),
    /// Forgets a login, and revokes its tokens
    Logout(login::OutArgs),
    /// Adds a server to hosts, such as Claude, Cursor or VS Code
    Install(hosts::InstallArgs),
    /// Takes a server out of hosts
    Uninstall(hosts::UninstallArgs),
    /// Copies servers from one host to others
    Sync(hosts::SyncArgs),
    /// Lists the servers that hosts on this machine have
    Servers(hosts::ServersArgs),
    /// Lists the hosts that are known, and where their files are
    Hosts(hosts::HostsArgs),
    /// Finds out why servers do not start or connect
    Doctor(doctor::Args),
    /// Finds what hosts and model APIs refuse about a server
    Lint(lint::Args),
    /// Makes a bundle (.mcpb) that hosts install with a click
    Pack(pack::Args),
    /// Checks what the registry of servers will check, before anything is published
    PublishCheck(bundle::PublishCheckArgs),
    /// Prints the JSON Schema of the protocol, or of one of its types
    Schema(vocabulary::SchemaArgs),
    /// Validates messages in files: JSON, JSON lines, recordings, Markdown
    Validate(vocabulary::ValidateArgs),
    /// Prints messages as RDF: Turtle, N-Triples, TriG, JSON-LD
    Rdf(vocabulary::RdfArgs),
    /// Serves a few servers to play with
    Demo(demo::Args),
    /// Prints a script that completes commands in a shell
    Completions(completions::Args),
}

impl Command {
    /// Whether it serves over HTTP, for as long as it runs.
    fn serves(&self) -> bool {
        match self {
            Self::Run(args) => args.is_http(),
            Self::Demo(_) => true,
            _ => false,
        }
    }
}

/// Runs the command that the process was started with, and says how it should end.
pub fn main() -> ExitCode {
    let Cli { look, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misread(&error),
    };
    let output = Arc::new(Output::new(look));
    logs::start(look, command.serves(), &output);
    match start(command, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.tell(&output)),
    }
}

/// Help, and mistakes in the command line. The parser tells of them well, except to programs.
fn misread(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let text = error.render().to_string();
        let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let message = first.join(" ").trim_start_matches("error: ").to_owned();
        let look = Look { json: true, verbose: false, color: Colour::Never, log_format: LogFormat::Text };
        return ExitCode::from(Failure::usage(message).tell(&Output::new(look)));
    }
    // Who has closed the pipe does not want to know.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(Exit::Usage as u8) } else { ExitCode::SUCCESS }
}

/// Most commands wait for a server, and need a runtime. The others do not pay for one.
fn start(command: Command, output: &Arc<Output>) -> Result<(), Failure> {
    match command {
        Command::List(args) => wait(list::run(args, output)),
        Command::Call(args) => wait(call::run(args, output)),
        Command::Read(args) => wait(read::run(args, output)),
        Command::Prompt(args) => wait(prompt::run(args, output)),
        Command::Complete(args) => wait(complete::run(args, output)),
        Command::Listen(args) => wait(listen::run(args, output)),
        Command::Ping(args) => wait(ping::run(args, output)),
        Command::Discover(args) => wait(discover::run(args, output)),
        Command::Repl(args) => wait(repl::run(args, output)),
        Command::Run(args) => run_to_end(run::run(args, output)),
        Command::Tap(args) => tap::run(&args, output),
        Command::Replay(args) => replay::run(args, output),
        Command::Bench(args) => wait(bench::run(args, output)),
        Command::New(args) => new::run(&args, output),
        Command::Login(args) => wait(login::log_in(args, output)),
        Command::Logout(args) => wait(login::log_out(args, output)),
        Command::Install(args) => {
            written::hosts(output, |env, json, out| hosts::install(&hosts::InstallArgs { json, ..args }, env, out))
        }
        Command::Uninstall(args) => {
            written::hosts(output, |env, json, out| hosts::uninstall(&hosts::UninstallArgs { json, ..args }, env, out))
        }
        Command::Sync(args) => {
            written::hosts(output, |env, json, out| hosts::sync(&hosts::SyncArgs { json, ..args }, env, out))
        }
        Command::Servers(args) => {
            written::hosts(output, |env, json, out| hosts::servers(&hosts::ServersArgs { json, ..args }, env, out))
        }
        Command::Hosts(_) => {
            written::hosts(output, |env, json, out| hosts::hosts(&hosts::HostsArgs { json }, env, out))
        }
        Command::Doctor(args) => wait(doctor::run(args, output)),
        Command::Lint(args) => wait(lint::run(args, output)),
        Command::Pack(args) => pack::run(args, output),
        Command::PublishCheck(args) => written::bundle(output, |here, json, out| {
            bundle::publish_check(&bundle::PublishCheckArgs { json, ..args }, here, out)
        }),
        Command::Schema(args) => vocabulary::schema(&args, output),
        Command::Validate(args) => vocabulary::validate(args, output),
        Command::Rdf(args) => vocabulary::rdf(&args, output),
        Command::Demo(args) => run_to_end(demo::run(args, output)),
        Command::Completions(args) => completions::run(&args, output),
    }
}

/// Runs something that ends itself at a signal; if it does not, it is ended.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run_to_end(async {
        tokio::select! {
            outcome = work => outcome,
            signal = overdue() => Err(Failure::silent(signal.into())),
        }
    })
}

/// Runs something that serves, and knows itself how long it takes to end.
fn run_to_end<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::File, format!("nothing can be started: {e}")))?;
    let outcome = runtime.block_on(work);
    // Somebody may still be asked something that is of no use any more.
    runtime.shutdown_background();
    outcome
}
