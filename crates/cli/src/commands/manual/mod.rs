//! `couplet manual`: the man pages, completion scripts and Markdown pages, generated from the command line's definition.
//!
//! It is for packages, and hidden. It knows clap's description of the program, and no command in particular.

mod man;
mod markdown;
mod parts;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory};

use super::completions;
use crate::{command::Cli, exit::Failure, output::Output};

/// The arguments of `couplet manual`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Directory to write to: man/man1 and completions are created in it
    dir: PathBuf,
    /// Write Markdown pages instead, directly into the directory
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    if args.markdown {
        let pages = markdown::pages(&program);
        return save(&args.dir, pages.into_iter().map(|(name, page)| (name, page.into_bytes())), output);
    }
    save(&args.dir.join("man/man1"), man::pages(&program)?, output)?;
    save(&args.dir.join("completions"), completions::files(), output)
}

/// Writes files into a directory, which is created, and prints their paths.
fn save(folder: &Path, files: impl IntoIterator<Item = (String, Vec<u8>)>, output: &Output) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure::file(folder, "created", &e))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|e| Failure::file(&path, "written", &e))?;
        output.print(&format!("{}\n", path.display()))?;
    }
    Ok(())
}

/// The subcommands that are shown in the help.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// The name of a command with those of the commands above it: `couplet gateway check`.
fn name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

/// The lines of the usage, without the word "Usage" and the space in its place.
fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
