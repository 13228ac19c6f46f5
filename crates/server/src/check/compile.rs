//! Compiles a schema into rules. A broken schema is rejected, with the place as a JSON pointer.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Id, Limit, Number, Origin, Others, Rules, Same, TYPES};
use crate::fault::capped;

/// The maximum number of subschemas of a schema, and of their nesting.
const MAX_RULES: usize = 10_000;
const MAX_DEPTH: usize = 96;

/// Compiles a schema; the first rules are those of its root.
pub(super) fn compile(schema: &Value, origin: Origin) -> Result<Vec<Rules>, String> {
    check_dialect(schema)?;
    let mut compiler = Compiler { document: schema, origin, rules: Vec::new(), known: HashMap::new() };
    compiler.schema(schema, "", 0)?;
    check_work(&compiler.rules)?;
    Ok(compiler.rules)
}

/// Rejects a schema in an unknown dialect: its keywords may mean anything.
fn check_dialect(schema: &Value) -> Result<(), String> {
    const KNOWN: [&str; 5] =
        ["/draft/2020-12/schema", "/draft/2019-09/schema", "/draft-07/schema", "/draft-06/schema", "/draft-04/schema"];
    let Some(dialect) = schema.get("$schema") else { return Ok(()) };
    let address = dialect.as_str().unwrap_or_default().trim_end_matches('#');
    let path = address.split_once("://json-schema.org").map_or("", |(_, path)| path);
    if KNOWN.contains(&path) {
        return Ok(());
    }
    Err(format!(
        "the dialect {dialect} is not known; `$schema` may name 2020-12, 2019-09, draft-07, draft-06 or draft-04"
    ))
}

struct Compiler<'s> {
    document: &'s Value,
    origin: Origin,
    rules: Vec<Rules>,
    known: HashMap<*const Value, Id>,
}

impl<'s> Compiler<'s> {
    fn schema(&mut self, schema: &'s Value, place: &str, depth: usize) -> Result<Id, String> {
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*known);
        }
        let id = self.rules.len();
        if id >= MAX_RULES || depth >= MAX_DEPTH {
            return Err(format!("at `{place}`: more than {MAX_RULES} subschemas, or nested deeper than {MAX_DEPTH}"));
        }
        self.known.insert(schema, id);
        self.rules.push(Rules::default());
        self.rules[id] = match schema {
            Value::Bool(fits) => Rules { never: !fits, ..Rules::default() },
            Value::Object(keywords) => self.keywords(keywords, place, depth + 1)?,
            other => return Err(wrong(place, "a schema: an object or a boolean", other)),
        };
        Ok(id)
    }

    fn keywords(&mut self, keywords: &'s Map<String, Value>, place: &str, depth: usize) -> Result<Rules, String> {
        let mut rules = Rules::default();
        for (keyword, value) in keywords {
            let place = format!("{place}/{}", escaped(keyword));
            self.keyword(&mut rules, keywords, keyword, value, &place, depth)?;
        }
        if self.origin == Origin::Type {
            drop_own_limits(&mut rules, keywords);
        }
        Ok(rules)
    }

    fn keyword(
        &mut self,
        rules: &mut Rules,
        all: &'s Map<String, Value>,
        keyword: &str,
        value: &'s Value,
        place: &str,
        depth: usize,
    ) -> Result<(), String> {
        match keyword {
            "type" => rules.types = types(value, place)?,
            "enum" => rules.choices.push(array(value, place)?.clone()),
            "const" => rules.choices.push(vec![value.clone()]),
            "uniqueItems" => rules.unique = value.as_bool().ok_or_else(|| wrong(place, "a boolean", value))?,
            "required" => {
                for name in array(value, place)? {
                    let name = name.as_str().ok_or_else(|| wrong(place, "an array of strings", value))?;
                    rules.required.push(name.to_owned());
                }
            }
            "properties" => {
                let members = self.map(value, place, depth)?;
                rules.properties = members.into_iter().map(|(name, id)| (name.clone(), id)).collect();
            }
            // Without patterns it is not known which members are left over.
            "additionalProperties" if all.contains_key("patternProperties") => {
                self.schema(value, place, depth)?;
            }
            "additionalProperties" => {
                rules.others = match value {
                    Value::Bool(true) => None,
                    Value::Bool(false) => Some(Others::None),
                    schema => Some(Others::Fit(self.schema(schema, place, depth)?)),
                };
            }
            "prefixItems" => rules.prefix = self.list(value, place, depth)?,
            // So it was written before 2020-12.
            "items" if value.is_array() => rules.prefix = self.list(value, place, depth)?,
            "additionalItems" if all.get("items").is_some_and(Value::is_array) => {
                rules.items = Some(self.schema(value, place, depth)?);
            }
            "items" => rules.items = Some(self.schema(value, place, depth)?),
            "allOf" => rules.same.push(Same::All(self.alternatives(value, place, depth)?)),
            "anyOf" => rules.same.push(Same::Any(self.alternatives(value, place, depth)?)),
            "oneOf" => rules.same.push(Same::One(self.alternatives(value, place, depth)?)),
            "not" => rules.same.push(Same::Not(self.schema(value, place, depth)?)),
            "if" => {
                let condition = self.schema(value, place, depth)?;
                let mut branch = |key: &str| all.get(key).map(|s| self.schema(s, place, depth)).transpose();
                let (then, otherwise) = (branch("then")?, branch("else")?);
                rules.same.push(Same::If { condition, then, otherwise });
            }
            "$ref" => {
                let reference = value.as_str().ok_or_else(|| wrong(place, "a string", value))?;
                if let Some(target) = self.referred(reference, place)? {
                    let id = self.schema(target, reference.trim_start_matches('#'), depth)?;
                    rules.same.push(Same::All(vec![id]));
                }
            }
            // These are not checked here, but a broken one is refused all the same.
            "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => drop(self.map(value, place, depth)?),
            "propertyNames" | "contains" | "unevaluatedProperties" | "unevaluatedItems" => {
                self.schema(value, place, depth)?;
            }
            "format" if value == "float" && self.origin == Origin::Type => rules.limits.push(Limit::Single),
            _ => rules.limits.extend(limit(all, keyword, value, place)?),
        }
        Ok(())
    }

    fn map(&mut self, value: &'s Value, place: &str, depth: usize) -> Result<Vec<(&'s String, Id)>, String> {
        let members = value.as_object().ok_or_else(|| wrong(place, "an object of schemas", value))?;
        let mut compile = |(name, schema): (&'s String, &'s Value)| {
            Ok((name, self.schema(schema, &format!("{place}/{}", escaped(name)), depth)?))
        };
        members.iter().map(&mut compile).collect()
    }

    fn list(&mut self, value: &'s Value, place: &str, depth: usize) -> Result<Vec<Id>, String> {
        let mut compile = |(at, schema): (usize, &'s Value)| self.schema(schema, &format!("{place}/{at}"), depth);
        array(value, place)?.iter().enumerate().map(&mut compile).collect()
    }

    fn alternatives(&mut self, value: &'s Value, place: &str, depth: usize) -> Result<Vec<Id>, String> {
        match self.list(value, place, depth)? {
            list if list.is_empty() => Err(wrong(place, "one schema or more", value)),
            list => Ok(list),
        }
    }

    /// The schema that a reference leads to; none if only the complete validator can resolve it.
    fn referred(&self, reference: &str, place: &str) -> Result<Option<&'s Value>, String> {
        let found = match reference.strip_prefix('#') {
            Some("") => Some(self.document),
            Some(pointer) if pointer.starts_with('/') => self.document.pointer(&percent_decoded(pointer)),
            Some(anchor) => find(self.document, &|members| {
                ["$anchor", "$dynamicAnchor"].iter().any(|key| members.get(*key).is_some_and(|a| a == anchor))
            }),
            None => None,
        };
        // A schema inside with an address of its own has places of its own.
        let is_addressed = |members: &Map<String, Value>| members.contains_key("$id") || members.contains_key("id");
        match found {
            Some(schema) => Ok(Some(schema)),
            None if find(self.document, &is_addressed).is_some() => Ok(None),
            None if reference.starts_with('#') => {
                Err(format!("at `{place}`: `{}` leads nowhere within the schema", capped(reference, 100)))
            }
            None => {
                let reference = capped(reference, 100);
                Err(format!("at `{place}`: it refers to `{reference}`, which is outside of it, and nothing is fetched"))
            }
        }
    }
}

fn find<'v>(value: &'v Value, wanted: &dyn Fn(&Map<String, Value>) -> bool) -> Option<&'v Value> {
    match value {
        Value::Object(members) if wanted(members) => Some(value),
        Value::Object(members) => members.values().find_map(|member| find(member, wanted)),
        Value::Array(items) => items.iter().find_map(|item| find(item, wanted)),
        _ => None,
    }
}

fn types(value: &Value, place: &str) -> Result<u8, String> {
    let named = |name: &Value| TYPES.iter().find(|(known, _)| name == known).map(|(_, bit)| *bit);
    let bits: Option<Vec<u8>> = match value {
        Value::Array(names) if !names.is_empty() => names.iter().map(named).collect(),
        name => named(name).map(|bit| vec![bit]),
    };
    let bits = bits.ok_or_else(|| wrong(place, "a type of JSON, or several of them", value))?;
    Ok(bits.into_iter().fold(0, |all, bit| all | bit))
}

fn limit(all: &Map<String, Value>, keyword: &str, value: &Value, place: &str) -> Result<Option<Limit>, String> {
    let number = || match value {
        Value::Number(number) => Ok(Number::parse(&number.to_string())),
        other => Err(wrong(place, "a number", other)),
    };
    let count = || match number() {
        Ok(Number::Integer(count)) => u64::try_from(count).map_err(|_| wrong(place, "an integer of 0 or more", value)),
        _ => Err(wrong(place, "an integer of 0 or more", value)),
    };
    // So it was written in draft-04: `exclusiveMinimum` says how `minimum` is meant.
    let exclusive = |key: &str| all.get(key) == Some(&Value::Bool(true));
    Ok(Some(match keyword {
        "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return Ok(None),
        "minimum" if exclusive("exclusiveMinimum") => Limit::Above(number()?),
        "maximum" if exclusive("exclusiveMaximum") => Limit::Below(number()?),
        "minimum" => Limit::Minimum(number()?),
        "maximum" => Limit::Maximum(number()?),
        "exclusiveMinimum" => Limit::Above(number()?),
        "exclusiveMaximum" => Limit::Below(number()?),
        "multipleOf" => match number()? {
            divisor if divisor.is_positive() => Limit::MultipleOf(divisor),
            _ => return Err(wrong(place, "a number above 0", value)),
        },
        "minLength" => Limit::MinLength(count()?),
        "maxLength" => Limit::MaxLength(count()?),
        "minItems" => Limit::MinItems(count()?),
        "maxItems" => Limit::MaxItems(count()?),
        "minProperties" => Limit::MinMembers(count()?),
        "maxProperties" => Limit::MaxMembers(count()?),
        _ => return Ok(None),
    }))
}

/// Drops the limits that deserialization enforces.
fn drop_own_limits(rules: &mut Rules, keywords: &Map<String, Value>) {
    let format = keywords.get("format").and_then(Value::as_str).unwrap_or_default();
    let (least, most) = match format {
        "int8" => (Some(-128), Some(127)),
        "int16" => (Some(-32_768), Some(32_767)),
        "uint8" => (Some(0), Some(255)),
        "uint16" => (Some(0), Some(65_535)),
        format if format.starts_with("uint") => (Some(0), None),
        _ => (None, None),
    };
    let is = |number: &Number, own: Option<i128>| own.is_some_and(|own| *number == Number::Integer(own));
    let length = rules.prefix.len() as u64;
    rules.limits.retain(|limit| match limit {
        Limit::Minimum(number) => !is(number, least),
        Limit::Maximum(number) => !is(number, most),
        // A tuple.
        Limit::MinItems(count) | Limit::MaxItems(count) => length == 0 || *count != length,
        _ => true,
    });
}

/// The maximum number of subschemas that apply to one value at once.
const MAX_EXPANDED: u64 = 10_000;

/// Rejects a schema with a subschema that leads back to itself for the same value, which would never end, and one that
/// multiplies.
fn check_work(rules: &[Rules]) -> Result<(), String> {
    let mut work = vec![Work::Unknown; rules.len()];
    (0..rules.len()).try_for_each(|id| expanded(rules, id, &mut work).map(drop))
}

/// The number of subschemas that apply to the value of one.
#[derive(Clone, Copy)]
enum Work {
    Unknown,
    /// It is being counted.
    Open,
    Is(u64),
}

fn expanded(rules: &[Rules], id: Id, work: &mut [Work]) -> Result<u64, String> {
    match work[id] {
        Work::Is(count) => return Ok(count),
        Work::Open => return Err("a `$ref` leads back to itself".to_owned()),
        Work::Unknown => work[id] = Work::Open,
    }
    let mut count: u64 = 1;
    for same in &rules[id].same {
        let ids = match same {
            Same::All(ids) | Same::Any(ids) | Same::One(ids) => ids.clone(),
            Same::Not(id) => vec![*id],
            Same::If { condition, then, otherwise } => {
                [Some(*condition), *then, *otherwise].into_iter().flatten().collect()
            }
        };
        for id in ids {
            count = count.saturating_add(expanded(rules, id, work)?);
        }
    }
    if count > MAX_EXPANDED {
        return Err(format!("it applies more than {MAX_EXPANDED} subschemas to one value, which is beyond the budget"));
    }
    work[id] = Work::Is(count);
    Ok(count)
}

fn array<'v>(value: &'v Value, place: &str) -> Result<&'v Vec<Value>, String> {
    value.as_array().ok_or_else(|| wrong(place, "an array", value))
}

fn wrong(place: &str, expected: &str, got: &Value) -> String {
    format!("at `{place}`: expected {expected}, got `{}`", capped(&got.to_string(), 100))
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |at: usize| after.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
