//! `couplet completions`: shell completion scripts.
//!
//! Those for bash, zsh and fish ask the program (`couplet __complete`), which knows servers and their tools. The others
//! are generated, and have commands and options.

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell};

use crate::{command::Cli, exit::Failure, output::Output};

/// The arguments of `couplet completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shell to generate the script for
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    output.write(&script(args.shell))
}

/// Returns the scripts of all shells, with the names that their files have.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    Shell::value_variants().iter().map(|shell| (shell.file_name("couplet"), script(*shell))).collect()
}

fn script(shell: Shell) -> Vec<u8> {
    match shell {
        Shell::Bash => include_bytes!("shells/couplet.bash").to_vec(),
        Shell::Zsh => include_bytes!("shells/_couplet").to_vec(),
        Shell::Fish => include_bytes!("shells/couplet.fish").to_vec(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "couplet", &mut script);
            script
        }
    }
}
