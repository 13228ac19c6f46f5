//! The topics of `couplet help`: plain text of at most 80 columns.

use std::borrow::Cow;

use crate::exit;

/// A text about something that several commands share.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// One line for the list of topics.
    pub(crate) about: &'static str,
    text: Option<&'static str>,
}

pub(crate) const TOPICS: &[Topic] = &[
    Topic { name: "targets", about: "What TARGET can be", text: Some(include_str!("targets.txt")) },
    Topic { name: "arguments", about: "Arguments of tools and prompts", text: Some(include_str!("arguments.txt")) },
    Topic {
        name: "questions",
        about: "Servers that ask the user or a model",
        text: Some(include_str!("questions.txt")),
    },
    Topic { name: "revisions", about: "Revisions of the protocol", text: Some(include_str!("revisions.txt")) },
    Topic { name: "network", about: "Certificates, proxies, headers, limits", text: Some(include_str!("network.txt")) },
    Topic { name: "oauth", about: "Servers that require a login", text: Some(include_str!("oauth.txt")) },
    Topic { name: "configuration", about: "Files of hosts", text: Some(include_str!("configuration.txt")) },
    Topic { name: "environment", about: "Variables and files", text: Some(include_str!("environment.txt")) },
    Topic { name: "exit-codes", about: "Exit codes, and errors as JSON", text: None },
    Topic { name: "completion", about: "Completion in the shell", text: Some(include_str!("completion.txt")) },
];

impl Topic {
    /// Returns the topic with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.name == name)
    }

    /// Returns the text. That of exit codes is made of the table that the program uses.
    pub(crate) fn text(&self) -> Cow<'static, str> {
        self.text.map_or_else(|| Cow::Owned(exit::help() + "\n"), Cow::Borrowed)
    }
}

/// Formats the list of topics, for the help.
pub(crate) fn list() -> String {
    let lines = TOPICS.iter().map(|topic| format!("  couplet help {:<15}{}", topic.name, topic.about));
    format!("Topics:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::command::Cli;

    #[test]
    fn texts_fit_80_columns() {
        for topic in TOPICS {
            let text = topic.text();
            let wide: Vec<_> = text.lines().filter(|line| line.width() > 80).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", topic.name);
        }
    }

    /// Below "Examples:" each line is a command.
    #[test]
    fn examples_are_valid_command_lines() {
        let mut count = 0;
        for topic in TOPICS {
            let text = topic.text();
            let examples = text.split_once("Examples:\n").map_or("", |(_, examples)| examples);
            for example in examples.lines() {
                let words = shlex::split(example).expect("quotes are closed");
                let words = words.into_iter().take_while(|word| word != "#");
                // A variable of the environment that need not be there.
                let words = words.map(|word| if word == "API_KEY" { "API_KEY=1".to_owned() } else { word });
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("`{example}`: {error}");
                }
                count += 1;
            }
        }
        assert!(count > 10, "{count} examples");
    }

    #[test]
    fn topics_and_commands_have_different_names() {
        use clap::CommandFactory;
        let both = TOPICS.iter().find(|topic| Cli::command().find_subcommand(topic.name).is_some());
        assert!(both.is_none(), "{both:?}");
    }
}
