//! Validation errors, with messages that a model can act on: the same for values that cannot be deserialized and for values
//! that a schema does not allow.

use std::fmt;

use serde::de::{self, Error, Expected, Unexpected};

/// A validation error, with the path of the value.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Innermost first: it grows as the error travels out.
    path: Vec<Step>,
    /// The message after the name of the argument.
    text: String,
}

/// One step from a value to one inside of it.
#[derive(Debug)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Fault {
    /// A fault of a member: the text follows its name.
    pub(crate) fn at(name: &str, text: impl Into<String>) -> Self {
        Self { path: vec![Step::key(name)], text: text.into() }
    }

    /// A fault of the value itself.
    pub(crate) fn here(text: impl fmt::Display) -> Self {
        Self { path: Vec::new(), text: format!(": {text}") }
    }

    /// A member that is required and not given.
    pub(crate) fn missing(name: &str) -> Self {
        Self::at(name, " is missing (required)")
    }

    /// A member that is not among the known ones.
    pub(crate) fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Self {
        let hint = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.clone().next().is_none() => "no arguments are known here".to_owned(),
            None => format!("known are {}", listed(known)),
        };
        Self::at(name, format!(" is unknown; {hint}"))
    }

    /// The same fault, of a value inside of another one.
    pub(crate) fn inside(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    /// The same fault, with something that may have caused it.
    pub(crate) fn hinted(mut self, hint: &str) -> Self {
        self.text.push_str(hint);
        self
    }

    /// Whether it says already that a name is unknown.
    pub(crate) fn is_of_unknown(&self) -> bool {
        self.text.contains(" is unknown")
    }

    /// The depth inside of the value.
    pub(crate) fn depth(&self) -> usize {
        self.path.len()
    }

    /// The fault of a value that is no argument: its place as a path, if it has one, and what is wrong.
    pub(crate) fn of_value(&self) -> String {
        match self.path() {
            path if path.is_empty() => self.text.trim_start_matches(": ").to_owned(),
            path => format!("`{path}`{}", self.text),
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.path.iter().rev() {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        capped(&path, MAX_MESSAGE)
    }
}

impl Step {
    /// A step to a member.
    pub(crate) fn key(name: &str) -> Self {
        Self::Key(capped(name, MAX_QUOTED))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            path if path.is_empty() => write!(f, "arguments{}", self.text),
            path => write!(f, "argument `{path}`{}", self.text),
        }
    }
}

impl std::error::Error for Fault {}

impl From<serde_json::Error> for Fault {
    /// Leaves out line and column: the JSON was not written by hand.
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        Self::custom(text.split(" at line ").next().unwrap_or(&text))
    }
}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::here(capped(&message.to_string(), MAX_MESSAGE))
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match (got, expected.to_string()) {
            (Unexpected::Str(_), expected) if expected == "a borrowed string" => "a string without escapes".to_owned(),
            (_, expected) => kind(&expected).to_owned(),
        };
        Self::here(format_args!("expected {expected}, got {}", quoted(got)))
    }

    fn invalid_value(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::here(format_args!("expected {}, got {}", range(&expected.to_string()), quoted(got)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::here(format_args!("expected {}, got {length} items", kind(&expected.to_string())))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::here(format_args!("expected {}, got {}", one_of(expected), quoted(Unexpected::Str(variant))))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown(field, expected.iter().copied())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::at(field, " is given twice")
    }
}

pub(crate) const MAX_QUOTED: usize = 40;
const MAX_MESSAGE: usize = 200;

/// The text, truncated to so many characters.
pub(crate) fn capped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn quoted(got: Unexpected<'_>) -> String {
    match got {
        Unexpected::Bool(value) => format!("the boolean {value}"),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value:?}"),
        Unexpected::Str(value) => format!("the string {:?}", capped(value, MAX_QUOTED)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => capped(&other.to_string(), MAX_QUOTED),
    }
}

/// Serde names Rust types; the sender of JSON knows JSON's.
fn kind(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            "an integer"
        }
        "a sequence" => "an array",
        "a map" => "an object",
        "unit" => "null",
        "a borrowed string" => "a string",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

/// The values that a Rust type has.
pub(crate) fn range(expected: &str) -> &str {
    match expected {
        "u8" => "an integer from 0 to 255",
        "u16" => "an integer from 0 to 65535",
        "u32" => "an integer from 0 to 4294967295",
        "u64" | "usize" => "an integer from 0 to 18446744073709551615",
        "u128" => "an integer of 0 or more",
        "i8" => "an integer from -128 to 127",
        "i16" => "an integer from -32768 to 32767",
        "i32" => "an integer from -2147483648 to 2147483647",
        "i64" | "isize" => "an integer from -9223372036854775808 to 9223372036854775807",
        _ => kind(expected),
    }
}

/// The choice between names.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [name] => format!("`{name}`"),
        _ => format!("one of {}", listed(names.iter().copied())),
    }
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The maximum number of names that are compared with an unknown one: a client can send one in every call.
const MAX_COMPARED: usize = 1_000;

/// The known name that is the fewest edits away, if they are few for its length.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let name = capped(name, MAX_QUOTED).to_lowercase();
    let length = name.chars().count();
    let distances = known.take(MAX_COMPARED).filter_map(|known| {
        let most = known.chars().count().div_ceil(3);
        // At least as many letters as the lengths differ by have to change.
        if known.len() > 4 * MAX_QUOTED || known.chars().count().abs_diff(length) > most {
            return None;
        }
        let distance = distance(&name, &known.to_lowercase());
        (distance <= most).then_some((distance, known))
    });
    distances.min().map(|(_, known)| known)
}

/// The question that follows the report of an unknown name, where there is a known one like it.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The edit distance in characters, with swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let above = &rows[i - 1];
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
