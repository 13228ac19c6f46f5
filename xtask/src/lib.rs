//! The chores of this workspace, as commands of `cargo xtask`: one file each.
//!
//! This crate knows the layout of the workspace and the tools that look at it. It must not depend on the crates that it
//! checks: `cargo xtask tidy` works while they do not compile.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

mod bench;
mod book;
mod browser;
mod ci;
mod cluster;
#[cfg(target_os = "linux")]
mod command;
mod conformance;
mod corpus;
mod debian;
mod dist;
mod full;
mod fuzz;
mod gateway;
mod generate;
mod group;
mod grow;
mod interop;
mod manual;
mod openapi;
mod optimized;
mod skipped;
mod source;
mod starter;
pub mod tidy;
mod weight;
mod workspace;

use std::process::ExitCode;

/// Why a command did not succeed, in a sentence.
type Failure = String;

struct Command {
    name: &'static str,
    usage: &'static str,
    what: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "ci",
        usage: "ci [step..]",
        what: "everything that CI runs, in its order, or some steps of it",
        run: ci::run,
    },
    Command {
        name: "full",
        usage: "full [--base REV] [--every-mutant] [step..]",
        what: "the release gate: checks that are too heavy for CI, or some of them",
        run: full::run,
    },
    Command {
        name: "tidy",
        usage: "tidy",
        what: "the invariants of the workspace that no compiler checks",
        run: tidy::run,
    },
    Command {
        name: "book",
        usage: "book",
        what: "the guide and the manual as a book in target/book, built where mdbook is installed",
        run: book::run,
    },
    Command {
        name: "manual",
        usage: "manual [--man DIR]",
        what: "the pages of docs/manual, written anew; --man: DIR/man/man1/*.1 and DIR/completions/*, as `couplet manual DIR` does",
        run: manual::run,
    },
    Command {
        name: "dist",
        usage: "dist [option..]",
        what: "packages of `couplet`: archive, Debian, npm, PyPI; --try, --quick, --profile NAME, --binary PATH, --out DIR",
        run: dist::run,
    },
    Command {
        name: "order",
        usage: "order",
        what: "the functions that `couplet` calls, recorded for the linker; before a release, and with a new compiler",
        run: optimized::order::run,
    },
    Command { name: "weight", usage: "weight", what: "the dependencies of a small stdio server", run: weight::run },
    Command {
        name: "grow",
        usage: "grow [revision|method]",
        what: "a new revision and a new method in a copy of the workspace: each place of their recipes must complain",
        run: grow::run,
    },
    Command {
        name: "corpus",
        usage: "corpus [mutations]",
        what: "the fuzz targets over their seeds and as many mutations of them, the same every time",
        run: corpus::run,
    },
    Command {
        name: "fuzz",
        usage: "fuzz [seconds] [target]",
        what: "the fuzz targets by coverage, where cargo-fuzz and a nightly toolchain are to be had",
        run: fuzz::run,
    },
    Command {
        name: "conformance",
        usage: "conformance [option..]",
        what: "the official conformance suite, strictly counted; --debug, --only, --through-gateway, --quick",
        run: conformance::run,
    },
    Command {
        name: "interop",
        usage: "interop [peer..]",
        what: "Couplet with other SDKs as peers, in both roles: Python and TypeScript v1 and v2, rmcp",
        run: interop::run,
    },
    Command {
        name: "openapi",
        usage: "openapi [--debug | compare [NAME..] [--write]]",
        what: "real OpenAPI documents of npm packages as tools: no lint error, and fast enough; a foreign client of them; compare: beside other programs",
        run: openapi::run,
    },
    Command {
        name: "generate",
        usage: "generate",
        what: "clients that `couplet generate` makes of real servers, compiled and run in each language",
        run: generate::run,
    },
    Command {
        name: "browser",
        usage: "browser [--built] [word..]",
        what: "the inspector's page in Chromium: what a user does, and what must be seen then",
        run: browser::run,
    },
    Command {
        name: "screenshots",
        usage: "screenshots [--built] [folder]",
        what: "pictures of the inspector's panels, in light and dark, wide and narrow",
        run: browser::screenshots,
    },
    Command {
        name: "cluster",
        usage: "cluster [part..]",
        what: "three replicas behind haproxy on Redis, which are killed and restarted; scenarios, everything, peers, peers-rolling, peers-everything, chaos, outage; bench [--write]",
        run: cluster::run,
    },
    Command {
        name: "bench",
        usage: "bench [gateway|inspector|middleware] [option..]",
        what: "how fast it is, beside its peers; --quick, --only, --suite, --rounds, --write, --check, --record",
        run: bench::run,
    },
    #[cfg(target_os = "linux")]
    Command {
        name: "bench-command",
        usage: "bench-command",
        what: "the processor time of `couplet --help` and `couplet list`",
        run: command::run,
    },
];

/// Runs the command that the arguments name. Wrong usage is exit code 2, a failed command 1.
pub fn run(arguments: &[String]) -> ExitCode {
    let (name, rest) = match arguments.split_first() {
        None => ("help", [].as_slice()),
        Some((name, rest)) => (name.as_str(), rest),
    };
    if matches!(name, "help" | "--help" | "-h") {
        println!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        println!("xtask: there is no command `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("xtask {name}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let lines = COMMANDS.iter().map(|c| format!("  {:<28}{}", c.usage, c.what));
    format!("Usage: cargo xtask <command>\n\nCommands:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
