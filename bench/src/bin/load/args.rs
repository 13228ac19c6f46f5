//! The command line: `--name value`, and a command after `--`.

use std::{collections::BTreeMap, str::FromStr};

use crate::Failure;

/// The options of a run, and the server command.
pub(crate) struct Args {
    options: BTreeMap<String, String>,
    pub(crate) command: Vec<String>,
}

impl Args {
    pub(crate) fn new(mut words: impl Iterator<Item = String>) -> Self {
        let mut options = BTreeMap::new();
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            options.insert(word.trim_start_matches("--").to_owned(), words.next().unwrap_or_default());
        }
        Self { options, command: words.collect() }
    }

    /// Returns an option, if given.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Returns a required option.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Failure> {
        self.text(name).ok_or_else(|| format!("`--{name}` is missing").into())
    }

    /// Returns a number, or its default.
    pub(crate) fn number<T: FromStr>(&self, name: &str, otherwise: T) -> Result<T, Failure> {
        match self.text(name) {
            None => Ok(otherwise),
            Some(text) => text.parse().map_err(|_| format!("`--{name}` wants a number").into()),
        }
    }
}
