//! The values that subschemas allow.

use serde_json::{Map, Value};

use super::{Compiler, Side, each, types};
use crate::{Place, Surface, report::Report, rule::table, visible::shown};

table! { Schemas:
    ENUM_TYPE = "schema-enum-type" Warning
        about "an `enum` has no type"
        why "The Gemini API accepts `enum` only with `\"type\": \"string\"` (makenotion/notion-mcp-server#42, google-gemini/gemini-cli#4400)."
        fix "Add `\"type\": \"string\"`."
    ENUM_VALUES = "schema-enum-values" Warning
        about "an `enum` has values that are not strings, or an empty string"
        why "The Gemini API rejects numbers (router-for-me/CLIProxyAPI#1075) and empty strings (sbroenne/mcp-server-excel#607) among the values."
        fix "Write numbers as strings, and make the argument optional instead of the empty string."
    CONST = "schema-const" Warning
        about "an argument has `const`"
        why "The Gemini API does not support `const` (taylorwilsdon/google_workspace_mcp#1099)."
        fix "Use `enum` with one value and `\"type\": \"string\"`."
    NUMBER_FORMAT = "schema-format-number" Warning
        about "a number has a format that validators do not know"
        why "JSON Schema has no formats for numbers: clients with Ajv log a warning for each, repeatedly (anomalyco/opencode#31002, Piebald-AI/splitrail#113)."
        fix "Remove `format`; use `minimum` and `maximum`."
    TEXT_FORMAT = "schema-format-text" Note (optional)
        about "a string has a format other than `date-time`"
        why "The Gemini API supports no other (google-gemini/gemini-cli#2237), and the strict mode of the OpenAI API rejects some, such as `uri` (posit-dev/chatlas#255)."
        fix "Say it in the description instead."
    DEFAULT = "schema-default" Warning
        about "a default does not match the schema"
        why "Clients send defaults for absent arguments, and the call fails (langchain-ai/langsmith-mcp-server#69)."
        fix "Correct the default, or remove it; an optional argument needs none."
    EXAMPLE = "schema-example" Warning
        about "an example does not match the schema"
        why "Models copy examples."
        fix "Correct the example or the schema."
    REQUIRED = "schema-required-unknown" Warning
        about "a schema requires members that it does not list"
        why "The Gemini API rejects every request with such a tool (MarkusPfundstein/mcp-obsidian#105)."
        fix "List the member under `properties`, or do not require it."
    LOOKAROUND = "schema-pattern-lookaround" Error
        about "a pattern uses lookahead or lookbehind"
        why "The OpenAI API rejects every request with such a tool (cline/cline#14019), and models that llama.cpp runs cannot call any tool (codefuturist/email-mcp#72). Zod writes such patterns for e-mail addresses."
        fix "Remove the pattern, or write it without `(?=`, `(?!`, `(?<=` and `(?<!`; check in the tool."
    PATTERN = "schema-pattern" Warning
        about "a pattern cannot be compiled"
        why "Clients that check arguments or results reject the schema, and so does the OpenAI API (Dokploy/mcp#45)."
        fix "Correct the pattern, or remove it and check in the tool."
}

/// Formats of numbers that validators support though JSON Schema does not define them.
const NUMBER_FORMATS: [&str; 4] = ["int32", "int64", "float", "double"];

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let mut compiler = Compiler::new();
    each(surface, |tool, side, tree| {
        for (at, node, schema) in tree.objects() {
            let place = || tool.at(tree.pointer(at));
            format(node.schema, schema, side, place, report);
            if side == Side::Output {
                continue;
            }
            choices(node.schema, schema, place, report);
            required(schema, place, report);
            pattern(schema, &mut compiler, place, report);
            instances(node.schema, schema, &mut compiler, place, report);
        }
    });
}

fn format(
    schema: &Value,
    keywords: &Map<String, Value>,
    side: Side,
    place: impl Fn() -> Place,
    report: &mut Report<'_>,
) {
    let Some(format) = keywords.get("format").and_then(Value::as_str) else { return };
    let named = types(schema);
    let is_number = named.contains(&"integer") || named.contains(&"number");
    if is_number && !NUMBER_FORMATS.contains(&format) {
        report.add(&NUMBER_FORMAT, place(), format!("`format` is `{format}`"));
    } else if side == Side::Input && named.contains(&"string") && !["date-time", "enum"].contains(&format) {
        report.add(&TEXT_FORMAT, place(), format!("`format` is `{format}`"));
    }
}

fn choices(schema: &Value, keywords: &Map<String, Value>, place: impl Fn() -> Place, report: &mut Report<'_>) {
    if let Some(constant) = keywords.get("const") {
        report.add(&CONST, place(), format!("`const` is `{}`", shown(&constant.to_string(), 80)));
    }
    let Some(values) = keywords.get("enum").and_then(Value::as_array) else { return };
    if types(schema).is_empty() {
        report.add(&ENUM_TYPE, place(), "there is `enum`, but no `type`");
    }
    let odd = values.iter().find(|value| value.as_str().is_none_or(str::is_empty));
    if let Some(odd) = odd {
        report.add(&ENUM_VALUES, place(), format!("one of the values is `{}`", shown(&odd.to_string(), 80)));
    }
}

fn required(keywords: &Map<String, Value>, place: impl Fn() -> Place, report: &mut Report<'_>) {
    // A part of a combination may require a member that another part lists.
    let Some(listed) = keywords.get("properties").and_then(Value::as_object) else { return };
    for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !listed.contains_key(name) {
            report.add(&REQUIRED, place(), format!("`{name}` is required, but not among the `properties`"));
        }
    }
}

fn pattern(keywords: &Map<String, Value>, compiler: &mut Compiler, place: impl Fn() -> Place, report: &mut Report<'_>) {
    let Some(pattern) = keywords.get("pattern").and_then(Value::as_str) else { return };
    let what = || format!("the pattern is `{}`", shown(pattern, 120));
    match peculiar(pattern) {
        Some(Peculiar::Around) => report.add(&LOOKAROUND, place(), what()),
        Some(Peculiar::Back) => {}
        None => {
            let alone = Value::Object(Map::from_iter([("pattern".to_owned(), pattern.into())]));
            if matches!(compiler.compile(&alone), Some(Err(_))) {
                report.add(&PATTERN, place(), what());
            }
        }
    }
}

/// A feature that not every regular expression engine supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peculiar {
    Around,
    Back,
}

/// Finds lookaround groups and backreferences, outside of classes and escapes.
fn peculiar(pattern: &str) -> Option<Peculiar> {
    let (mut rest, mut in_class, mut refers) = (pattern, false, false);
    while let Some(c) = rest.chars().next() {
        let around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|start| rest.starts_with(start));
        if around && !in_class {
            return Some(Peculiar::Around);
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let next = rest.chars().next();
                refers |= !in_class && next.is_some_and(|c| matches!(c, '1'..='9' | 'k'));
                rest = &rest[next.map_or(0, char::len_utf8)..];
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    refers.then_some(Peculiar::Back)
}

fn instances(
    schema: &Value,
    keywords: &Map<String, Value>,
    compiler: &mut Compiler,
    place: impl Fn() -> Place,
    report: &mut Report<'_>,
) {
    let default = keywords.get("default").map(|value| (&DEFAULT, value));
    let examples = keywords.get("examples").and_then(Value::as_array).into_iter().flatten();
    let examples = examples.chain(keywords.get("example")).take(20).map(|value| (&EXAMPLE, value));
    let mut values = default.into_iter().chain(examples).peekable();
    // A subschema alone cannot resolve references into the rest of the schema.
    if values.peek().is_none() || has_reference(schema) {
        return;
    }
    let Some(Ok(compiled)) = compiler.compile(schema) else { return };
    for (rule, value) in values {
        let value = value.to_string();
        if let Err(mismatch) = compiled.check(&value) {
            report.add(rule, place(), format!("`{}` does not match: {mismatch}", shown(&value, 80)));
        }
    }
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_reference),
        Value::Object(members) => {
            members.contains_key("$ref") || members.contains_key("$dynamicRef") || members.values().any(has_reference)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_around_does() {
        for (pattern, expected) in [
            ("^(?!x)", Some(Peculiar::Around)),
            (r"(?<=a)b", Some(Peculiar::Around)),
            (r"\\(?=a)", Some(Peculiar::Around)),
            (r"(a)\1", Some(Peculiar::Back)),
            (r"(?<a>b)\k<a>", Some(Peculiar::Back)),
            (r"\(?=a", None),
            ("[(?=]+", None),
            (r"(?:a)(?<name>b)[\1]", None),
            (r"\", None),
            ("ä[ö", None),
        ] {
            assert_eq!(peculiar(pattern), expected, "{pattern}");
        }
    }
}
