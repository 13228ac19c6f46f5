//! The argument at the end of a command line.

use clap::{Arg, Command};

/// The place of the word that is being typed.
#[derive(Debug)]
pub(super) struct Position<'a> {
    /// The command that the words lead to.
    pub(super) command: &'a Command,
    pub(super) slot: Slot<'a>,
    /// The word, as far as it is typed.
    pub(super) typed: &'a str,
    /// The words for positional arguments before it.
    given: Vec<&'a str>,
    /// The values of options before it.
    options: Vec<(&'a Arg, &'a str)>,
}

/// The kind of a word.
#[derive(Debug)]
pub(super) enum Slot<'a> {
    /// An option: `--…`.
    Option,
    /// A subcommand, or a positional argument.
    Word(Option<&'a Arg>),
    /// The value of an option, after `--name=` if that is not empty.
    Value(&'a Arg, &'a str),
    /// A word of a command after `--`.
    Rest,
}

impl<'a> Position<'a> {
    /// Walks over the words, the last of which is being typed.
    pub(super) fn of(program: &'a Command, words: &'a [String]) -> Self {
        let (typed, before) = words.split_last().map_or(("", &[][..]), |(typed, before)| (typed.as_str(), before));
        let mut position =
            Self { command: program, slot: Slot::Word(None), typed, given: Vec::new(), options: Vec::new() };
        let (mut waiting, mut is_rest) = (None, false);
        for word in before {
            if let Some(arg) = waiting.take() {
                position.options.push((arg, word));
            } else if is_rest {
                // The words of another command.
            } else if word == "--" {
                is_rest = true;
            } else if word.starts_with('-') && word.len() > 1 {
                waiting = position.option(word);
            } else if let Some(command) = position.command.find_subcommand(word).filter(|_| position.given.is_empty()) {
                position.command = command;
            } else {
                position.given.push(word);
            }
        }
        position.slot = match (waiting, typed.split_once('=')) {
            (Some(arg), _) => Slot::Value(arg, ""),
            (None, _) if is_rest => Slot::Rest,
            (None, Some((name, _))) if name.starts_with("--") => match long(position.command, &name[2..]) {
                Some(arg) => Slot::Value(arg, &typed[..=name.len()]),
                None => Slot::Rest,
            },
            (None, _) if typed.starts_with('-') => Slot::Option,
            (None, _) => Slot::Word(positional(position.command, position.given.len())),
        };
        position
    }

    /// Returns the word that was given for a positional argument.
    pub(super) fn word(&self, id: &str) -> Option<&'a str> {
        let at = positionals(self.command).position(|arg| arg.get_id() == id)?;
        self.given.get(at).copied()
    }

    /// Returns the words that were given for the last positional argument, which takes several.
    pub(super) fn rest(&self) -> &[&'a str] {
        let before = positionals(self.command).count().saturating_sub(1);
        self.given.get(before..).unwrap_or_default()
    }

    /// Returns the last value of an option.
    pub(super) fn option_value(&self, name: &str) -> Option<&'a str> {
        self.options.iter().rev().find(|(arg, _)| arg.get_long() == Some(name)).map(|(_, value)| *value)
    }

    /// Reads an option, and returns it if its value is the next word.
    fn option(&mut self, word: &'a str) -> Option<&'a Arg> {
        if let Some(name) = word.strip_prefix("--") {
            let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            let arg = long(self.command, name)?;
            self.options.extend(value.map(|value| (arg, value)));
            return (takes_value(arg) && value.is_none()).then_some(arg);
        }
        // Several of one letter; the first that takes a value takes the rest of the word.
        let letters = word.char_indices().skip(1);
        for (at, letter) in letters {
            let arg = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
            if takes_value(arg) {
                let rest = &word[at + letter.len_utf8()..];
                if rest.is_empty() {
                    return Some(arg);
                }
                self.options.push((arg, rest));
                return None;
            }
        }
        None
    }
}

fn long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// The positional arguments before `--`.
fn positionals(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_positionals().filter(|arg| !arg.is_last_set())
}

fn positional(command: &Command, at: usize) -> Option<&Arg> {
    let last = positionals(command).last();
    let takes_several = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    positionals(command).nth(at).or_else(|| last.filter(takes_several))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::Cli;

    /// The words of a line, and what the last of them is.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut program = Cli::command();
        program.build();
        let position = Position::of(&program, &words);
        let slot = match position.slot {
            Slot::Option => "option".to_owned(),
            Slot::Rest => "rest".to_owned(),
            Slot::Word(arg) => arg.map_or("command".to_owned(), |arg| arg.get_id().to_string()),
            Slot::Value(arg, prefix) => format!("{prefix}{}", arg.get_id()),
        };
        assert_eq!(format!("{} {slot}", position.command.get_name()), expected, "{line}");
    }

    #[test]
    fn the_last_word_has_a_place() {
        check("", "couplet command");
        check("ca", "couplet command");
        check("call ", "call target");
        check("call srv ", "call tool");
        check("call srv add ", "call arguments");
        check("call srv add a=1 ", "call arguments");
        check("call srv --revision ", "call revision");
        check("call srv --revision 2025-11-25 ", "call tool");
        check("call --revision=20", "call --revision=revision");
        check("call -H x: srv ", "call tool");
        check("call -vH x: srv ", "call tool");
        check("call -eA=b srv ", "call tool");
        check("call -v --json srv ", "call tool");
        check("call srv -", "call option");
        check("--json call srv ", "call tool");
        check("generate rust ", "generate target");
        check("gateway pins ap", "pins command");
        check("tap --log x -- ls ", "tap rest");
        check("ping srv more ", "ping command");
    }

    #[test]
    fn what_was_given_is_known() {
        let words = ["call", "--cwd", "/tmp", "srv", "add", "a=1", "b=2", ""].map(str::to_owned);
        let mut program = Cli::command();
        program.build();
        let position = Position::of(&program, &words);
        assert_eq!((position.word("target"), position.word("tool")), (Some("srv"), Some("add")));
        assert_eq!(position.rest(), ["a=1", "b=2"]);
        assert_eq!(position.option_value("cwd"), Some("/tmp"));
    }
}
