//! `couplet completions`: scripts that complete commands and options in shells.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{command::Cli, exit::Failure, output::Output};

/// For which shell.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "couplet", &mut script);
    output.write(&script)
}
