//! `couplet __complete`: the candidates for a word, for the scripts of `couplet completions`.

use clap::ValueEnum;

use crate::{
    completion::{self, Candidates, line::split},
    exit::Failure,
    output::Output,
};

/// The arguments of `couplet __complete`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    shell: Shell,
    /// The words up to the cursor; for bash, the line and the characters that break words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints whether files fit, and then a line for each candidate.
pub(crate) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    let (found, lines) = match (args.shell, &*args.words) {
        (Shell::Bash, [line, breaks]) => in_bash(line, breaks),
        _ => {
            let found = completion::complete(&args.words);
            let line = |word: &completion::Candidate| match &*word.about {
                "" => word.value.clone(),
                about => format!("{}\t{about}", word.value),
            };
            let lines = found.words.iter().map(line).collect();
            (found, lines)
        }
    };
    let first = if found.files { "files" } else { "words" };
    output.print(&std::iter::once(first.to_owned()).chain(lines).map(|line| line + "\n").collect::<String>())
}

fn in_bash(line: &str, breaks: &str) -> (Candidates, Vec<String>) {
    let (words, start) = split(line);
    let found = completion::complete(words.get(1..).unwrap_or_default());
    let lines = completion::replacements(line, start, breaks, &found.words);
    (found, lines)
}
