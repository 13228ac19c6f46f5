//! Names of tools and of the server.

use std::collections::HashMap;

use super::words::{doubles, lookalike, words};
use crate::{
    Place, Subject, Surface,
    report::Report,
    rule::table,
    surface::{Item, Kind},
};

table! { Names:
    MISSING = "name-missing" Error
        about "a tool has no name"
        why "The specification requires one, and clients built on the official TypeScript SDK reject the whole list."
        fix "Give the tool a name."
    CHARACTERS = "name-characters" Error
        about "the name of a tool has characters that it should not have"
        why "The specification allows ASCII letters, digits, `_`, `-` and `.`; the Anthropic and OpenAI APIs reject others, and VS Code calls a tool that does not exist (microsoft/vscode#244995)."
        fix "Use ASCII letters, digits, `_` and `-`."
    DOTS = "name-dots" Error
        about "the name of a tool has a dot"
        why "The specification allows it, but Claude Desktop rejects the whole list (l22-io/orchard-mcp#14), and so does the OpenAI API, in Codex too (openai/codex#8174)."
        fix "Use `_` or `-` instead."
    LENGTH = "name-length" Error
        about "the name of a tool is longer than model APIs accept"
        why "The specification allows 128 characters, but the OpenAI API and the Anthropic API, in Claude Desktop and for tool search, accept 64 (anthropics/claude-code#19882)."
        fix "Use at most 64 characters; hosts prepend the name of the server."
    PREFIXED = "name-with-prefix" Warning
        about "the name of a tool is too long together with the server's"
        why "Claude Code calls a tool `mcp__SERVER__TOOL` and has 64 characters for it (anthropics/claude-code#22276); Cursor leaves out tools from 60 characters of both names on (ComposioHQ/composio#2788)."
        fix "Shorten the name of the tool, or have the server configured under a shorter name."
    SHORTENED = "name-shortened-alike" Warning
        about "two tools have the same name once a host has shortened it"
        why "Gemini CLI shortens a long name to its first and last 30 characters; the second tool replaces the first (google-gemini/gemini-cli#28970)."
        fix "Shorten the names."
    START = "name-start" Warning
        about "the name of a tool does not begin with a letter or `_`"
        why "The Gemini API rejects such a name if the host adds no prefix (wonderwhy-er/DesktopCommanderMCP#79)."
        fix "Begin the name with a letter."
    DUPLICATE = "name-duplicate" Error
        about "two tools have the same name"
        why "The Anthropic API rejects every request with both of them (baguskto/threads-mcp#2); other clients drop one."
        fix "Give each tool a name of its own."
    ALIKE = "name-alike" Warning
        about "the names of two tools differ only in case, in separators or in characters that look alike"
        why "Models confuse them, users approve the wrong one, and hosts that replace characters make them the same."
        fix "Choose names that are easy to distinguish."
    GENERIC = "name-generic" Note
        about "the name of a tool is one common word"
        why "Other servers have tools of that name: Windsurf rejects a second one (cajasmota/grafel#62), and elsewhere one hides the other (getsentry/sentry-mcp#161)."
        fix "Say what it acts on: `search_issues` instead of `search`."
    RESERVED = "name-reserved" Warning
        about "the name of a tool is reserved in hosts"
        why "Hosts in JavaScript that store tools in an object find `constructor` there before the tool, and `mcp__` is the prefix of the names that hosts generate."
        fix "Choose another name."
    SERVER = "server-name-missing" Error
        about "the server has no name"
        why "The specification requires one, and hosts show it to users who decide whether to trust the server."
        fix "Give the server a name."
}

const LONGEST: usize = 64;
const GENERIC_NAMES: [&str; 16] = [
    "call", "create", "delete", "describe", "execute", "get", "help", "info", "list", "query", "read", "run", "status",
    "test", "update", "write",
];
const RESERVED_NAMES: [&str; 5] = ["__proto__", "constructor", "hasownproperty", "prototype", "tostring"];

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let Some(said) = surface.newest() else { return };
    // An answer without server information at all is reported by another rule.
    if said.info.as_ref().is_some_and(|info| info.name.trim().is_empty()) {
        report.add(&SERVER, Place::new(Subject::Server), "`name` is empty");
    }
    let own = said.info.as_ref().map(|info| info.name.clone());
    let server = report.config.name.clone().or(own).unwrap_or_default();
    for tool in surface.tools() {
        one(tool, &server, report);
    }
    several(surface.items(Kind::Tools), &server, report);
}

fn one(tool: &Item, server: &str, report: &mut Report<'_>) {
    let name = tool.name();
    let place = || tool.at("/name");
    if name.is_empty() {
        return report.add(&MISSING, place(), "`name` is missing, empty or not a string");
    }
    let length = name.chars().count();
    if let Some(c) = name.chars().find(|c| !c.is_ascii_alphanumeric() && !"_-.".contains(*c)) {
        report.add(&CHARACTERS, place(), format!("the name `{name}` has {c:?}"));
    } else if name.contains('.') {
        report.add(&DOTS, place(), format!("the name is `{name}`"));
    }
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        report.add(&START, place(), format!("the name is `{name}`"));
    }
    if length > LONGEST {
        report.add(&LENGTH, place(), format!("the name has {length} characters"));
    } else {
        prefixed(tool, server, length, report);
    }
    let lower = name.to_lowercase();
    if RESERVED_NAMES.contains(&&*lower) || lower.starts_with("mcp__") {
        report.add(&RESERVED, place(), format!("the name is `{name}`"));
    } else if GENERIC_NAMES.contains(&&*lower) {
        report.add(&GENERIC, place(), format!("the name is `{name}`"));
    }
}

fn prefixed(tool: &Item, server: &str, length: usize, report: &mut Report<'_>) {
    let whole = "mcp__".len() + server.chars().count() + "__".len() + length;
    if whole > LONGEST {
        let what = format!("with the server's name, `{server}`, it has {whole} characters in Claude Code");
        report.add(&PREFIXED, tool.at("/name"), what);
    }
}

fn several(tools: &[Item], server: &str, report: &mut Report<'_>) {
    let present = |tool: &Item| Some(tool.name().to_owned()).filter(|name| !name.is_empty());
    for (tool, first) in doubles(tools, present) {
        report.add(&DUPLICATE, tool.at("/name"), format!("another tool is called `{}` too", first.name()));
    }
    for (tool, first) in doubles(tools, |tool| present(tool).map(|name| skeleton(&name))) {
        if tool.name() != first.name() {
            report.add(&ALIKE, tool.at("/name"), format!("`{}` looks like `{}`", tool.name(), first.name()));
        }
    }
    let mut shortened: HashMap<String, &str> = HashMap::new();
    for tool in tools {
        let Some(short) = in_gemini(server, tool.name()) else { continue };
        match shortened.insert(short, tool.name()) {
            Some(other) if other != tool.name() => {
                report.add(&SHORTENED, tool.at("/name"), format!("`{}` and `{other}` become one", tool.name()));
            }
            _ => {}
        }
    }
}

/// A name without differences that are easy to overlook: case, separators, and lookalike characters.
fn skeleton(name: &str) -> String {
    let letters = name.chars().map(|c| match lookalike(c).unwrap_or(c) {
        '0' => 'o',
        '1' | 'I' => 'l',
        c => c,
    });
    words(&letters.collect::<String>().to_lowercase()).concat()
}

/// The name in Gemini CLI, if it is shortened there.
fn in_gemini(server: &str, tool: &str) -> Option<String> {
    let name: Vec<char> = format!("mcp_{server}_{tool}").chars().collect();
    let parts = (name.len() > 63).then(|| [&name[..30], &name[name.len() - 30..]]);
    parts.map(|parts| parts.concat().into_iter().collect())
}
