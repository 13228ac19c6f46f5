//! The validity of a schema: its dialect, its depth, and the result of compiling it.

use couplet_core::http::headers::ParamHeader;
use serde_json::{Map, Value};

use super::{Compiler, Side, each};
use crate::{
    Surface,
    report::Report,
    rule::table,
    schema::{Role, Tree},
    surface::Item,
};

table! { Schemas:
    DIALECT = "schema-dialect" Note
        about "a schema is written in an old dialect of JSON Schema"
        why "2020-12 is the default of the specification; the Anthropic API validates against it, and clients were reported to reject draft-07 (anomalyco/opencode#39365)."
        fix "Write 2020-12 (`$defs`, `prefixItems`, numbers in `exclusiveMinimum`), and omit `$schema`."
    NAMED = "schema-dialect-named" Note
        about "a schema has `$schema`"
        why "2020-12 is the default anyway, and some clients fail on `$schema`: the Gemini API does not support it (promptfoo/promptfoo#4200), Gemini CLI rejected the calls (google-gemini/gemini-cli#17775)."
        fix "Remove `$schema`."
    OLD = "schema-old-keyword" Warning
        about "a schema has keywords that 2020-12 does not have"
        why "The specification reads schemas as 2020-12, where such keywords are ignored or invalid: the Anthropic API rejects every request with a boolean `exclusiveMinimum` (Dokploy/mcp#74)."
        fix "Use `$defs` for `definitions`, `dependentRequired` and `dependentSchemas` for `dependencies`, `prefixItems` for lists of `items`, numbers in `exclusiveMinimum` and `exclusiveMaximum`, nothing for `nullable`."
    INVALID = "schema-invalid" Error
        about "a schema is not JSON Schema"
        why "The specification requires a valid schema; the Anthropic API rejects every request with one that is not (acomagu/vscode-as-mcp-server#6), and clients cannot validate results."
        fix "Correct the schema."
    COSTLY = "schema-costly" Warning
        about "a schema is too expensive to validate against"
        why "The specification tells clients to limit depth, size and time; they then reject the tool or its results."
        fix "Make the schema smaller, with fewer alternatives."
    DEEP = "schema-deep" Warning
        about "a schema is nested deeply"
        why "The Gemini API rejects schemas that are nested too deeply (google-gemini/gemini-cli#5923), others more than 10 levels (anomalyco/opencode#50297, IBM/mcp-context-forge#1875)."
        fix "Make it flatter: fewer levels, or ids instead of nested objects."
    HEADER = "schema-header" Error
        about "an argument has an invalid `x-mcp-header`"
        why "The specification tells clients over HTTP to ignore such a tool."
        fix "Put `x-mcp-header` on strings, integers and booleans that are nested in objects only, with a unique and valid header name."
}

/// Deeper levels are reported.
const DEEPEST: usize = 10;

const THIS_DIALECT: &str = "json-schema.org/draft/2020-12/schema";

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let mut compiler = Compiler::new();
    each(surface, |tool, side, tree| {
        let Some(root) = tree.nodes.first().map(|node| node.schema) else { return };
        let member = if side == Side::Input { "/inputSchema" } else { "/outputSchema" };
        let is_old = dialect(tool, root, member, report);
        if !is_old {
            old_keywords(tool, tree, report);
        }
        depth(tool, tree, report);
        if side == Side::Input
            && let Err(what) = ParamHeader::all(root)
        {
            report.add(&HEADER, tool.at(member), what);
        }
        // A dangling reference is all that a validator could report, and has a rule of its own.
        if tree.objects().all(|(_, _, keywords)| leads(tree, keywords)) {
            let outcome = compiler.compile(&without_patterns(root));
            if let Some(Err(error)) = outcome {
                let rule = if error.is_beyond_budget() { &COSTLY } else { &INVALID };
                report.add(rule, tool.at(member), error.to_string());
            }
        }
    });
}

/// Reports the dialect, if the schema names one; returns whether it is another one than 2020-12.
fn dialect(tool: &Item, root: &Value, member: &str, report: &mut Report<'_>) -> bool {
    let Some(Value::String(said)) = root.get("$schema") else { return false };
    let (rule, is_old) = if said.contains(THIS_DIALECT) { (&NAMED, false) } else { (&DIALECT, true) };
    report.add(rule, tool.at(format!("{member}/$schema")), format!("`$schema` is `{said}`"));
    is_old
}

fn old_keywords(tool: &Item, tree: &Tree<'_>, report: &mut Report<'_>) {
    for (at, _, keywords) in tree.objects() {
        let is_old = |keyword: &str| {
            keywords.get(keyword).is_some_and(|value| match keyword {
                "exclusiveMinimum" | "exclusiveMaximum" | "nullable" => value.is_boolean(),
                "items" => value.is_array(),
                _ => true,
            })
        };
        let old = ["definitions", "dependencies", "additionalItems", "items", "exclusiveMinimum", "exclusiveMaximum"];
        for keyword in old.iter().chain(&["nullable"]).filter(|keyword| is_old(keyword)) {
            let place = tool.at(format!("{}/{keyword}", tree.pointer(at)));
            report.add(&OLD, place, format!("`{keyword}` is from another dialect"));
        }
    }
}

fn depth(tool: &Item, tree: &Tree<'_>, report: &mut Report<'_>) {
    let deepest =
        tree.nodes.iter().enumerate().filter(|(_, node)| node.role != Role::Root).max_by_key(|(_, n)| n.depth);
    if let Some((at, node)) = deepest.filter(|(_, node)| node.depth > DEEPEST) {
        report.add(&DEEP, tool.at(tree.pointer(at)), format!("there are {} levels", node.depth));
    }
}

fn leads(tree: &Tree<'_>, keywords: &Map<String, Value>) -> bool {
    let references = ["$ref", "$dynamicRef"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_str());
    references.into_iter().all(|reference| reference.starts_with('#') && tree.target(reference).is_some())
}

/// The schema without patterns, which are checked one by one.
fn without_patterns(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_patterns).collect(),
        Value::Object(members) => members
            .iter()
            .filter(|(key, value)| !(*key == "pattern" && value.is_string()) && *key != "patternProperties")
            .map(|(key, value)| (key.clone(), without_patterns(value)))
            .collect(),
        other => other.clone(),
    }
}
