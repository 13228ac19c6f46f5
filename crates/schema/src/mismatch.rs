//! Validation errors, in sentences that a model can act on.

use std::fmt;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

/// A validation error: the place in the value, what was expected, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pointer: String,
    keyword: String,
    text: String,
    costly: bool,
}

impl Mismatch {
    /// Returns the place in the value as a JSON Pointer; empty for the root.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Returns what is wrong, without the place.
    pub fn reason(&self) -> &str {
        &self.text
    }

    /// Returns the schema keyword that failed; empty if it is unknown.
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// Returns `true` if the value was not validated because that would exceed [`Budget::steps`](crate::Budget::steps).
    pub fn is_too_costly(&self) -> bool {
        self.costly
    }

    pub(crate) fn of(error: &ValidationError<'_>) -> Self {
        let keyword = error.kind().keyword().to_owned();
        Self { pointer: error.instance_path().as_str().to_owned(), keyword, text: sentence(error), costly: false }
    }

    pub(crate) fn unexplained() -> Self {
        Self::bare("the value does not fit the schema")
    }

    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        Self::bare(&format!("the value is not valid JSON: {error}"))
    }

    pub(crate) fn too_costly() -> Self {
        Self { costly: true, ..Self::bare("the value is too large to be checked against this schema") }
    }

    fn bare(text: &str) -> Self {
        Self { pointer: String::new(), keyword: String::new(), text: text.to_owned(), costly: false }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.pointer {
            "" => f.write_str(&self.text),
            pointer => write!(f, "at `{}`: {}", capped(pointer, MAX_POINTER), self.text),
        }
    }
}

impl std::error::Error for Mismatch {}

const MAX_QUOTED: usize = 40;
const MAX_POINTER: usize = 200;
const MAX_CHOICES: usize = 10;

fn sentence(error: &ValidationError<'_>) -> String {
    let expected = match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => return alternatives(context, error.instance()),
        Kind::Required { property } => return format!("expected the member {}, which is missing", name(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            return format!("expected no other members than those of the schema, got {}", listed(unexpected));
        }
        Kind::PropertyNames { error } => return format!("a member's name does not fit: {}", sentence(error)),
        Kind::OneOfMultipleValid { .. } => {
            return format!("expected exactly one alternative to fit, got several for {}", quoted(error.instance()));
        }
        Kind::FalseSchema => return format!("expected nothing here, got {}", quoted(error.instance())),
        Kind::Referencing(error) => return format!("a reference cannot be followed: {error}"),
        kind => expected(kind).unwrap_or_else(|| format!("something that fits `{}`", kind.keyword())),
    };
    format!("expected {expected}, got {}", quoted(error.instance()))
}

fn expected(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Type { kind } => types(kind),
        Kind::Constant { expected_value } => quoted(expected_value),
        Kind::Enum { options } => choices(options),
        Kind::Minimum { limit } => format!("a number of at least {limit}"),
        Kind::Maximum { limit } => format!("a number of at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("a number above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("a number below {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("a string of at least {}", counted(*limit, "character")),
        Kind::MaxLength { limit } => format!("a string of at most {}", counted(*limit, "character")),
        Kind::Pattern { pattern } => format!("a string that matches `{}`", capped(pattern, MAX_POINTER)),
        Kind::MinItems { limit } => format!("an array of at least {}", counted(*limit, "item")),
        Kind::MaxItems { limit } => format!("an array of at most {}", counted(*limit, "item")),
        Kind::AdditionalItems { limit } => format!("an array of at most {limit} items"),
        Kind::UnevaluatedItems { .. } => "no other items than those of the schema".to_owned(),
        Kind::UniqueItems => "an array without repetitions".to_owned(),
        Kind::Contains => "an array with the items that the schema asks for".to_owned(),
        Kind::MinProperties { limit } => format!("an object of at least {}", counted(*limit, "member")),
        Kind::MaxProperties { limit } => format!("an object of at most {}", counted(*limit, "member")),
        Kind::Not { .. } => "something that the schema does not exclude".to_owned(),
        _ => return None,
    })
}

fn counted(limit: u64, thing: &str) -> String {
    if limit == 1 { format!("1 {thing}") } else { format!("{limit} {thing}s") }
}

/// Lists the expected kinds of value, or explains the alternative that came closest.
fn alternatives(context: &[Vec<ValidationError<'static>>], got: &Value) -> String {
    let errors: Vec<_> = context.iter().filter_map(|errors| errors.first()).collect();
    let here = errors.iter().map(|e| e.instance_path().as_str().len()).min().unwrap_or(0);
    let kinds: Option<Vec<_>> = errors
        .iter()
        .map(|e| match e.kind() {
            kind @ (Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. })
                if e.instance_path().as_str().len() == here =>
            {
                expected(kind)
            }
            _ => None,
        })
        .collect();
    if let Some(values) = constants(&errors, here) {
        return format!("expected one of {}, got {}", values.join(", "), quoted(got));
    }
    if let Some(kinds) = kinds.filter(|kinds| (1..=MAX_CHOICES).contains(&kinds.len())) {
        return format!("expected {}, got {}", kinds.join(" or "), quoted(got));
    }
    let furthest = errors.iter().max_by_key(|e| (e.instance_path().as_str().len(), !is_choice(e.kind())));
    match furthest {
        Some(error) => {
            format!("expected one of {} alternatives; the nearest fails: {}", context.len(), Mismatch::of(error))
        }
        None => format!("expected one of {} alternatives, got {}", context.len(), quoted(got)),
    }
}

/// The allowed values, where every alternative is a constant or an enumeration.
fn constants(errors: &[&ValidationError<'_>], here: usize) -> Option<Vec<String>> {
    let mut values = Vec::new();
    for error in errors.iter().filter(|e| e.instance_path().as_str().len() == here) {
        match error.kind() {
            Kind::Constant { expected_value } => values.push(literal(expected_value)),
            Kind::Enum { options } => values.extend(options.as_array()?.iter().map(literal)),
            _ => return None,
        }
    }
    (errors.len() > 1 && (2..=MAX_CHOICES).contains(&values.len())).then_some(values)
}

/// Whether an alternative fails by its type, and so was not the intended one.
fn is_choice(kind: &Kind) -> bool {
    matches!(kind, Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. })
}

fn types(kind: &TypeKind) -> String {
    let one = |name: &str| match name {
        "integer" | "array" | "object" => format!("an {name}"),
        "null" => "null".to_owned(),
        name => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(kind) => one(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            kinds.into_iter().map(|kind| one(&kind.to_string())).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn choices(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<_> = options.iter().take(MAX_CHOICES).map(literal).collect();
    let more = if options.len() > MAX_CHOICES { ", …" } else { "" };
    format!("one of {}{more}", shown.join(", "))
}

fn quoted(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => format!("the string {}", literal(value)),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{:?}", capped(text, MAX_QUOTED)),
        value => capped(&value.to_string(), MAX_QUOTED),
    }
}

fn name(property: &Value) -> String {
    format!("`{}`", capped(property.as_str().unwrap_or_default(), MAX_QUOTED))
}

fn listed(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_CHOICES).map(|n| format!("`{}`", capped(n, MAX_QUOTED))).collect();
    shown.join(", ")
}

fn capped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
