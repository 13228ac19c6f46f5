//! A small validator of JSON Schema: the keywords that tools use, without a large dependency.
//!
//! A schema is compiled when a tool is registered; one that is broken is refused there. A call walks over the text of
//! its arguments once, without a tree of values in between. Checked are `type`, `enum`, `const`, the limits of numbers,
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

/// A schema that was compiled.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    /// All subschemas; the first one is the root.
    rules: Vec<Rules>,
    view: View,
}

/// Where a schema comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Written by hand: nothing else checks the value.
    Given,
    /// Written from a type: serde checks what the type is, and the schema only the rest.
    Type,
}

/// Which keywords count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    All,
    /// Those that say what the type is.
    Shape,
    /// Those that say more than the type.
    Constraints,
}

impl Checker {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When it is broken: with the place and what is wrong there.
    pub(crate) fn new(schema: &Value, origin: Origin) -> Result<Self, String> {
        let view = if origin == Origin::Given { View::All } else { View::Constraints };
        Ok(Self { rules: compile::compile(schema, origin)?, view })
    }

    /// The same for a schema of a type; none if the type itself checks all that it says.
    ///
    /// # Errors
    /// When the schema is broken.
    pub(crate) fn of_type(schema: &Value) -> Result<Option<Self>, String> {
        let checker = Self::new(schema, Origin::Type)?;
        Ok(checker.rules.iter().any(Rules::constrain).then_some(checker))
    }

    /// Checks a value, given as JSON text that is well formed.
    pub(crate) fn check(&self, json: &str) -> Result<(), Fault> {
        walk::check(&self.rules, json, self.view)
    }

    /// Checks what a type is, too: for values that the type was not read from.
    pub(crate) fn check_all(&self, json: &str) -> Result<(), Fault> {
        walk::check(&self.rules, json, View::All)
    }
}

/// The place of a subschema among all of them.
type Id = usize;

/// What one subschema says.
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

/// What members may be that are not listed.
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
