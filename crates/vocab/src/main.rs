//! The commands of this crate as a program of their own.

use std::{
    io::{self, BufWriter, IsTerminal},
    process::ExitCode,
};

use clap::Parser;
use couplet_vocab::cli::{Command, Terminal};

/// The Model Context Protocol as JSON Schema, JSON-LD and RDF, and a validator.
#[derive(Debug, Parser)]
#[command(name = "couplet-vocab", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let stdout = io::stdout();
    let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (mut input, mut out, mut err) = (io::stdin().lock(), BufWriter::new(stdout.lock()), io::stderr().lock());
    let terminal = Terminal::new(&mut input, &mut out, &mut err);
    let mut terminal = if colour { terminal.coloured() } else { terminal };
    let code = cli.command.run(&mut terminal);
    // What is still in the buffer is written here; if nobody reads any more, nobody misses it.
    drop(io::Write::flush(&mut out));
    ExitCode::from(code)
}
