//! A small validator of JSON Schema: the keywords that tools use, without a large dependency.
//!
//! A schema is compiled when a tool is registered; a broken one is rejected there. A call walks over the text of its
//! arguments once, without a tree of values in between. Supported are `type`, `enum`, `const`, the limits of numbers,
//! strings, arrays and objects, `uniqueItems`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
//! `allOf`, `anyOf`, `oneOf`, `not`, `if`, and `$ref` within the schema. All other keywords are ignored: `pattern`,
//! `patternProperties`, `propertyNames`, `contains`, the `dependent…` and `unevaluated…` keywords need the complete
//! validator (see [`Validation`](crate::Validation)); `format` is an annotation to both.

mod compile;
mod cursor;
mod number;
mod walk;

use std::collections::HashMap;

use serde_json::Value;

use crate::fault::Fault;

use cursor::Cursor;
use number::Number;

/// A compiled schema.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    /// All subschemas; the first one is the root.
    rules: Vec<Rules>,
    view: View,
}

/// The origin of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Written by hand: nothing else validates the value.
    Given,
    /// Derived from a type: deserialization validates the type, and the schema only the rest.
    Type,
}

/// The keywords that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    All,
    /// The keywords that describe the type.
    Shape,
    /// The keywords that say more than the type.
    Constraints,
}

impl Checker {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If it is broken, with the place and the reason.
    pub(crate) fn new(schema: &Value, origin: Origin) -> Result<Self, String> {
        let view = if origin == Origin::Given { View::All } else { View::Constraints };
        Ok(Self { rules: compile::compile(schema, origin)?, view })
    }

    /// Compiles the schema of a type; none if deserialization validates everything that it says.
    ///
    /// # Errors
    /// If the schema is broken.
    pub(crate) fn of_type(schema: &Value) -> Result<Option<Self>, String> {
        let checker = Self::new(schema, Origin::Type)?;
        Ok(checker.rules.iter().any(Rules::constrain).then_some(checker))
    }

    /// Validates a value, given as well-formed JSON text.
    pub(crate) fn check(&self, json: &str) -> Result<(), Fault> {
        walk::check(&self.rules, json, self.view)
    }

    /// Validates the type, too: for values that were not deserialized into it.
    pub(crate) fn check_all(&self, json: &str) -> Result<(), Fault> {
        walk::check(&self.rules, json, View::All)
    }
}

/// The place of a subschema among all of them.
type Id = usize;

/// The rules of one subschema.
#[derive(Clone, Debug, Default)]
struct Rules {
    /// The types that are allowed, as bits; any if there are none.
    types: u8,
    /// Values of which one has to fit: of `enum`, and of `const`.
    choices: Vec<Vec<Value>>,
    limits: Vec<Limit>,
    unique: bool,
    properties: HashMap<String, Id>,
    required: Vec<String>,
    /// The schema of `additionalProperties`.
    others: Option<Others>,
    prefix: Vec<Id>,
    items: Option<Id>,
    /// Subschemas for the same value.
    same: Vec<Same>,
    /// Nothing fits.
    never: bool,
}

impl Rules {
    fn constrain(&self) -> bool {
        !self.limits.is_empty() || self.unique
    }

    fn looks_inside(&self) -> bool {
        !self.properties.is_empty()
            || !self.required.is_empty()
            || self.others.is_some()
            || !self.prefix.is_empty()
            || self.items.is_some()
            || self.unique
            || !self.limits.is_empty()
    }
}

/// The rule for members that are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    None,
    Fit(Id),
}

/// A limit of a number, a string, an array or an object.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Minimum(Number),
    Maximum(Number),
    Above(Number),
    Below(Number),
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinMembers(u64),
    MaxMembers(u64),
    /// A number of 32 bits would be infinite.
    Single,
}

/// Subschemas for the same value, and how many of them have to fit.
#[derive(Clone, Debug)]
enum Same {
    All(Vec<Id>),
    Any(Vec<Id>),
    One(Vec<Id>),
    Not(Id),
    If { condition: Id, then: Option<Id>, otherwise: Option<Id> },
}

/// The types of JSON as bits. An integer is a number, too.
const TYPES: [(&str, u8); 7] = [
    ("null", 1),
    ("boolean", 1 << 1),
    ("integer", 1 << 2),
    ("number", 1 << 3),
    ("string", 1 << 4),
    ("array", 1 << 5),
    ("object", 1 << 6),
];

/// A member of an object that is not among the known ones.
pub(crate) fn unknown_member(json: &str, known: &[String]) -> Option<Fault> {
    let mut cursor = Cursor::new(json);
    cursor.enter();
    while cursor.next() {
        let key = cursor.key();
        if known.iter().all(|name| *name != key) {
            return Some(Fault::unknown(&key, known.iter().map(String::as_str)));
        }
        cursor.skip();
    }
    None
}

/// The integer that a number is, if it is one that is written with a fraction or an exponent: `1000.0`, `1e3`.
pub(crate) fn integer(number: &str) -> Option<Result<u64, i64>> {
    match Number::parse(number) {
        Number::Integer(value) => u64::try_from(value).map(Ok).or_else(|_| i64::try_from(value).map(Err)).ok(),
        Number::Float(_) => None,
    }
}

/// Whether a JSON text has a number that is written with a fraction or an exponent.
pub(crate) fn has_fraction(json: &str) -> bool {
    Cursor::new(json).any_number(|number| number.contains(['.', 'e', 'E']))
}

#[cfg(test)]
mod tests;
