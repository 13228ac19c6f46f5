//! Predicates on arguments, by JSON pointer.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::{
    Glob,
    lookup::{Found, find},
    nearest::unknown,
    path::is_within,
};

/// The answer of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Yes,
    No,
    /// The server may understand the arguments in another way.
    Unclear,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl std::ops::Not for Holds {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unclear => Self::Unclear,
        }
    }
}

/// A predicate on the value at a JSON pointer.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pointer: String,
    tokens: Vec<String>,
    predicate: Predicate,
}

/// The conditions of a rule, from an object with pointers as its keys.
pub(super) struct Conditions(pub(super) Vec<Condition>);

#[derive(Clone, Debug)]
enum Predicate {
    Glob(Glob),
    Equals(Value),
    Within(String),
    Range { min: Option<f64>, max: Option<f64> },
    Present(bool),
    AnyOf(Vec<Predicate>),
    Not(Box<Predicate>),
}

impl Condition {
    /// Checks the arguments; `all` elements of an array must match, or one of them.
    pub(super) fn check(&self, arguments: &str, all: bool) -> Holds {
        match find(arguments, &self.tokens) {
            Found::Missing => self.predicate.check_missing(),
            Found::Twice => Holds::Unclear,
            Found::Value(text) => match serde_json::from_str(text) {
                Ok(value) => self.predicate.check(&value, all),
                Err(_) => Holds::Unclear,
            },
        }
    }
}

impl Predicate {
    fn check_missing(&self) -> Holds {
        match self {
            Self::Present(present) => (!present).into(),
            Self::Not(inner) => !inner.check_missing(),
            Self::AnyOf(any) => any_of(any.iter().map(Self::check_missing)),
            Self::Glob(_) | Self::Equals(_) | Self::Within(_) | Self::Range { .. } => Holds::No,
        }
    }

    fn check(&self, value: &Value, all: bool) -> Holds {
        match (value, self) {
            (_, Self::Present(present)) => (*present).into(),
            (Value::Array(_), Self::Equals(equals)) if equals.is_array() => (value == equals).into(),
            (Value::Array(elements), _) if all && elements.is_empty() => Holds::No,
            (Value::Array(elements), _) if all => !any_of(elements.iter().map(|element| !self.check(element, all))),
            (Value::Array(elements), _) => any_of(elements.iter().map(|element| self.check(element, all))),
            (value, _) => self.check_one(value, all),
        }
    }

    fn check_one(&self, value: &Value, all: bool) -> Holds {
        match self {
            Self::Glob(glob) => value.as_str().is_some_and(|text| glob.matches(text)).into(),
            Self::Equals(Value::Number(own)) => (value.is_number() && value.as_f64() == own.as_f64()).into(),
            Self::Equals(own) => (own == value).into(),
            Self::Within(folder) => match value.as_str() {
                Some(path) => is_within(folder, path).map_or(Holds::Unclear, Holds::from),
                None => Holds::No,
            },
            Self::Range { min, max } => {
                let is_inside = |n: f64| min.is_none_or(|min| n >= min) && max.is_none_or(|max| n <= max);
                value.as_f64().is_some_and(is_inside).into()
            }
            Self::Present(present) => (*present).into(),
            Self::AnyOf(any) => any_of(any.iter().map(|one| one.check(value, all))),
            Self::Not(inner) => !inner.check(value, !all),
        }
    }

    fn parse(value: Value) -> Result<Self, String> {
        const KEYS: [&str; 6] = ["equals", "within", "min", "max", "present", "not"];
        match value {
            Value::String(pattern) => Glob::new(&pattern).map(Self::Glob).map_err(|error| error.to_string()),
            Value::Array(any) if any.is_empty() => Err("a list of predicates is empty".to_owned()),
            Value::Array(any) => Ok(Self::AnyOf(any.into_iter().map(Self::parse).collect::<Result<_, _>>()?)),
            Value::Object(members) => {
                if let Some(key) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
                    return Err(unknown("predicate", key, &KEYS));
                }
                Self::from_members(members)
            }
            scalar => Ok(Self::Equals(scalar)),
        }
    }

    fn from_members(mut members: serde_json::Map<String, Value>) -> Result<Self, String> {
        let mut bound =
            |key| members.remove(key).map(|n| n.as_f64().ok_or(format!("`{key}` is not a number"))).transpose();
        let (min, max) = (bound("min")?, bound("max")?);
        let mut members = members.into_iter();
        match (members.next(), members.next(), min.or(max)) {
            (None, _, Some(_)) => Ok(Self::Range { min, max }),
            (Some((key, value)), None, None) => match (&*key, value) {
                ("equals", value) => Ok(Self::Equals(value)),
                ("within", Value::String(folder)) if is_within(&folder, &folder) == Some(true) => {
                    Ok(Self::Within(folder))
                }
                ("within", _) => Err("`within` is not an absolute path".to_owned()),
                ("present", Value::Bool(present)) => Ok(Self::Present(present)),
                ("present", _) => Err("`present` is neither `true` nor `false`".to_owned()),
                (_, value) => Ok(Self::Not(Box::new(Self::parse(value)?))),
            },
            _ => Err("a predicate has one of `equals`, `within`, `present` and `not`, or `min` and `max`".to_owned()),
        }
    }
}

fn any_of(all: impl Iterator<Item = Holds>) -> Holds {
    let mut result = Holds::No;
    for holds in all {
        match holds {
            Holds::Yes => return Holds::Yes,
            Holds::Unclear => result = Holds::Unclear,
            Holds::No => {}
        }
    }
    result
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        let parse = |(pointer, value): (String, Value)| {
            let tokens = tokens(&pointer)?;
            let predicate = Predicate::parse(value).map_err(|error| format!("`{pointer}`: {error}"))?;
            Ok(Condition { pointer, tokens, predicate })
        };
        members.into_iter().map(parse).collect::<Result<_, String>>().map(Self).map_err(de::Error::custom)
    }
}

/// The tokens of a JSON pointer (RFC 6901).
fn tokens(pointer: &str) -> Result<Vec<String>, String> {
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err(format!("`{pointer}` is not a JSON pointer: did you mean `/{pointer}`?"));
    };
    Ok(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "argument `{}` {}", couplet_core::visible(&self.pointer), self.predicate)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob(glob) => write!(f, "`{}`", couplet_core::visible(glob.as_str())),
            Self::Equals(value) => write!(f, "equals `{}`", couplet_core::visible(&value.to_string())),
            Self::Within(folder) => write!(f, "within `{}`", couplet_core::visible(folder)),
            Self::Range { min, max } => {
                min.iter().try_for_each(|min| write!(f, "min {min}"))?;
                let space = if min.is_some() && max.is_some() { " " } else { "" };
                max.iter().try_for_each(|max| write!(f, "{space}max {max}"))
            }
            Self::Present(present) => write!(f, "present {present}"),
            Self::AnyOf(any) => {
                for (at, one) in any.iter().enumerate() {
                    write!(f, "{}{one}", if at > 0 { " or " } else { "" })?;
                }
                Ok(())
            }
            Self::Not(inner) => write!(f, "not {inner}"),
        }
    }
}
