//! Checks of values: placeholders, unset variables, and secrets.

use super::Look;
use crate::{Entry, Part};

/// Placeholders from examples.
const PLACEHOLDERS: [&str; 13] = [
    "your-api-key",
    "your_api_key",
    "your-token",
    "your_token",
    "yourtoken",
    "yourapikey",
    "changeme",
    "change-me",
    "replace_me",
    "replace-me",
    "xxxx",
    "/path/to/",
    "path\\to\\",
];

/// Substrings in the names of variables and headers that hold secrets.
const SECRETS: [&str; 9] =
    ["token", "secret", "password", "passwd", "api_key", "apikey", "api-key", "authorization", "credential"];

pub(super) fn check(look: &mut Look<'_>, entry: &Entry) {
    for (what, text) in entry.texts() {
        let plain = text.parts().iter().filter_map(|part| match part {
            Part::Plain(text) => Some(text.as_str()),
            _ => None,
        });
        if let Some(found) = plain.clone().find(|text| is_placeholder(text)) {
            let message = format!("{what} still has a placeholder: `{found}`");
            look.error("placeholder", message, "replace it with the value");
        }
        for name in text.vars() {
            let is_set = look.env.var(name).is_some();
            let has_default =
                text.parts().iter().any(|p| matches!(p, Part::Var { name: n, default: Some(_) } if n == name));
            if !is_set && !has_default {
                let message = format!("{what} is taken from the variable `{name}`, which is not set");
                look.warning(
                    "variable-not-set",
                    message,
                    format!("set `{name}` where {} is started", look.host.name()),
                );
            }
        }
        if let Some(found) = plain.clone().find_map(reference) {
            let message = format!("{what} contains `{found}`, which {} does not expand", look.host.name());
            look.warning("not-filled-in", message, "write the value");
        }
    }
    if let Entry::Stdio(stdio) = entry {
        for (name, value) in &stdio.env {
            if value.plain() == Some("") {
                look.warning("empty-value", format!("the variable `{name}` is empty"), "give it a value or remove it");
            }
            if !crate::dotenv::is_name(name) {
                look.warning(
                    "variable-name",
                    format!("`{name}` is not a usual name for a variable"),
                    "correct the name",
                );
            }
        }
    }
}

/// The names of variables and headers that look like secrets in plain text.
pub(super) fn secrets(entry: &Entry) -> impl Iterator<Item = &str> {
    let pairs = match entry {
        Entry::Stdio(stdio) => &stdio.env,
        Entry::Remote(remote) => &remote.headers,
    };
    let is_secret = |name: &str| SECRETS.iter().any(|part| name.to_lowercase().contains(part));
    let is_there = |value: &str| value.len() > 7 && !is_placeholder(value);
    let secret = move |(name, value): &&(String, crate::Text)| is_secret(name) && value.plain().is_some_and(is_there);
    pairs.iter().filter(secret).map(|(name, _)| name.as_str())
}

fn is_placeholder(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_bracketed = text.len() > 2 && text.starts_with('<') && text.ends_with('>') && !text.contains('/');
    let is_dots = lower == "..." || lower.ends_with("-...") || lower.ends_with('…');
    is_bracketed || is_dots || PLACEHOLDERS.iter().any(|part| lower.contains(part))
}

/// The first reference to a variable in shell syntax.
fn reference(text: &str) -> Option<&str> {
    let at = text.find("${").or_else(|| text.find("$HOME")).or_else(|| text.find("%APPDATA%"))?;
    let rest = &text[at..];
    let end = match rest.as_bytes()[1] {
        b'{' => rest.find('}')? + 1,
        b'H' => "$HOME".len(),
        _ => "%APPDATA%".len(),
    };
    Some(&rest[..end])
}
