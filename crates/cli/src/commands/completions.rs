//! `couplet completions`: shell completion scripts.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{command::Cli, exit::Failure, output::Output};

/// The arguments of `couplet completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shell to generate the script for
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "couplet", &mut script);
    output.write(&script)
}
