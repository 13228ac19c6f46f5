//! Redaction of values.

use serde_json::Value;

const MARK: &str = "[redacted]";
/// The maximum length of a string, in bytes.
const LONGEST: usize = 256;
/// The maximum number of elements or members.
const MOST: usize = 64;
/// The maximum nesting.
const DEPTH: usize = 8;

/// Words in the names of secrets, compared without case, `_` and `-`.
const NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "cookie",
    "credential",
    "session",
    "pin",
];

/// Beginnings of well-known secrets, in lower case.
const FORMS: [&str; 14] = [
    "bearer ",
    "basic ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xox",
    "akia",
    "aiza",
    "eyj",
    "-----begin",
    "npm_",
];

/// Returns a value without secrets, as far as their names or forms show them, and without long strings.
pub(super) fn redacted(value: Value) -> Value {
    at(value, 0)
}

fn at(value: Value, depth: usize) -> Value {
    match value {
        Value::String(text) => string(text),
        Value::Array(_) | Value::Object(_) if depth >= DEPTH => "…".into(),
        Value::Array(elements) => elements.into_iter().take(MOST).map(|element| at(element, depth + 1)).collect(),
        Value::Object(members) => {
            let member = |(key, value): (String, Value)| {
                if is_secret(&key) { (key, MARK.into()) } else { (key, at(value, depth + 1)) }
            };
            Value::Object(members.into_iter().take(MOST).map(member).collect())
        }
        scalar => scalar,
    }
}

fn string(text: String) -> Value {
    let start: String = text.trim_start().chars().take(16).collect::<String>().to_lowercase();
    if FORMS.iter().any(|form| start.starts_with(form)) || has_password(&text) {
        return MARK.into();
    }
    if text.len() <= LONGEST { text.into() } else { couplet_core::excerpt(&text, LONGEST).into() }
}

/// Whether a text has a URL with a user and a password.
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    rest.split(['/', '?', '#', ' ']).next().is_some_and(|authority| authority.contains('@'))
}

fn is_secret(key: &str) -> bool {
    let key: String = key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.iter().any(|name| if name.len() > 3 { key.contains(name) } else { key == *name })
}
