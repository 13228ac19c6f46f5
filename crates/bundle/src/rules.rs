//! Checks of the members of JSON objects.

use serde_json::{Map, Value};

use crate::{Problem, Severity};

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) problems: Vec<Problem>,
}

impl Found {
    pub(crate) fn error(&mut self, at: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Error, at, message.into(), fix.into());
    }

    pub(crate) fn warning(&mut self, at: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Warning, at, message.into(), fix.into());
    }

    fn add(&mut self, severity: Severity, at: &str, message: String, fix: String) {
        self.problems.push(Problem { severity, at: at.to_owned(), message, fix });
    }
}

/// An object and its path.
pub(crate) struct Object<'a> {
    pub(crate) at: String,
    pub(crate) map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    /// The root of the file.
    pub(crate) fn root(value: &'a Value, found: &mut Found) -> Option<Self> {
        let map = value.as_object();
        if map.is_none() {
            found.error("", format!("it is {}, not an object", kind(value)), "write `{ … }`");
        }
        Some(Self { at: String::new(), map: map? })
    }

    pub(crate) fn path(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// Reports unknown members.
    pub(crate) fn only(&self, keys: &[&str], found: &mut Found) {
        for key in self.map.keys().filter(|key| !keys.contains(&key.as_str())) {
            let close = keys.iter().find(|known| is_close(known, key)).map(|known| format!("rename it to `{known}`"));
            let fix = close.unwrap_or_else(|| format!("remove it; known are {}", keys.join(", ")));
            found.error(&self.path(key), "is unknown", fix);
        }
    }

    /// Returns a member of a type; reports it if it is required and missing, or has another type.
    fn typed<T>(
        &self,
        key: &str,
        need: Need,
        what: &str,
        read: impl Fn(&'a Value) -> Option<T>,
        found: &mut Found,
    ) -> Option<T> {
        let Some(value) = self.get(key) else {
            if let Need::Required(fix) = need {
                found.error(&self.path(key), "is missing", fix);
            }
            return None;
        };
        let read = read(value);
        if read.is_none() {
            found.error(&self.path(key), format!("is {}, not {what}", kind(value)), format!("write {what}"));
        }
        read
    }

    /// Returns a string that is not empty.
    pub(crate) fn text(&self, key: &str, need: Need, found: &mut Found) -> Option<&'a str> {
        let text = self.typed(key, need, "a string", Value::as_str, found)?;
        if text.trim().is_empty() {
            found.error(
                &self.path(key),
                "is empty",
                if let Need::Required(fix) = need { fix } else { "remove it, or give it a value" },
            );
            return None;
        }
        Some(text)
    }

    pub(crate) fn flag(&self, key: &str, found: &mut Found) -> Option<bool> {
        self.typed(key, Need::Optional, "`true` or `false`", Value::as_bool, found)
    }

    pub(crate) fn number(&self, key: &str, found: &mut Found) -> Option<f64> {
        self.typed(key, Need::Optional, "a number", Value::as_f64, found)
    }

    pub(crate) fn object(&self, key: &str, need: Need, found: &mut Found) -> Option<Object<'a>> {
        let map = self.typed(key, need, "an object", Value::as_object, found)?;
        Some(Object { at: self.path(key), map })
    }

    /// Returns the objects of a list.
    pub(crate) fn objects(&self, key: &str, found: &mut Found) -> Vec<Object<'a>> {
        let items = self.typed(key, Need::Optional, "a list", Value::as_array, found);
        let mut objects = Vec::new();
        for (index, item) in items.into_iter().flatten().enumerate() {
            let at = format!("{}[{index}]", self.path(key));
            match item.as_object() {
                Some(map) => objects.push(Object { at, map }),
                None => found.error(&at, format!("is {}, not an object", kind(item)), "write `{ … }`"),
            }
        }
        objects
    }

    /// Returns the strings of a list, with their paths.
    pub(crate) fn texts(&self, key: &str, found: &mut Found) -> Vec<(String, &'a str)> {
        let items = self.typed(key, Need::Optional, "a list", Value::as_array, found);
        let mut texts = Vec::new();
        for (index, item) in items.into_iter().flatten().enumerate() {
            let at = format!("{}[{index}]", self.path(key));
            match item.as_str() {
                Some(text) => texts.push((at, text)),
                None => found.error(&at, format!("is {}, not a string", kind(item)), "write a string"),
            }
        }
        texts
    }

    /// Returns the strings of an object, with their paths and keys.
    pub(crate) fn named_texts(&self, key: &str, found: &mut Found) -> Vec<(String, &'a str, &'a str)> {
        let Some(object) = self.object(key, Need::Optional, found) else { return Vec::new() };
        let mut texts = Vec::new();
        for (name, value) in object.map {
            match value.as_str() {
                Some(text) => texts.push((object.path(name), name.as_str(), text)),
                None => found.error(&object.path(name), format!("is {}, not a string", kind(value)), "write a string"),
            }
        }
        texts
    }

    /// Returns a string that is one of `choices`.
    pub(crate) fn one_of(&self, key: &str, choices: &[&str], need: Need, found: &mut Found) -> Option<&'a str> {
        let text = self.text(key, need, found)?;
        if !choices.contains(&text) {
            let fix = format!("use one of {}", choices.join(", "));
            found.error(&self.path(key), format!("is `{text}`, which is unknown"), fix);
            return None;
        }
        Some(text)
    }

    /// Returns an absolute URL.
    pub(crate) fn url(&self, key: &str, found: &mut Found) -> Option<&'a str> {
        let url = self.text(key, Need::Optional, found)?;
        check_url(&self.path(key), url, found);
        Some(url)
    }
}

/// Whether a member is required, with the fix if it is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    Required(&'static str),
    Optional,
}

pub(crate) fn check_url(at: &str, url: &str, found: &mut Found) {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_url =
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !url.contains(char::is_whitespace));
    if !is_url {
        found.error(at, format!("is `{url}`, which is not a URL"), "write the whole address, with `https://`");
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether two keys differ only in case and separators.
fn is_close(a: &str, b: &str) -> bool {
    let plain = |key: &str| key.to_lowercase().replace(['_', '-'], "");
    plain(a) == plain(b)
}
