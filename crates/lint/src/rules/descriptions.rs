//! Descriptions, titles and instructions.

use serde_json::Value;

use super::words::{doubles, words};
use crate::{
    Place, Subject, Surface,
    read::escaped,
    report::Report,
    rule::table,
    surface::{Item, Said},
};

table! { Descriptions:
    MISSING = "description-missing" Warning
        about "a tool has no description"
        why "It is all that the model knows about the tool and its use."
        fix "Say what the tool does, when to use it and what it returns."
    EMPTY = "description-empty" Error
        about "the description of a tool is empty"
        why "Amazon Bedrock rejects every request with such a tool (danny-avila/LibreChat#13209)."
        fix "Write a description, or leave the member out."
    SHORT = "description-short" Note
        about "the description of a tool says no more than its name"
        why "Models choose tools by their descriptions."
        fix "Say what the tool does, when to use it and what it returns."
    LONG = "description-long" Warning
        about "the description of a tool is longer than APIs and hosts accept"
        why "OpenAI models reject more than 1024 characters in chat completions (getsentry/sentry-mcp#106); Claude Code silently truncates it to 2048 (anthropics/claude-code#87650)."
        fix "Put what matters first, and the rest into the descriptions of arguments, resources or instructions."
    SAME = "description-same" Warning
        about "two tools have the same description"
        why "Nothing but their names tells the model which one to use."
        fix "Say in what they differ."
    ARGUMENT = "argument-undescribed" Warning
        about "an argument of a tool has no description"
        why "The model has to guess from the name the expected value and its format."
        fix "Add a `description` to the argument's schema."
    TITLE = "title-missing" Note
        about "a tool has no title"
        why "Hosts show it to users; the directories of Claude and ChatGPT require it (elgorro/aiquila#386)."
        fix "Add a `title`, and the same in `annotations`, where the directory of Claude looks (basicmachines-co/basic-memory#1031)."
    NO_INSTRUCTIONS = "instructions-missing" Note
        about "the server has no instructions"
        why "Hosts that load tools on demand, such as Claude Code, decide by them whether to search this server for tools."
        fix "Say in a few sentences what the server is for and when to use its tools."
    LONG_INSTRUCTIONS = "instructions-long" Warning
        about "the instructions are longer than hosts accept"
        why "Claude Code truncates them to 2048 characters (anthropics/claude-code#81268)."
        fix "Put what matters first, and details into descriptions."
}

const OPENAI: usize = 1024;
const CLAUDE_CODE: usize = 2048;

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let Some(said) = surface.newest() else { return };
    instructions(said, report);
    for tool in surface.tools() {
        description(tool, report);
        arguments(tool, report);
        if said.revision.has_titles() && !has_title(tool) {
            report.add(&TITLE, tool.place(), "there is no `title`");
        }
    }
    let told = |tool: &Item| tool.text("description").map(|text| words(text).join(" ")).filter(|t| !t.is_empty());
    for (tool, first) in doubles(surface.tools(), told) {
        report.add(&SAME, tool.at("/description"), format!("it is that of `{}`", first.name()));
    }
}

fn instructions(said: &Said, report: &mut Report<'_>) {
    let place = Place::new(Subject::Server).at("/instructions");
    match said.instructions().map(str::trim) {
        None | Some("") => report.add(&NO_INSTRUCTIONS, place, "there are no `instructions`"),
        Some(text) => {
            let length = text.chars().count();
            if length > CLAUDE_CODE {
                report.add(&LONG_INSTRUCTIONS, place, format!("they have {length} characters"));
            }
        }
    }
}

fn description(tool: &Item, report: &mut Report<'_>) {
    let Some(text) = tool.text("description") else {
        // A value that is not a string is reported by another rule.
        if tool.get("description").is_none() {
            report.add(&MISSING, tool.place(), "there is no `description`");
        }
        return;
    };
    let place = tool.at("/description");
    if text.trim().is_empty() {
        return report.add(&EMPTY, place, "`description` is empty");
    }
    let length = text.chars().count();
    if length > OPENAI {
        let cut = if length > CLAUDE_CODE { "; Claude Code shows the first 2048 to the model" } else { "" };
        return report.add(&LONG, place, format!("it has {length} characters{cut}"));
    }
    let (said, name) = (words(text), words(tool.name()));
    if said.len() < 2 || said.iter().all(|word| name.contains(word)) {
        report.add(&SHORT, place, format!("all it says is `{text}`"));
    }
}

fn arguments(tool: &Item, report: &mut Report<'_>) {
    let schema = tool.get("inputSchema");
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (name, argument) in properties.into_iter().flatten() {
        let told = argument.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
        // The target of a reference may have one; references have a rule of their own.
        if !told && argument.is_object() && argument.get("$ref").is_none() {
            let place = tool.at(format!("/inputSchema/properties/{}", escaped(name)));
            report.add(&ARGUMENT, place, format!("`{name}` has no `description`"));
        }
    }
}

fn has_title(tool: &Item) -> bool {
    let annotated = tool.get("annotations").and_then(|annotations| annotations.get("title"));
    let is_said = |title: &Value| title.as_str().is_some_and(|title| !title.trim().is_empty());
    tool.get("title").is_some_and(is_said) || annotated.is_some_and(is_said)
}
