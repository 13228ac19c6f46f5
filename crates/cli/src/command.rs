//! The command line: all subcommands.

use std::{process::ExitCode, sync::Arc};

use clap::{Parser, Subcommand};
use couplet_bundle::cli as bundle;
use couplet_hosts::cli as hosts;
use couplet_serve::LogFormat;
use tokio::runtime::{Builder, Runtime};

use crate::{
    commands::{
        bench, call, card, complete, completions, demo, discover, doctor, gateway, generate, help as about, inspect,
        lint, list, listen, lock, login, manual, new, openapi, pack, ping, prompt, read, repl, replay, run, tap, test,
        vocabulary, words, written,
    },
    exit::{self, Exit, Failure},
    help, logs,
    output::{Colour, Look, Output},
    target::overdue,
    topics,
};

/// Command-line client for Model Context Protocol (MCP) servers
#[derive(Debug, Parser)]
#[command(
    name = "couplet",
    version,
    long_about = help::ABOUT,
    after_help = help::COUPLET,
    after_long_help = format!("{}\n\n{}\n\n{}", help::COUPLET, topics::list(), exit::help()),
    disable_help_subcommand = true,
    max_term_width = 80
)]
pub(crate) struct Cli {
    #[command(flatten)]
    look: Look,
    #[command(subcommand)]
    command: Command,
}

/// A subcommand. Its arguments are in the module of the same name.
#[derive(Debug, Subcommand)]
enum Command {
    /// List what a server offers
    #[command(after_help = help::LIST)]
    List(list::Args),
    /// Call a tool
    #[command(after_help = help::CALL)]
    Call(call::Args),
    /// Read a resource
    #[command(after_help = help::READ)]
    Read(read::Args),
    /// Get a prompt
    #[command(after_help = help::PROMPT)]
    Prompt(prompt::Args),
    /// Complete an argument of a prompt or resource template
    #[command(after_help = help::COMPLETE)]
    Complete(complete::Args),
    /// Print change notifications as they arrive
    #[command(after_help = help::LISTEN)]
    Listen(listen::Args),
    /// Check that a server responds, and how fast
    Ping(ping::Args),
    /// Show a server's name, revisions and capabilities
    Discover(discover::Args),
    /// Show a server's card (a draft), or make one
    #[command(after_help = help::CARD)]
    Card(card::Args),
    /// Open an interactive session with a server
    Repl(repl::Args),
    /// Bridge a server to stdio or HTTP, in every protocol revision
    #[command(after_help = help::RUN)]
    Run(Box<run::Args>),
    /// Serve many servers as one, from a configuration file
    #[command(after_help = help::GATEWAY)]
    Gateway(Box<gateway::Args>),
    /// Serve a REST API as tools, from an OpenAPI document
    #[command(after_help = help::OPENAPI)]
    Openapi(Box<openapi::Args>),
    /// Inspect servers in the browser
    #[command(after_help = help::INSPECT)]
    Inspect(Box<inspect::Args>),
    /// Record the messages between a host and a stdio server
    #[command(after_help = help::TAP)]
    Tap(tap::Args),
    /// Replay a recording, as the server or against a server
    #[command(after_help = help::REPLAY)]
    Replay(replay::Args),
    /// Measure the latency and throughput of a server
    #[command(after_help = help::BENCH)]
    Bench(bench::Args),
    /// Approve what a server offers, for --locked
    #[command(after_help = help::LOCK)]
    Lock(lock::Args),
    /// Generate a typed client in Rust, TypeScript or Python
    #[command(after_help = help::GENERATE)]
    Generate(generate::Args),
    /// Create a server project in Rust
    #[command(after_help = help::NEW)]
    New(new::Args),
    /// Log in to a server with OAuth
    #[command(after_help = help::LOGIN)]
    Login(login::Args),
    /// Log out, and revoke the tokens
    Logout(login::OutArgs),
    /// Add a server to hosts, such as Claude, Cursor or VS Code
    #[command(after_help = help::INSTALL)]
    Install(hosts::InstallArgs),
    /// Remove a server from hosts
    Uninstall(hosts::UninstallArgs),
    /// Copy servers from one host to others
    #[command(after_help = help::SYNC)]
    Sync(hosts::SyncArgs),
    /// List the servers configured in hosts on this machine
    Servers(hosts::ServersArgs),
    /// List the supported hosts and their configuration files
    Hosts(hosts::HostsArgs),
    /// Diagnose servers that do not start or connect
    #[command(after_help = help::DOCTOR)]
    Doctor(doctor::Args),
    /// Check a server for what hosts and model APIs reject
    #[command(after_help = help::LINT)]
    Lint(lint::Args),
    /// Run calls from files, and check their results
    #[command(after_help = help::TEST)]
    Test(test::Args),
    /// Build a bundle (.mcpb) for one-click installation
    #[command(after_help = help::PACK)]
    Pack(pack::Args),
    /// Check `server.json` against the rules of the registry
    PublishCheck(bundle::PublishCheckArgs),
    /// Print the JSON Schema of the protocol or of a type
    Schema(vocabulary::SchemaArgs),
    /// Validate messages in JSON, JSON Lines, recordings or Markdown
    #[command(after_help = help::VALIDATE)]
    Validate(vocabulary::ValidateArgs),
    /// Convert messages to RDF: Turtle, N-Triples, TriG, JSON-LD
    Rdf(vocabulary::RdfArgs),
    /// Serve a demo server over HTTP
    Demo(demo::Args),
    /// Generate a shell completion script
    #[command(after_help = help::COMPLETIONS)]
    Completions(completions::Args),
    /// Print a topic, or the help of a command
    #[command(after_help = topics::list())]
    Help(about::Args),
    /// Print the candidates for a word, for the completion scripts
    #[command(name = "__complete", hide = true)]
    Words(words::Args),
    /// Write the man pages and completion scripts to a directory
    #[command(hide = true)]
    Manual(manual::Args),
}

impl Command {
    /// Whether the command serves over HTTP.
    fn serves(&self) -> bool {
        match self {
            Self::Run(args) => args.is_http(),
            Self::Gateway(args) => args.serves(),
            Self::Openapi(args) => args.is_http(),
            Self::Demo(_) => true,
            _ => false,
        }
    }
}

impl Command {
    /// Whether the command reports by itself which servers failed.
    fn inspects(&self) -> bool {
        match self {
            Self::Gateway(args) => args.inspects(),
            Self::Call(_) | Self::Lock(_) => true,
            _ => false,
        }
    }
}

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    let Cli { look, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let output = Arc::new(Output::new(look));
    logs::start(look, command.serves(), command.inspects(), &output);
    match start(command, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.report(&output)),
    }
}

/// Prints help and usage errors: those with `--json` as JSON, all others as clap formats them.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let text = error.render().to_string();
        let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let message = first.join(" ").trim_start_matches("error: ").to_owned();
        let look = Look { json: true, verbose: false, color: Colour::Never, log_format: LogFormat::Text };
        return ExitCode::from(Failure::usage(message).report(&Output::new(look)));
    }
    // A closed pipe is not an error here.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(Exit::Usage as u8) } else { ExitCode::SUCCESS }
}

/// Runs a command. A runtime is started only for commands that connect to a server.
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
        Command::Card(args) => wait(card::run(args, output)),
        Command::Repl(args) => wait(repl::run(args, output)),
        Command::Run(args) => args.threads().run_to_end(run::run(*args, output)),
        Command::Gateway(args) => gateway::run(*args, output),
        Command::Openapi(args) => args.threads().run_to_end(openapi::run(*args, output)),
        Command::Inspect(args) => inspect::run(*args, output),
        Command::Tap(args) => tap::run(&args, output),
        Command::Replay(args) => replay::run(args, output),
        Command::Bench(args) => wait(bench::run(args, output)),
        Command::Lock(args) => wait(lock::run(args, output)),
        Command::Generate(args) => wait(generate::run(args, output)),
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
        Command::Test(args) => wait(test::run(args, output)),
        Command::Pack(args) => pack::run(args, output),
        Command::PublishCheck(args) => written::bundle(output, |here, json, out| {
            bundle::publish_check(&bundle::PublishCheckArgs { json, ..args }, here, out)
        }),
        Command::Schema(args) => vocabulary::schema(&args, output),
        Command::Validate(args) => vocabulary::validate(args, output),
        Command::Rdf(args) => vocabulary::rdf(&args, output),
        Command::Demo(args) => run_to_end(demo::run(args, output)),
        Command::Completions(args) => completions::run(&args, output),
        Command::Help(args) => about::run(&args, output),
        Command::Words(args) => words::run(&args, output),
        Command::Manual(args) => manual::run(&args, output),
    }
}

/// Runs a future that stops at a signal by itself, and stops it if it does not.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run_to_end(async {
        tokio::select! {
            outcome = work => outcome,
            signal = overdue() => Err(Failure::silent(signal.into())),
        }
    })
}

/// Runs a future that handles signals and its own graceful shutdown.
pub(crate) fn run_to_end<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    finish(runtime.map_err(|error| cannot_start(&error))?, work)
}

/// The failure of a command without a runtime.
pub(crate) fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::new(Exit::File, format!("cannot start the async runtime: {error}"))
}

/// Runs a future on a runtime, which ends with it.
pub(crate) fn finish<T>(runtime: Runtime, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let outcome = runtime.block_on(work);
    // A prompt at the terminal may still block a thread; its answer is no longer needed.
    runtime.shutdown_background();
    outcome
}
