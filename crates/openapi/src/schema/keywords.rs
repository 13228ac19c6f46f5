//! The keywords of values that are copied: those that hosts accept, with values of the right type.

use serde_json::{Map, Number, Value};

use super::gather::Parts;

/// The formats of strings that JSON Schema defines and validators check.
const FORMATS: [&str; 9] = ["date-time", "date", "time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"];

/// The maximum number of values of an `enum`, and the lengths of one and of a pattern.
const MOST_VALUES: usize = 300;
const LONGEST_VALUE: usize = 300;
const LONGEST_PATTERN: usize = 200;

pub(super) fn copy(parts: &Parts<'_>, kind: Option<&str>, out: &mut Map<String, Value>) {
    choices(parts, kind, out);
    match kind {
        Some("string") => {
            counts(parts, ["minLength", "maxLength"], out);
            let text = |keyword| parts.find(keyword).and_then(Value::as_str);
            if let Some(format) = text("format").filter(|format| FORMATS.contains(format)) {
                out.insert("format".into(), format.into());
            }
            // As a keyword it would have other meanings in other validators. The API checks it.
            if let Some(pattern) = text("pattern").filter(|pattern| is_portable(pattern)) {
                describe(&format!("Matches `{pattern}`."), out);
            }
        }
        Some("integer" | "number") => numbers(parts, out),
        Some("array") => {
            counts(parts, ["minItems", "maxItems"], out);
            if parts.find("uniqueItems") == Some(&Value::Bool(true)) {
                out.insert("uniqueItems".into(), true.into());
            }
        }
        _ => {}
    }
    if let Some(default) = parts.find("default").filter(|default| is_default(default, kind, out)) {
        out.insert("default".into(), default.clone());
    }
}

/// Copies `enum` and `const` of strings. Other values are listed in the description: some model APIs reject them.
fn choices(parts: &Parts<'_>, kind: Option<&str>, out: &mut Map<String, Value>) {
    let listed = match (parts.find("enum"), parts.find("const")) {
        (Some(Value::Array(values)), _) => values.iter().take(MOST_VALUES + 1).collect::<Vec<_>>(),
        (_, Some(value)) => vec![value],
        _ => return,
    };
    let is_long = |value: &&Value| value.as_str().is_some_and(|text| text.len() > LONGEST_VALUE);
    if listed.is_empty() || listed.len() > MOST_VALUES || listed.iter().any(is_long) {
        return;
    }
    let mut strings: Vec<Value> = Vec::new();
    for value in listed.iter().filter(|value| value.as_str().is_some_and(|text| !text.is_empty())) {
        if !strings.contains(value) {
            strings.push((*value).clone());
        }
    }
    // An empty string must stay possible where the document lists it.
    let has_empty = listed.iter().any(|value| *value == "");
    if kind == Some("string") && !strings.is_empty() && !has_empty {
        out.insert("enum".into(), Value::Array(strings));
        return;
    }
    let is_plain = |value: &&&Value| !value.is_null() && !value.is_object() && !value.is_array();
    let names: Vec<String> = listed.iter().filter(is_plain).map(|v| format!("`{v}`")).collect();
    if matches!(kind, Some("string" | "integer" | "number")) && !names.is_empty() {
        describe(&format!("One of {}.", names.join(", ")), out);
    }
}

/// Adds a sentence to the description.
pub(super) fn describe(sentence: &str, out: &mut Map<String, Value>) {
    let described = out.get("description").and_then(Value::as_str).unwrap_or_default();
    let space = if described.is_empty() { "" } else { " " };
    let description = format!("{described}{space}{sentence}");
    out.insert("description".into(), description.into());
}

fn counts(parts: &Parts<'_>, keywords: [&str; 2], out: &mut Map<String, Value>) {
    for keyword in keywords {
        if let Some(count) = parts.find(keyword).and_then(Value::as_u64) {
            out.insert(keyword.into(), count.into());
        }
    }
}

/// Copies the bounds of numbers. Before OpenAPI 3.1 `exclusiveMinimum` is a flag of `minimum`.
fn numbers(parts: &Parts<'_>, out: &mut Map<String, Value>) {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let number = |keyword| parts.find(keyword).and_then(Value::as_number).filter(|n| is_finite(n));
        let is_exclusive = parts.find(exclusive) == Some(&Value::Bool(true));
        if let Some(number) = number(bound) {
            out.insert(if is_exclusive { exclusive } else { bound }.into(), number.clone().into());
        }
        if let Some(number) = number(exclusive) {
            out.insert(exclusive.into(), number.clone().into());
        }
    }
    let step = parts.find("multipleOf").and_then(Value::as_number);
    if let Some(step) = step.filter(|step| step.as_f64().is_some_and(|step| step > 0.0)) {
        out.insert("multipleOf".into(), step.clone().into());
    }
}

fn is_finite(number: &Number) -> bool {
    number.as_f64().is_some_and(f64::is_finite)
}

/// Whether a pattern has the same meaning in every dialect of regular expressions.
fn is_portable(pattern: &str) -> bool {
    if pattern.len() > LONGEST_PATTERN {
        return false;
    }
    let mut escaped = false;
    let plain = pattern.chars().all(|c| {
        let is_known = !escaped || "dDwWsS.-/\\()[]{}+*?|^$".contains(c);
        escaped = !escaped && c == '\\';
        is_known && c.is_ascii() && !c.is_ascii_control()
    });
    let mut depth = (0_i32, 0_i32);
    let mut before = ' ';
    for c in pattern.chars() {
        match c {
            _ if before == '\\' => {}
            '(' => depth.0 += 1,
            ')' => depth.0 -= 1,
            '[' => depth.1 += 1,
            ']' => depth.1 -= 1,
            _ => {}
        }
        before = if before == '\\' { ' ' } else { c };
    }
    let is_balanced = depth == (0, 0);
    plain && !escaped && is_balanced && !pattern.contains("(?")
}

/// Whether a default is a value that the written keywords allow.
fn is_default(default: &Value, kind: Option<&str>, out: &Map<String, Value>) -> bool {
    let fits = match kind {
        Some("string") => {
            let text = default.as_str().filter(|text| text.len() <= LONGEST_VALUE);
            let length = text.map(|text| text.chars().count() as u64);
            let within = |keyword: &str, ok: fn(u64, u64) -> bool| {
                out.get(keyword)
                    .and_then(Value::as_u64)
                    .is_none_or(|limit| length.is_some_and(|length| ok(length, limit)))
            };
            length.is_some()
                && within("minLength", |length, limit| length >= limit)
                && within("maxLength", |length, limit| length <= limit)
                && !out.contains_key("format")
        }
        Some("integer") => default.is_i64() || default.is_u64(),
        Some("number") => default.is_number(),
        Some("boolean") => default.is_boolean(),
        _ => false,
    };
    let bound =
        |keyword: &str, ok: fn(f64, f64) -> bool| match (out.get(keyword).and_then(Value::as_f64), default.as_f64()) {
            (Some(limit), Some(value)) => ok(value, limit),
            _ => true,
        };
    let is_listed = out.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(default));
    fits && is_listed
        && bound("minimum", |value, limit| value >= limit)
        && bound("maximum", |value, limit| value <= limit)
        && bound("exclusiveMinimum", |value, limit| value > limit)
        && bound("exclusiveMaximum", |value, limit| value < limit)
        && !out.contains_key("multipleOf")
}
