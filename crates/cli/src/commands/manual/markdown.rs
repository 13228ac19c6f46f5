//! Markdown pages: one for each subcommand and topic, and an index.

use std::fmt::Write;

use clap::{Arg, Command};

use super::{
    name,
    parts::{HelpPart, after_help, long_about},
    shown, usage,
};
use crate::topics::{TOPICS, Topic};

/// Returns the pages with the names of their files.
pub(super) fn pages(program: &Command) -> Vec<(String, String)> {
    let page = |command: &Command| (format!("{}.md", command.get_name()), page(command));
    let topic = |topic: &Topic| {
        let text =
            format!("# {}\n\n`couplet help {}` prints:\n\n```text\n{}```", topic.about, topic.name, topic.text());
        (format!("{}.md", topic.name), finished(text))
    };
    let index = std::iter::once(("README.md".to_owned(), index(program)));
    index.chain(shown(program).map(page)).chain(TOPICS.iter().map(topic)).collect()
}

fn index(program: &Command) -> String {
    let mut page = format!("# couplet\n\n{}.\n\n", about(program));
    write_parts(&mut page, &long_about(program));
    page.push_str("| command | |\n|---|---|\n");
    for command in shown(program) {
        let name = command.get_name();
        let _ = writeln!(page, "| [`{name}`]({name}.md) | {} |", cell(&about(command)));
    }
    page.push_str("\n| topic | |\n|---|---|\n");
    for topic in TOPICS {
        let _ = writeln!(page, "| [`{0}`]({0}.md) | {1} |", topic.name, topic.about);
    }
    page.push('\n');
    write_arguments(&mut page, program, "##");
    let is_topics = |part: &HelpPart| matches!(part, HelpPart::Block(heading, _) if heading == "Topics");
    write_parts(&mut page, &after_help(program).into_iter().filter(|part| !is_topics(part)).collect::<Vec<_>>());
    finished(page)
}

fn page(command: &Command) -> String {
    let mut page = String::new();
    write_command(&mut page, command, 1);
    finished(page)
}

fn write_command(page: &mut String, command: &Command, level: usize) {
    let marks = "#".repeat(level);
    let _ = write!(page, "{marks} {}\n\n{}.\n\n```text\n{}\n```\n\n", name(command), about(command), usage(command));
    write_parts(page, &long_about(command));
    write_arguments(page, command, &format!("{marks}#"));
    write_parts(page, &after_help(command));
    for command in shown(command) {
        write_command(page, command, level + 1);
    }
}

/// Lists arguments and options below their headings, in the order of the help. Those of every command are on the index.
fn write_arguments(page: &mut String, command: &Command, marks: &str) {
    let all: Vec<&Arg> = command.get_arguments().filter(|arg| is_shown(arg, command)).collect();
    let mut headings = Vec::new();
    for arg in &all {
        let heading = heading(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings.sort_by_key(|heading| match *heading {
        "Arguments" => 0,
        "Options" => 1,
        _ => 2,
    });
    for wanted in headings {
        let _ = write!(page, "{marks} {wanted}\n\n");
        for arg in all.iter().filter(|arg| heading(arg) == wanted) {
            write_argument(page, arg);
        }
        page.push('\n');
    }
}

fn is_shown(arg: &Arg, command: &Command) -> bool {
    let everywhere = arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
    let is_on_index = everywhere && name(command).contains(' ');
    !arg.is_hide_set() && !is_on_index
}

fn heading(arg: &Arg) -> &str {
    arg.get_help_heading().unwrap_or(if arg.is_positional() { "Arguments" } else { "Options" })
}

fn write_argument(page: &mut String, arg: &Arg) {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut form = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    if arg.is_positional() {
        form = arg.to_string();
    } else if arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default();
        let _ = write!(form, " <{}>", names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join("> <"));
    }
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "- `{form}`: {}", escaped(&help.replace('\n', " ")));
    let values = arg.get_possible_values();
    let values: Vec<&str> = values.iter().filter(|v| !v.is_hide_set()).map(|value| value.get_name()).collect();
    if arg.get_action().takes_values() && !values.is_empty() && !arg.is_hide_possible_values_set() {
        let _ = write!(page, " (`{}`)", values.join("`, `"));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(page, " [default: `{}`]", defaults.join(" "));
    }
    page.push('\n');
}

fn write_parts(page: &mut String, parts: &[HelpPart]) {
    for part in parts {
        let _ = match part {
            HelpPart::Prose(text) => write!(page, "{}\n\n", escaped(text)),
            HelpPart::Block(heading, lines) => {
                let language = if heading == "Examples" { "sh" } else { "text" };
                write!(page, "{heading}:\n\n```{language}\n{}\n```\n\n", lines.join("\n"))
            }
        };
    }
}

fn about(command: &Command) -> String {
    escaped(&command.get_about().map(ToString::to_string).unwrap_or_default())
}

/// Escapes the characters of a help text that Markdown takes for itself. Text between backticks stays.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut is_code = false;
    for c in text.chars() {
        is_code ^= c == '`';
        if !is_code && matches!(c, '*' | '<' | '>' | '_' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn finished(page: String) -> String {
    format!("{}\n", page.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_taken_for_markup() {
        assert_eq!(escaped("KEY[=VALUE], `a*b` and *"), "KEY\\[=VALUE\\], `a*b` and \\*");
    }
}
