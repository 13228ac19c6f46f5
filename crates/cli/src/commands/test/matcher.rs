//! Matchers: what a text or a value of the result must be.

use std::path::Path;

use couplet::types::is_json_type;
use couplet_schema::Schema;
use regex::Regex;
use serde_json::Value;

use super::{
    mismatch::Mismatch,
    node::{Invalid, Member, Node, NodeKind},
    values::Values,
};

/// Conditions for a value, all of which must hold.
#[derive(Clone, Debug)]
pub(super) struct Matcher(Vec<Check>);

#[derive(Clone, Debug)]
enum Check {
    Equals(Value),
    Contains(Vec<Value>),
    Matches(Regex),
    Type(&'static str),
    Exists(bool),
    Length(u64),
    Min(f64),
    Max(f64),
    Schema(Schema),
    Json(Vec<(String, Matcher)>),
    Not(Matcher),
}

/// The keys of a matcher.
const KEYS: &[&str] =
    &["equals", "contains", "matches", "type", "exists", "length", "min", "max", "schema", "json", "not"];
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];

impl Matcher {
    /// Parses a matcher: a value, or a table of conditions. `folder` is where schema files are.
    pub(super) fn parse(node: &Node, what: &str, folder: &Path) -> Result<Self, Invalid> {
        let NodeKind::Table(_) = &node.kind else { return Ok(Self(vec![Check::Equals(node.to_json())])) };
        let entries = node.table_of(&format!("the matcher of {what}"), KEYS)?;
        if entries.is_empty() {
            return Err(Invalid::new(node.line, format!("the matcher of {what} is empty"))
                .hint("compare with an empty object by `{ equals = {} }`"));
        }
        entries.iter().map(|entry| Check::parse(entry, what, folder)).collect::<Result<_, _>>().map(Self)
    }

    /// Parses a table of JSON pointers and matchers.
    pub(super) fn parse_pointers(node: &Node, folder: &Path) -> Result<Vec<(String, Self)>, Invalid> {
        let one = |Member { key, line, value }: &Member| {
            if !(key.is_empty() || key.starts_with('/')) {
                return Err(Invalid::new(*line, format!("`{key}` is not a JSON pointer")).hint("it starts with /"));
            }
            Ok((key.clone(), Self::parse(value, &format!("`{key}`"), folder)?))
        };
        node.table("the pointers")?.iter().map(one).collect()
    }

    /// Checks a value; `None` is a value that does not exist. `at` names the place.
    pub(super) fn check(&self, at: &str, actual: Option<&Value>, values: &Values) -> Vec<Mismatch> {
        let expects_none = |check: &Check| matches!(check, Check::Exists(false));
        match actual {
            None if self.0.iter().any(expects_none) => Vec::new(),
            None if self.0.iter().all(|check| matches!(check, Check::Not(_))) => Vec::new(),
            None => vec![Mismatch::new(at, "does not exist")],
            Some(actual) => self.0.iter().flat_map(|check| check.check(at, actual, values)).collect(),
        }
    }
}

/// Checks the values at JSON pointers. `prefix` names the document.
pub(super) fn check_pointers(
    pointers: &[(String, Matcher)],
    prefix: &str,
    document: &Value,
    values: &Values,
) -> Vec<Mismatch> {
    let one = |(pointer, matcher): &(String, Matcher)| {
        matcher.check(&format!("{prefix}{pointer}"), document.pointer(pointer), values)
    };
    pointers.iter().flat_map(one).collect()
}

/// Parses a JSON Schema: inline, or the path of a file.
pub(super) fn schema(node: &Node, folder: &Path) -> Result<Schema, Invalid> {
    let invalid = |error: String| Invalid::new(node.line, error);
    let text = match &node.kind {
        NodeKind::Table(_) => node.to_json().to_string(),
        _ => {
            let file = folder.join(node.string("`schema`")?);
            std::fs::read_to_string(&file).map_err(|e| invalid(format!("`{}` cannot be read: {e}", file.display())))?
        }
    };
    Schema::new(&text).map_err(|e| invalid(e.to_string()))
}

impl Check {
    fn parse(Member { key, line, value }: &Member, what: &str, folder: &Path) -> Result<Self, Invalid> {
        let name = format!("`{key}`");
        Ok(match key.as_str() {
            "equals" => Self::Equals(value.to_json()),
            "contains" => Self::Contains(match value.to_json() {
                Value::Array(items) => items,
                one => vec![one],
            }),
            "matches" => {
                let pattern = value.string(&name)?;
                Self::Matches(regex(pattern, *line)?)
            }
            "type" => {
                let wanted = value.string(&name)?;
                let known = TYPES.iter().find(|name| **name == wanted);
                Self::Type(known.ok_or_else(|| {
                    Invalid::new(*line, format!("unknown type `{wanted}`"))
                        .hint(format!("the types are {}", TYPES.join(", ")))
                })?)
            }
            "exists" => Self::Exists(value.boolean(&name)?),
            "length" => {
                let length = value.scalar().and_then(Value::as_u64);
                Self::Length(length.ok_or_else(|| value.expected(&name, "a length"))?)
            }
            "min" => Self::Min(value.number(&name)?),
            "max" => Self::Max(value.number(&name)?),
            "schema" => Self::Schema(schema(value, folder)?),
            "json" => Self::Json(Matcher::parse_pointers(value, folder)?),
            _ => Self::Not(Matcher::parse(value, what, folder)?),
        })
    }

    fn check(&self, at: &str, actual: &Value, values: &Values) -> Vec<Mismatch> {
        let holds = match self {
            Self::Equals(expected) => return equals(at, expected, actual, values),
            Self::Contains(parts) => return contains(at, parts, actual, values),
            Self::Json(pointers) => return json(at, pointers, actual, values),
            Self::Schema(schema) => {
                let checked = schema.check(&actual.to_string());
                return checked.err().map(|error| Mismatch::new(at, error.to_string())).into_iter().collect();
            }
            Self::Matches(regex) => actual.as_str().is_some_and(|text| regex.is_match(text)),
            Self::Type(name) => is_json_type(actual, name),
            Self::Exists(wanted) => *wanted,
            Self::Length(length) => len(actual) == Some(*length),
            Self::Min(least) => actual.as_f64().is_some_and(|number| number >= *least),
            Self::Max(most) => actual.as_f64().is_some_and(|number| number <= *most),
            Self::Not(matcher) => !matcher.check(at, Some(actual), values).is_empty(),
        };
        if holds { Vec::new() } else { vec![Mismatch::new(at, self.expected()).actual(actual)] }
    }

    /// Describes the condition.
    fn expected(&self) -> String {
        match self {
            Self::Equals(value) => format!("equal to {value}"),
            Self::Contains(parts) => {
                format!("with {}", parts.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
            Self::Matches(regex) => format!("expected a string that matches `{regex}`"),
            Self::Type(name) => format!("expected the type {name}"),
            Self::Exists(true) => "expected a value".to_owned(),
            Self::Exists(false) => "expected no value".to_owned(),
            Self::Length(length) => format!("expected the length {length}"),
            Self::Min(least) => format!("expected a number of at least {least}"),
            Self::Max(most) => format!("expected a number of at most {most}"),
            Self::Schema(_) => "valid against the schema".to_owned(),
            Self::Json(_) => "with these members".to_owned(),
            Self::Not(matcher) => {
                let conditions: Vec<_> = matcher.0.iter().map(Self::expected).collect();
                format!("not allowed: {}", conditions.join(", ").replace("expected ", ""))
            }
        }
    }
}

/// Compiles a regular expression.
pub(super) fn regex(pattern: &str, line: usize) -> Result<Regex, Invalid> {
    let compiled = Regex::new(pattern);
    compiled.map_err(|_| Invalid::new(line, format!("`{pattern}` is not a valid regular expression")))
}

fn equals(at: &str, expected: &Value, actual: &Value, values: &Values) -> Vec<Mismatch> {
    match values.fill(expected) {
        Err(missing) => vec![Mismatch::new(at, missing)],
        Ok(expected) if same(&expected, actual) => Vec::new(),
        Ok(expected) => vec![Mismatch::new(at, "differs").expected(&expected).actual(actual)],
    }
}

fn contains(at: &str, parts: &[Value], actual: &Value, values: &Values) -> Vec<Mismatch> {
    let missing = |part: &Value| match values.fill(part) {
        Err(missing) => Some(missing),
        Ok(part) => {
            let found = match (actual, &part) {
                (Value::String(text), Value::String(part)) => text.contains(part),
                (Value::Array(items), part) => items.iter().any(|item| same(part, item)),
                (Value::Object(members), Value::Object(wanted)) => {
                    wanted.iter().all(|(key, value)| members.get(key).is_some_and(|member| same(value, member)))
                }
                _ => false,
            };
            (!found).then(|| format!("does not contain {part}"))
        }
    };
    let missing: Vec<String> = parts.iter().filter_map(missing).collect();
    let shown = |(index, what): (usize, String)| match index {
        0 => Mismatch::new(at, what).actual(actual),
        _ => Mismatch::new(at, what),
    };
    missing.into_iter().enumerate().map(shown).collect()
}

fn json(at: &str, pointers: &[(String, Matcher)], actual: &Value, values: &Values) -> Vec<Mismatch> {
    let document = actual.as_str().map(serde_json::from_str::<Value>);
    match document {
        Some(Ok(document)) => check_pointers(pointers, &format!("{at} "), &document, values),
        _ => vec![Mismatch::new(at, "expected a string of JSON").actual(actual)],
    }
}

/// Whether two values are equal. Numbers are compared by value: 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64().is_some() && x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        (a, b) => a == b,
    }
}

fn len(value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::node::get, *};

    /// Checks a value against a matcher in TOML, and returns what is wrong.
    fn check(matcher: &str, actual: Option<Value>) -> Vec<String> {
        let node = Node::parse(&format!("m = {matcher}")).unwrap();
        let matcher = Matcher::parse(get(node.table("x").unwrap(), "m").unwrap(), "`m`", Path::new(".")).unwrap();
        let mut values = Values::default();
        values.set("id", json!(7));
        let found = matcher.check("/m", actual.as_ref(), &values);
        found.into_iter().map(|mismatch| format!("{} {}", mismatch.at, mismatch.what)).collect()
    }

    #[test]
    fn each_matcher_accepts_and_refuses() {
        let object = json!({ "a": 1, "b": [1, "x"] });
        for (matcher, good, bad) in [
            ("3", json!(3.0), json!(4)),
            ("'${id}'", json!(7), json!("7")),
            ("{ equals = { a = 1, b = [1, 'x'] } }", object.clone(), json!({ "a": 1 })),
            ("{ contains = 'b' }", json!("abc"), json!("ac")),
            ("{ contains = ['a', 'c'] }", json!("abc"), json!("ab")),
            ("{ contains = 2 }", json!([1, 2]), json!([1])),
            ("{ contains = { a = 1 } }", object.clone(), json!({ "a": 2 })),
            ("{ matches = '^a+$' }", json!("aa"), json!("ab")),
            ("{ type = 'integer' }", json!(1.0), json!(1.5)),
            ("{ type = 'null' }", json!(null), json!(0)),
            ("{ length = 2 }", json!("äö"), json!("a")),
            ("{ min = 1, max = 2 }", json!(1.5), json!(2.5)),
            ("{ schema = { type = 'object', required = ['a'] } }", object, json!({})),
            ("{ json = { '/a' = 1 } }", json!("{\"a\":1}"), json!("{\"a\":2}")),
            ("{ json = { '/a' = 1 } }", json!("{\"a\":1}"), json!("not JSON")),
            ("{ not = { contains = 'x' } }", json!("abc"), json!("x")),
            ("{ exists = true }", json!(0), json!("checked below")),
        ] {
            assert_eq!(check(matcher, Some(good)), Vec::<String>::new(), "{matcher}");
            if !matcher.contains("exists") {
                assert_eq!(check(matcher, Some(bad)).len(), 1, "{matcher}");
            }
        }
    }

    #[test]
    fn missing_values_are_mismatches_unless_they_are_expected() {
        assert_eq!(check("3", None), ["/m does not exist"]);
        assert_eq!(check("{ exists = true }", None), ["/m does not exist"]);
        assert!(check("{ exists = false }", None).is_empty());
        assert!(check("{ not = 'x' }", None).is_empty());
        assert_eq!(check("{ exists = false }", Some(json!(1))), ["/m expected no value"]);
        assert_eq!(check("'${nothing}'", Some(json!(1))).len(), 1);
    }

    #[test]
    fn invalid_matchers_are_refused() {
        for (matcher, expected) in [
            ("{ containz = 'x' }", "unknown key `containz` in the matcher of `m`"),
            ("{}", "the matcher of `m` is empty"),
            ("{ matches = '(' }", "`(` is not a valid regular expression"),
            ("{ type = 'str' }", "unknown type `str`"),
            ("{ length = -1 }", "`length` must be a length, and is a number"),
            ("{ schema = { type = 'thing' } }", "the schema is not valid"),
            ("{ json = { a = 1 } }", "`a` is not a JSON pointer"),
        ] {
            let node = Node::parse(&format!("m = {matcher}")).unwrap();
            let parsed = Matcher::parse(get(node.table("x").unwrap(), "m").unwrap(), "`m`", Path::new("."));
            let message = parsed.unwrap_err().message;
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
