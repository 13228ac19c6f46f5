//! Checks of member names: those that this host reads under other names, or not at all.

use super::Look;
use crate::{
    Entry,
    node::{Node, Value},
    shape::URLS,
};

/// Names for the same thing in different hosts.
const SAME: [(&[&str], &str); 3] = [
    (&["command", "cmd"], "the command"),
    (&["env", "envs", "environment"], "the variables"),
    (&["headers", "http_headers"], "the headers"),
];

pub(super) fn check(look: &mut Look<'_>) {
    let node = &look.server.node;
    let Ok(entry) = &look.server.entry else { return };
    let has_url = URLS.iter().copied().find(|key| node.get(key).is_some());
    let has_command = SAME[0].0.iter().any(|key| node.get(key).is_some());
    if let (true, Some(url)) = (has_command, has_url) {
        let what = format!("it has both a command and `{url}`, and hosts differ in which one they use");
        look.error("command-and-url", what, "keep one of them");
    }
    let data = look.host.data();
    let template = match entry {
        Entry::Stdio(_) => Some(&data.stdio),
        Entry::Remote(_) => data.http.as_ref(),
    };
    let Some(template) = template else {
        let what = format!("{} does not support URLs in this file", look.host.name());
        return look.error("no-remote", what, "use a bridge: the command `couplet`, with the arguments `run URL`");
    };
    for (names, what) in SAME {
        synonym(look, template, names, what);
    }
    not_text(look);
    if let Entry::Remote(_) = entry {
        url_key(look);
        kind(look);
    } else {
        command_shape(look, template);
    }
}

/// Reports numbers and booleans in place of strings. They are accepted here; hosts reject the entry, or the whole file.
fn not_text(look: &mut Look<'_>) {
    let node = &look.server.node;
    let args = ["args", "command", "cmd"].into_iter().filter_map(|key| node.get(key)?.as_list()).flatten();
    let values = SAME[1].0.iter().filter_map(|key| node.get(key)?.members()).flatten();
    let args: Vec<_> = args.filter_map(|item| Some((as_written(item)?, item.kind()))).collect();
    let values: Vec<_> = values.filter_map(|m| Some((m.key.clone(), as_written(&m.value)?, m.value.kind()))).collect();
    for (text, kind) in args {
        let what = format!("the argument `{text}` is {kind}, and arguments have to be strings");
        look.error("argument-not-text", what, format!("write `\"{text}\"`"));
    }
    for (name, text, kind) in values {
        let what = format!("the variable `{name}` is {kind}, and not every host accepts that");
        look.warning("value-not-text", what, format!("write `\"{text}\"`"));
    }
}

/// A number or a boolean as it is written.
fn as_written(node: &Node) -> Option<String> {
    match &node.value {
        Value::Number(raw) => Some(raw.clone()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Reports a member under a name that this host does not read.
fn synonym(look: &mut Look<'_>, template: &Node, names: &[&str], what: &str) {
    let Some(right) = names.iter().find(|key| template.get(key).is_some()) else { return };
    let Some(wrong) = names.iter().find(|key| *key != right && look.server.node.get(key).is_some()) else { return };
    let host = look.host.name();
    look.error("wrong-key", format!("{host} reads {what} from `{right}`, not from `{wrong}`"), rename(wrong, right));
}

fn url_key(look: &mut Look<'_>) {
    let data = look.host.data();
    let of = |template: &Option<Node>| template.as_ref().and_then(|t| key_of(t, "{url}")).map(str::to_owned);
    let right: Vec<_> = [of(&data.http), of(&data.sse)].into_iter().flatten().collect();
    let Some(used) = URLS.iter().copied().find(|key| look.server.node.get(key).is_some()) else { return };
    let is_known = right.iter().chain(&data.url_keys).any(|key| key == used);
    if let (false, Some(right)) = (is_known, right.first()) {
        let host = look.host.name();
        look.error("wrong-key", format!("{host} reads the URL from `{right}`, not from `{used}`"), rename(used, right));
    }
}

/// Reports a missing or unknown transport type, if this host has one.
fn kind(look: &mut Look<'_>) {
    let data = look.host.data();
    let templates = [Some(&data.stdio), data.http.as_ref(), data.sse.as_ref()];
    for key in ["type", "transport"] {
        let known: Vec<_> = templates.iter().flatten().filter_map(|t| t.get(key)?.as_text()).collect();
        let Some(usual) = data.http.as_ref().and_then(|t| t.get(key)?.as_text()) else { continue };
        let host = look.host.name();
        match look.server.node.get(key).map(|n| n.as_text().unwrap_or_default().to_owned()) {
            None => {
                let what = format!("it has a URL and no `{key}`, which {host} needs to choose the transport");
                look.warning("no-type", what, format!("add `{key}` with the value `{usual}`"));
            }
            Some(kind) if !known.contains(&kind.as_str()) => {
                let what = format!("`{key}` is `{kind}`, which {host} may not know");
                look.warning("unknown-type", what, format!("one of {} is known", quoted(&known)));
            }
            Some(_) => {}
        }
    }
}

/// Reports a command as a list where the host expects a string and `args`, and the reverse.
fn command_shape(look: &mut Look<'_>, template: &Node) {
    let node = &look.server.node;
    let Some(command) = node.get("command").or_else(|| node.get("cmd")) else { return };
    let wants_list = key_of(template, "{line}").is_some();
    let is_list = matches!(command.value, Value::List(_));
    let host = look.host.name();
    match (wants_list, is_list) {
        (true, false) => look.error(
            "wrong-key",
            format!("{host} expects the command and its arguments as one list"),
            "write `command` as a list, and remove `args`",
        ),
        (true, true) if node.get("args").is_some() => {
            look.error("wrong-key", format!("{host} does not support `args`"), "move them to `command`");
        }
        (false, true) => look.error(
            "wrong-key",
            format!("{host} expects the command as a string, with its arguments in `args`"),
            "write the first word as the command and the others as `args`",
        ),
        _ => {}
    }
}

fn key_of<'a>(template: &'a Node, word: &str) -> Option<&'a str> {
    template.members()?.iter().find(|m| m.value.as_text() == Some(word)).map(|m| m.key.as_str())
}

fn rename(from: &str, to: &str) -> String {
    format!("rename `{from}` to `{to}`")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
