//! Completion of command lines in the shell: `couplet __complete`, which the scripts of `couplet completions` call.
//!
//! * `position` finds the argument that is being typed, from clap's description of the program.
//! * `values` has its candidates; for tools, prompts and resources they come from `lists`.
//! * `lists` stores what servers offered last, and asks one again where that can surprise nobody.
//! * `offered` and `line` are shared with `couplet repl`.
//!
//! Invariants: nothing is started, nothing is asked at the terminal, and a failure is no candidates.

mod bash;
pub(crate) mod line;
pub(crate) mod lists;
pub(crate) mod offered;
mod position;
mod values;

use clap::CommandFactory;

pub(crate) use bash::replacements;

use crate::{command::Cli, output::text};

/// The width of descriptions.
const ABOUT: usize = 60;

/// A word that could be typed, and a description of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) value: String,
    pub(crate) about: String,
}

/// The candidates for the word that is being typed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) words: Vec<Candidate>,
    /// Whether it can be a file.
    pub(crate) files: bool,
}

impl Candidate {
    fn new(value: impl Into<String>, about: Option<&str>) -> Self {
        Self { value: value.into(), about: text::first_line(about.unwrap_or_default()) }
    }

    fn plain(value: impl Into<String>) -> Self {
        Self::new(value, None)
    }
}

/// Returns the candidates for the last word. The name of the program is not among the words.
///
/// Those with characters that a terminal does not show, or that end a line, are left out: they come from servers.
pub(crate) fn complete(words: &[String]) -> Candidates {
    let mut program = Cli::command();
    program.build();
    let position = position::Position::of(&program, words);
    let mut found = values::of(&position);
    let is_plain = |text: &str| text::visible(text) == text && !text.contains(['\n', '\t']);
    let typed = words.last().map_or("", String::as_str);
    found.words.retain(|word| word.value.starts_with(typed) && is_plain(&word.value));
    for word in &mut found.words {
        word.about = text::cut(&text::line(&word.about).replace('\t', " "), ABOUT).into_owned();
    }
    found
}
