//! Checks of one value against one kind.

use couplet_types::ProtocolVersion;
use serde_json::Value;

use super::Finding;
use crate::table::{Body, Kind, Member, Range, TABLE};

/// A walk through a value and its definition.
pub(super) struct Rules {
    version: ProtocolVersion,
    at: String,
    pub(super) findings: Vec<Finding>,
}

impl Rules {
    pub(super) fn new(version: ProtocolVersion, at: &str) -> Self {
        Self { version, at: at.to_owned(), findings: Vec::new() }
    }

    /// Checks a value, and collects the findings.
    pub(super) fn check(&mut self, kind: &Kind, value: &Value) {
        match kind {
            Kind::Named(name) => match TABLE.body(name, self.version) {
                Some(Body::Kind(kind)) => self.check(kind, value),
                Some(Body::Members(members)) => self.members(name, members, value),
                None => {}
            },
            Kind::Union(kinds) => self.union(kinds, value),
            Kind::List(item, most) => self.list(item, *most, value),
            Kind::Map(inner) => match value.as_object() {
                Some(members) => members.iter().for_each(|(key, value)| self.below(key, |s| s.check(inner, value))),
                None => self.report("an object", Some(value)),
            },
            plain if fits(plain, value) => {}
            plain => self.report(words(plain), Some(value)),
        }
    }

    fn members(&mut self, name: &str, members: &[Member], value: &Value) {
        let Some(object) = value.as_object() else {
            return self.report(format!("an object (`{name}`)"), Some(value));
        };
        let version = self.version;
        for member in members.iter().filter(|m| m.revisions.has(version)) {
            match object.get(member.name) {
                Some(value) => self.below(member.name, |s| s.check(&member.kind, value)),
                None if member.optional => {}
                None => self.report(format!("a member `{}` ({})", member.name, words(&member.kind)), None),
            }
        }
    }

    fn list(&mut self, item: &Kind, most: Option<usize>, value: &Value) {
        let Some(items) = value.as_array() else { return self.report("an array", Some(value)) };
        if let Some(most) = most.filter(|most| items.len() > *most) {
            self.report(format!("at most {most} items"), Some(value));
        }
        for (at, value) in items.iter().enumerate() {
            self.below(&at.to_string(), |s| s.check(item, value));
        }
    }

    /// Checks a union: if no alternative matches, it reports the findings of the intended one.
    fn union(&mut self, kinds: &[Kind], value: &Value) {
        let mut alternatives = Vec::new();
        self.flatten(kinds, &mut alternatives);
        let tries: Vec<Vec<Finding>> = alternatives.iter().map(|kind| self.attempt(kind, value)).collect();
        if tries.iter().any(Vec::is_empty) {
            return;
        }
        let object = value.as_object();
        let meant: Vec<usize> = (0..alternatives.len()).filter(|i| self.is_meant(alternatives[*i], value)).collect();
        if let (Some(object), true) = (object, meant.is_empty())
            && let Some((tag, values)) = self.tags(&alternatives)
        {
            return match object.get(tag) {
                Some(found) => self.below(tag, |s| s.report(one_of(&values), Some(found))),
                None => self.report(format!("a member `{tag}` ({})", one_of(&values)), None),
            };
        }
        match meant.iter().min_by_key(|i| tries[**i].len()) {
            Some(best) => self.findings.extend(tries[*best].iter().cloned()),
            None => self.report(either(&alternatives), Some(value)),
        }
    }

    fn attempt(&self, kind: &Kind, value: &Value) -> Vec<Finding> {
        let mut rules = Self::new(self.version, &self.at);
        rules.check(kind, value);
        rules.findings
    }

    /// Collects the alternatives of a union, including those of nested unions.
    fn flatten<'k>(&self, kinds: &'k [Kind], all: &mut Vec<&'k Kind>) {
        for kind in kinds {
            match kind {
                Kind::Named(name) => match TABLE.body(name, self.version) {
                    Some(Body::Kind(Kind::Union(kinds))) => self.flatten(kinds, all),
                    _ => all.push(kind),
                },
                Kind::Union(kinds) => self.flatten(kinds, all),
                _ => all.push(kind),
            }
        }
    }

    /// Whether an alternative has the value's JSON type, and the same constants as far as the value has them.
    fn is_meant(&self, kind: &Kind, value: &Value) -> bool {
        let Some(members) = self.members_of(kind) else {
            return match (kind, value) {
                (Kind::List(..), value) => value.is_array(),
                (Kind::Map(_), value) => value.is_object(),
                (Kind::Integer(_) | Kind::Number(_) | Kind::Code(_), value) => value.is_number(),
                (Kind::Text(_), value) => value.is_string(),
                (Kind::Named(_), _) => true,
                (kind, value) => fits(kind, value),
            };
        };
        let Some(object) = value.as_object() else { return false };
        let mut constants = members.iter().filter(|m| m.revisions.has(self.version) && is_constant(&m.kind));
        constants.all(|m| object.get(m.name).map_or(m.optional, |value| fits_constant(&m.kind, value)))
    }

    fn members_of(&self, kind: &Kind) -> Option<&'static [Member]> {
        let Kind::Named(name) = kind else { return None };
        match TABLE.body(name, self.version)? {
            Body::Members(members) => Some(members),
            Body::Kind(_) => None,
        }
    }

    /// The member that discriminates the alternatives, and its values.
    fn tags(&self, kinds: &[&Kind]) -> Option<(&'static str, Vec<&'static str>)> {
        let of = |name: &str| -> Vec<&'static str> {
            let members = kinds.iter().filter_map(|k| self.members_of(k)).flatten();
            let tags = members.filter(|m| m.name == name && m.revisions.has(self.version));
            tags.flat_map(|m| texts(&m.kind)).collect()
        };
        ["type", "method", "mode"].into_iter().find_map(|name| {
            let mut values = of(name);
            values.dedup();
            (!values.is_empty()).then_some((name, values))
        })
    }

    fn below(&mut self, token: &str, check: impl FnOnce(&mut Self)) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&token.replace('~', "~0").replace('/', "~1"));
        check(self);
        self.at.truncate(length);
    }

    fn report(&mut self, expected: impl Into<String>, found: Option<&Value>) {
        self.findings.push(Finding::new(self.at.clone(), expected, found));
    }
}

/// Whether a value is of a kind without nested values.
fn fits(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Object | Kind::Map(_) => value.is_object(),
        Kind::String(_) => value.is_string(),
        Kind::Integer(range) => is_integer(value) && within(*range, value),
        Kind::Number(range) => value.is_number() && within(*range, value),
        Kind::Boolean => value.is_boolean(),
        Kind::Null => value.is_null(),
        Kind::Text(text) => value.as_str() == Some(text),
        Kind::Code(code) => is_integer(value) && number(value) == Some(*code as f64),
        Kind::List(..) => value.is_array(),
        Kind::Named(_) | Kind::Union(_) => false,
    }
}

/// JSON Schema counts `1.0` as an integer.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || number(value).is_some_and(|n| n.fract() == 0.0)
}

fn within(range: Range, value: &Value) -> bool {
    let Some(n) = number(value) else { return false };
    range.least.is_none_or(|least| n >= least as f64) && range.most.is_none_or(|most| n <= most as f64)
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn is_constant(kind: &Kind) -> bool {
    !texts(kind).is_empty() || matches!(kind, Kind::Code(_))
}

fn fits_constant(kind: &Kind, value: &Value) -> bool {
    if let Kind::Union(kinds) = kind { kinds.iter().any(|k| fits(k, value)) } else { fits(kind, value) }
}

/// The strings of a constant or a union of constants.
fn texts(kind: &Kind) -> Vec<&'static str> {
    match kind {
        Kind::Text(text) => vec![text],
        Kind::Union(kinds) if kinds.iter().all(|k| matches!(k, Kind::Text(_))) => {
            kinds.iter().flat_map(texts).collect()
        }
        _ => Vec::new(),
    }
}

/// Describes a kind in words.
pub(super) fn words(kind: &Kind) -> String {
    match kind {
        Kind::Any => "any value".into(),
        Kind::Object | Kind::Map(_) => "an object".into(),
        Kind::String(None) => "a string".into(),
        Kind::String(Some("byte")) => "a string (base64)".into(),
        Kind::String(Some(format)) => format!("a string ({format})"),
        Kind::Integer(range) => format!("an integer{}", range_words(*range)),
        Kind::Number(range) => format!("a number{}", range_words(*range)),
        Kind::Boolean => "true or false".into(),
        Kind::Null => "null".into(),
        Kind::Text(text) => format!("{text:?}"),
        Kind::Code(code) => code.to_string(),
        Kind::Named(name) => format!("`{name}`"),
        Kind::List(..) => "an array".into(),
        Kind::Union(kinds) => {
            let texts = texts(kind);
            if texts.is_empty() { either(&kinds.iter().collect::<Vec<_>>()) } else { one_of(&texts) }
        }
    }
}

fn range_words(range: Range) -> String {
    match (range.least, range.most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

fn one_of(texts: &[&str]) -> String {
    match texts {
        [one] => format!("{one:?}"),
        texts => format!("one of {}", texts.iter().map(|t| format!("{t:?}")).collect::<Vec<_>>().join(", ")),
    }
}

fn either(kinds: &[&Kind]) -> String {
    let mut all: Vec<String> = kinds.iter().map(|k| words(k)).collect();
    all.dedup();
    match all.pop() {
        Some(last) if all.is_empty() => last,
        Some(last) => format!("{} or {last}", all.join(", ")),
        None => "nothing".into(),
    }
}
