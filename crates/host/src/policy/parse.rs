//! Rules from a configuration.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};

use super::{Decision, Glob, Rule, arguments::Conditions, nearest::unknown, rule::Target};
use crate::names::Kind;

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RuleVisitor)
    }
}

struct RuleVisitor;

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = Rule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `allow`, `ask` or `deny`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rule, A::Error> {
        let (mut rule, mut name) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            let decision = match &*key {
                "allow" => Decision::Allow,
                "ask" => Decision::Ask,
                "deny" => Decision::Deny,
                "name" => {
                    name = Some(map.next_value::<String>()?.into());
                    continue;
                }
                key => return Err(de::Error::custom(unknown("key", key, &["allow", "ask", "deny", "name"]))),
            };
            let conditions: Conditional = map.next_value()?;
            if rule.replace(Rule { decision, ..conditions.0 }).is_some() {
                return Err(de::Error::custom("a rule has one of `allow`, `ask` and `deny`; write two rules"));
            }
        }
        let rule = rule.ok_or_else(|| de::Error::custom("expected `allow`, `ask` or `deny` in the rule"))?;
        if rule.flow && rule.decision == Decision::Allow {
            return Err(de::Error::custom("`flow` is a condition of `ask` and `deny`, and cannot allow"));
        }
        Ok(Rule { name, ..rule })
    }
}

/// A rule without its decision.
struct Conditional(Rule);

const CONDITIONS: [&str; 13] = [
    "tool",
    "prompt",
    "resource",
    "template",
    "server",
    "principal",
    "profile",
    "door",
    "effect",
    "trust",
    "openWorld",
    "flow",
    "arguments",
];

impl<'de> Deserialize<'de> for Conditional {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ConditionVisitor)
    }
}

struct ConditionVisitor;

impl<'de> Visitor<'de> for ConditionVisitor {
    type Value = Conditional;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with conditions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Conditional, A::Error> {
        let mut rule = Rule::any(Decision::Deny);
        let mut seen: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                "tool" => targets(&mut rule, Kind::Tool, map.next_value()?)?,
                "prompt" => targets(&mut rule, Kind::Prompt, map.next_value()?)?,
                "resource" => targets(&mut rule, Kind::Resource, map.next_value()?)?,
                "template" => targets(&mut rule, Kind::Template, map.next_value()?)?,
                "server" => rule.servers = globs(map.next_value()?)?,
                "principal" => rule.principals = globs(map.next_value()?)?,
                "profile" => rule.profiles = globs(map.next_value()?)?,
                "door" => rule.doors = words(map.next_value()?)?,
                "effect" => rule.effect = Some(map.next_value()?),
                "trust" => rule.trust = Some(map.next_value()?),
                "openWorld" => rule.open_world = Some(map.next_value()?),
                "flow" => rule.flow = flow(&map.next_value::<String>()?)?,
                "arguments" => rule.arguments = map.next_value::<Conditions>()?.0,
                other => return Err(de::Error::custom(unknown("condition", other, &CONDITIONS))),
            }
            if seen.contains(&key) {
                return Err(de::Error::custom(format!("the condition `{key}` appears twice")));
            }
            seen.push(key);
        }
        Ok(Conditional(rule))
    }
}

fn flow<E: de::Error>(word: &str) -> Result<bool, E> {
    if word == "trifecta" { Ok(true) } else { Err(E::custom(unknown("flow", word, &["trifecta"]))) }
}

fn targets<E: de::Error>(rule: &mut Rule, kind: Kind, patterns: Strings) -> Result<(), E> {
    for pattern in patterns.some()? {
        rule.targets.push((kind, Target::new(&pattern).map_err(E::custom)?));
    }
    Ok(())
}

fn globs<E: de::Error>(patterns: Strings) -> Result<Vec<Glob>, E> {
    patterns.some()?.iter().map(|pattern| Glob::new(pattern).map_err(E::custom)).collect()
}

fn words<T: for<'de> Deserialize<'de>, E: de::Error>(words: Strings) -> Result<Vec<T>, E> {
    let parse = |word: &String| T::deserialize(de::value::StrDeserializer::<E>::new(word));
    words.some()?.iter().map(parse).collect()
}

/// A string or a list of strings.
pub(super) struct Strings(Vec<String>);

impl Strings {
    /// Refuses an empty list, which would match everything.
    fn some<E: de::Error>(self) -> Result<Vec<String>, E> {
        if self.0.is_empty() { Err(E::custom("the list is empty; leave the condition out")) } else { Ok(self.0) }
    }
}

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringsVisitor;

        impl<'de> Visitor<'de> for StringsVisitor {
            type Value = Strings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Strings, E> {
                Ok(Strings(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strings, A::Error> {
                let mut strings = Vec::new();
                while let Some(text) = seq.next_element()? {
                    strings.push(text);
                }
                Ok(Strings(strings))
            }
        }

        deserializer.deserialize_any(StringsVisitor)
    }
}
