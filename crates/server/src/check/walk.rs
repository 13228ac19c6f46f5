//! Walks over a value, and validates it against the rules.

use std::{cmp::Ordering, collections::HashSet};

use serde_json::Value;

use super::{
    Id, Limit, Number, Others, Rules, Same, TYPES, View,
    cursor::{Cursor, Kind},
};
use crate::fault::{Fault, MAX_QUOTED, Step, capped};

/// The maximum number of subschemas that are compared with places in one value, and of their depth.
const MAX_STEPS: u32 = 2_000_000;
const MAX_DEPTH: u32 = 200;
/// The maximum number of choices in a message.
const MAX_CHOICES: usize = 10;

/// Validates a value.
pub(super) fn check(rules: &[Rules], json: &str, view: View) -> Result<(), Fault> {
    let mut walk = Walk { rules, steps: MAX_STEPS };
    let fits = walk.value(0, &mut Cursor::new(json), view, 0).map_err(|mismatch| mismatch.fault);
    // An alternative may have hidden that there was no end to it.
    if walk.steps == 0 { Err(too_large()) } else { fits }
}

fn too_large() -> Fault {
    Fault::here("the value is too large to be checked against the schema")
}

struct Walk<'r> {
    rules: &'r [Rules],
    steps: u32,
}

/// The reason why a value is invalid.
struct Mismatch {
    fault: Fault,
    /// The expected type or value, if that is wrong.
    wanted: Vec<Wanted>,
    /// Whether it has the wrong type or value, here or further inside.
    is_choice: bool,
}

enum Wanted {
    Type(&'static str),
    Value(String),
}

impl From<Fault> for Mismatch {
    fn from(fault: Fault) -> Self {
        Self { fault, wanted: Vec::new(), is_choice: false }
    }
}

impl Mismatch {
    fn expected(expected: impl std::fmt::Display, got: Cursor<'_>) -> Self {
        Fault::here(format_args!("expected {expected}, got {}", got.quoted())).into()
    }

    fn of(wanted: Vec<Wanted>, got: Cursor<'_>) -> Self {
        Self { is_choice: true, ..Self::expected(one_of(&wanted), got) }.wanting(wanted)
    }

    fn wanting(mut self, wanted: Vec<Wanted>) -> Self {
        self.wanted = wanted;
        self
    }

    fn inside(self, step: Step) -> Self {
        Self { fault: self.fault.inside(step), wanted: Vec::new(), is_choice: self.is_choice }
    }
}

type Fits = Result<(), Mismatch>;

impl<'r> Walk<'r> {
    /// Validates one value against one subschema, and moves past it.
    fn value(&mut self, id: Id, cursor: &mut Cursor<'_>, view: View, depth: u32) -> Fits {
        let rules: &'r Rules = &self.rules[id];
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 || depth > MAX_DEPTH {
            self.steps = 0;
            return Err(too_large().into());
        }
        let here = *cursor;
        let kind = cursor.kind();
        if view != View::Constraints {
            is_of_type(rules, kind, here)?;
            self.is_a_choice(rules, here)?;
        }
        match kind {
            Kind::Object if rules.looks_inside() => self.object(rules, cursor, view, depth)?,
            Kind::Array if rules.looks_inside() => self.array(rules, cursor, view, depth)?,
            _ => {
                let text = cursor.skip();
                if view != View::Shape && !rules.limits.is_empty() {
                    within_limits(rules, kind, text, here)?;
                }
            }
        }
        rules.same.iter().try_for_each(|same| self.same(same, here, view, depth + 1))
    }

    fn is_a_choice(&mut self, rules: &Rules, here: Cursor<'_>) -> Fits {
        for choices in &rules.choices {
            self.steps = self.steps.saturating_sub(u32::try_from(choices.len()).unwrap_or(u32::MAX));
            if !choices.iter().any(|choice| is_same(choice, here)) {
                return Err(Mismatch::of(choices.iter().map(literal).map(Wanted::Value).collect(), here));
            }
        }
        Ok(())
    }

    fn object(&mut self, rules: &'r Rules, cursor: &mut Cursor<'_>, view: View, depth: u32) -> Fits {
        let here = *cursor;
        let mut missing: Vec<&str> = rules.required.iter().map(String::as_str).collect();
        let mut members = 0;
        cursor.enter();
        while cursor.next() {
            let key = cursor.key();
            members += 1;
            missing.retain(|name| *name != key);
            let id = match (rules.properties.get(&*key).copied(), rules.others) {
                (Some(id), _) | (None, Some(Others::Fit(id))) => id,
                (None, Some(Others::None)) if view != View::Constraints => {
                    let mut known: Vec<_> = rules.properties.keys().map(String::as_str).collect();
                    known.sort_unstable();
                    return Err(Fault::unknown(&key, known.iter().copied()).into());
                }
                _ => {
                    cursor.skip();
                    continue;
                }
            };
            self.value(id, cursor, view, depth + 1).map_err(|mismatch| mismatch.inside(Step::key(&key)))?;
        }
        if view != View::Constraints
            && let Some(name) = missing.first()
        {
            return Err(Fault::missing(name).into());
        }
        if view == View::Shape { Ok(()) } else { counted(rules, Kind::Object, members, here) }
    }

    fn array(&mut self, rules: &'r Rules, cursor: &mut Cursor<'_>, view: View, depth: u32) -> Fits {
        let here = *cursor;
        let mut seen = HashSet::new();
        let mut items = 0;
        cursor.enter();
        while cursor.next() {
            let item = *cursor;
            match rules.prefix.get(items).or(rules.items.as_ref()) {
                Some(id) => {
                    let fits = self.value(*id, cursor, view, depth + 1);
                    fits.map_err(|mismatch| mismatch.inside(Step::Index(items)))?;
                }
                None => drop(cursor.skip()),
            }
            if rules.unique && view != View::Shape && !seen.insert(canonical(item)) {
                return Err(Mismatch::expected("an array without repetitions", item).inside(Step::Index(items)));
            }
            items += 1;
        }
        if view == View::Shape { Ok(()) } else { counted(rules, Kind::Array, items as u64, here) }
    }

    fn same(&mut self, same: &'r Same, here: Cursor<'_>, view: View, depth: u32) -> Fits {
        match same {
            Same::All(ids) => ids.iter().try_for_each(|id| self.value(*id, &mut here.clone(), view, depth)),
            Same::Any(ids) | Same::One(ids) if view == View::Constraints => self.constraints(ids, here, depth),
            Same::Any(ids) => self.alternatives(ids, here, view, depth).map(drop),
            Same::One(ids) => match self.alternatives(ids, here, view, depth)? {
                fitting if fitting > 1 && view == View::All => {
                    Err(Mismatch::expected("a value that fits exactly one alternative", here))
                }
                _ => Ok(()),
            },
            Same::Not(_) | Same::If { .. } if view != View::All => Ok(()),
            Same::Not(id) => match self.value(*id, &mut here.clone(), view, depth) {
                Ok(()) => Err(Mismatch::expected("a value that the schema does not exclude", here)),
                Err(_) => Ok(()),
            },
            Same::If { condition, then, otherwise } => {
                let holds = self.value(*condition, &mut here.clone(), view, depth).is_ok();
                let branch = if holds { then } else { otherwise };
                branch.map_or(Ok(()), |id| self.value(id, &mut here.clone(), view, depth))
            }
        }
    }

    /// The number of alternatives that match: at least one.
    fn alternatives(&mut self, ids: &[Id], here: Cursor<'_>, view: View, depth: u32) -> Result<usize, Mismatch> {
        let mut mismatches = Vec::new();
        for id in ids {
            mismatches.extend(self.value(*id, &mut here.clone(), view, depth).err());
        }
        match ids.len() - mismatches.len() {
            0 => Err(nearest(mismatches, here)),
            fitting => Ok(fitting),
        }
    }

    /// Of the alternatives that are of the value's type, one has to allow it. If there is none, the type says so itself.
    fn constraints(&mut self, ids: &[Id], here: Cursor<'_>, depth: u32) -> Fits {
        let mut first = Ok(());
        for id in ids {
            if self.value(*id, &mut here.clone(), View::Shape, depth).is_ok() {
                match self.value(*id, &mut here.clone(), View::Constraints, depth) {
                    Ok(()) => return Ok(()),
                    mismatch if first.is_ok() => first = mismatch,
                    Err(_) => {}
                }
            }
        }
        first
    }
}

/// The error where no alternative matches: that of the most likely one, or the expectations of all.
fn nearest(mismatches: Vec<Mismatch>, here: Cursor<'_>) -> Mismatch {
    if mismatches.iter().all(|mismatch| !mismatch.wanted.is_empty()) {
        return Mismatch::of(mismatches.into_iter().flat_map(|mismatch| mismatch.wanted).collect(), here);
    }
    let likely = |mismatch: &Mismatch| (mismatch.wanted.is_empty(), !mismatch.is_choice, mismatch.fault.depth());
    let best = mismatches.into_iter().reduce(|best, next| if likely(&next) > likely(&best) { next } else { best });
    best.unwrap_or_else(|| Mismatch::expected("a value that fits an alternative", here))
}

fn is_of_type(rules: &Rules, kind: Kind, here: Cursor<'_>) -> Fits {
    if rules.never {
        return Err(Mismatch::expected("nothing here", here));
    }
    if rules.types == 0 {
        return Ok(());
    }
    let name = match kind {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number if Number::parse(here.clone().skip()).is_integer() => "integer",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    };
    let bits = TYPES.iter().filter(|(known, _)| *known == name || (name == "integer" && *known == "number"));
    if bits.fold(0, |all, (_, bit)| all | bit) & rules.types != 0 {
        return Ok(());
    }
    let allowed = TYPES.iter().filter(|(_, bit)| rules.types & bit != 0);
    Err(Mismatch::of(allowed.map(|(name, _)| Wanted::Type(with_article(name))).collect(), here))
}

fn with_article(name: &str) -> &'static str {
    match name {
        "null" => "null",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "array" => "an array",
        _ => "an object",
    }
}

/// The limits of a number or a string.
fn within_limits(rules: &Rules, kind: Kind, text: &str, here: Cursor<'_>) -> Fits {
    match kind {
        Kind::Number => {
            let number = Number::parse(text);
            let broken = rules.limits.iter().find_map(|limit| beyond(*limit, number));
            broken.map_or(Ok(()), |expected| Err(Mismatch::expected(expected, here)))
        }
        Kind::String => counted(rules, kind, here.string().chars().count() as u64, here),
        // One without anything inside of it that matters.
        Kind::Array | Kind::Object | Kind::Null | Kind::Boolean => Ok(()),
    }
}

/// The violated limit of a number, as an expectation.
fn beyond(limit: Limit, number: Number) -> Option<String> {
    let is = |other: Number, wanted: &[Ordering]| number.compare(other).is_some_and(|o| wanted.contains(&o));
    use Ordering::{Equal, Greater, Less};
    match limit {
        Limit::Minimum(least) if !is(least, &[Greater, Equal]) => Some(format!("a number of at least {least}")),
        Limit::Maximum(most) if !is(most, &[Less, Equal]) => Some(format!("a number of at most {most}")),
        Limit::Above(least) if !is(least, &[Greater]) => Some(format!("a number above {least}")),
        Limit::Below(most) if !is(most, &[Less]) => Some(format!("a number below {most}")),
        Limit::MultipleOf(divisor) if !number.is_multiple_of(divisor) => Some(format!("a multiple of {divisor}")),
        Limit::Single if !number.fits_single() => Some("a number from -3.4e38 to 3.4e38".to_owned()),
        _ => None,
    }
}

/// The limits of how many characters, items or members there are.
fn counted(rules: &Rules, kind: Kind, count: u64, here: Cursor<'_>) -> Fits {
    let broken = rules.limits.iter().find_map(|limit| match (kind, *limit) {
        (Kind::String, Limit::MinLength(least)) if count < least => Some(("a string", "least", least, "character")),
        (Kind::String, Limit::MaxLength(most)) if count > most => Some(("a string", "most", most, "character")),
        (Kind::Array, Limit::MinItems(least)) if count < least => Some(("an array", "least", least, "item")),
        (Kind::Array, Limit::MaxItems(most)) if count > most => Some(("an array", "most", most, "item")),
        (Kind::Object, Limit::MinMembers(least)) if count < least => Some(("an object", "least", least, "member")),
        (Kind::Object, Limit::MaxMembers(most)) if count > most => Some(("an object", "most", most, "member")),
        _ => None,
    });
    let Some((thing, side, limit, part)) = broken else { return Ok(()) };
    let plural = if limit == 1 { "" } else { "s" };
    let expected = format!("{thing} of at {side} {limit} {part}{plural}");
    Err(match kind {
        Kind::String => Mismatch::expected(expected, here),
        _ => Fault::here(format_args!("expected {expected}, got {count}")).into(),
    })
}

fn one_of(wanted: &[Wanted]) -> String {
    let mut types = Vec::new();
    let mut values: Vec<&str> = Vec::new();
    for one in wanted {
        match one {
            Wanted::Type(name) if !types.contains(name) => types.push(*name),
            Wanted::Value(value) if !values.contains(&value.as_str()) => values.push(value),
            _ => {}
        }
    }
    let more = if values.len() > MAX_CHOICES { ", …" } else { "" };
    let shown = values.iter().take(MAX_CHOICES).map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    let choice = if values.len() == 1 { shown } else { format!("one of {shown}{more}") };
    if !values.is_empty() {
        types.push(&choice);
    }
    match types.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => capped(text, MAX_QUOTED),
        value => capped(&value.to_string(), MAX_QUOTED),
    }
}

/// Whether the value that comes next is this one.
fn is_same(value: &Value, mut here: Cursor<'_>) -> bool {
    match (value, here.kind()) {
        (Value::Null, Kind::Null) => true,
        (Value::Bool(value), Kind::Boolean) => here.skip() == if *value { "true" } else { "false" },
        (Value::String(text), Kind::String) => here.string() == text.as_str(),
        (Value::Number(number), Kind::Number) => {
            Number::parse(&number.to_string()).compare(Number::parse(here.skip())) == Some(Ordering::Equal)
        }
        (Value::Array(_), Kind::Array) | (Value::Object(_), Kind::Object) => {
            canonical(Cursor::new(&value.to_string())) == canonical(here)
        }
        _ => false,
    }
}

/// The value that comes next, so that equal values have equal texts.
fn canonical(mut here: Cursor<'_>) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                out.push('{');
                for (key, value) in members {
                    out.push_str(&Value::from(key.as_str()).to_string());
                    out.push(':');
                    write(value, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Number(number) => out.push_str(&Number::parse(&number.to_string()).to_string()),
            plain => out.push_str(&plain.to_string()),
        }
    }
    let mut out = String::new();
    let text = here.skip();
    match serde_json::from_str(text) {
        Ok(value) => write(&value, &mut out),
        Err(_) => out.push_str(text),
    }
    out
}
