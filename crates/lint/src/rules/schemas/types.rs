//! The types of subschemas.

use serde_json::{Map, Value};

use super::{Side, each, types};
use crate::{
    Surface,
    report::Report,
    rule::table,
    schema::{Node, Role},
};

table! { Schemas:
    BOOLEAN = "schema-boolean" Error
        about "a schema is only `true` or `false`"
        why "That is JSON Schema, but Claude Code then drops every tool of the server (anthropics/claude-code#92900), Hermes the server (NousResearch/hermes-agent#101669), and Gemini rejects all requests (github/copilot-cli#4623)."
        fix "Write `{}` with a description, or better the intended type."
    MISSING = "schema-type-missing" Warning
        about "an argument has no type"
        why "Gemini CLI drops such a tool (JetBrains/mcp-jetbrains#71), and Vertex AI rejects it (google-gemini/gemini-cli#4400)."
        fix "Add a `type`; if any value is valid, use a string or an object."
    SEVERAL = "schema-type-array" Warning
        about "an argument has several types in one `type`"
        why "The Gemini API rejects a list there, in Copilot too (github/copilot-cli#4623), and some proxies of the Anthropic API do (hypothesi/mcp-server-tauri#31)."
        fix "Remove `null` and do not require the argument, or choose one type."
    NULLABLE = "schema-nullable" Warning
        about "an argument is nullable by an alternative `null`"
        why "Clients turn that into a list of types for Gemini, which rejects it (taylorwilsdon/google_workspace_mcp#1099); Claude Desktop dropped such tools (sidequery/sidemantic#131)."
        fix "Remove the alternative `null`, and do not require the argument."
    ITEMS = "schema-array-items" Error
        about "an array does not say what its items are"
        why "VS Code rejects the tool (microsoft/vscode#248810), and the OpenAI API every request with it (spacelift-io/spacectl#402)."
        fix "Add `items`."
    EMPTY = "schema-object-empty" Warning
        about "an object below the arguments does not say what is in it"
        why "The Gemini API requires members in an object (CherryHQ/cherry-studio#3270), and models do not know what to write."
        fix "List its members under `properties`, or use a string of JSON."
    OPEN = "schema-open" Note (optional)
        about "an object allows members that are not listed"
        why "The strict mode of the OpenAI API requires `\"additionalProperties\": false` in every object (spring-projects/spring-ai#6865). The Gemini API does not support the keyword (promptfoo/promptfoo#6902); most hosts add or remove it."
        fix "Add `\"additionalProperties\": false`."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    each(surface, |tool, side, tree| {
        for (at, node) in tree.nodes.iter().enumerate() {
            let place = || tool.at(tree.pointer(at));
            if node.schema.is_boolean() && matches!(node.role, Role::Property | Role::Items | Role::Branch) {
                report.add(&BOOLEAN, place(), format!("the schema is `{}`", node.schema));
            }
            let Some(schema) = node.schema.as_object().filter(|_| side == Side::Input) else { continue };
            let named = types(node.schema);
            if is_untyped(node, schema) {
                report.add(&MISSING, place(), "there is no `type`");
            }
            if let Some(several @ Value::Array(_)) = schema.get("type") {
                report.add(&SEVERAL, place(), format!("`type` is `{several}`"));
            }
            if has_null(schema) {
                report.add(&NULLABLE, place(), "one alternative is `null`");
            }
            if named.contains(&"array") && !schema.contains_key("items") && !schema.contains_key("prefixItems") {
                report.add(&ITEMS, place(), "there are no `items`");
            }
            if named.contains(&"object") {
                objects(node, schema, place, report);
            }
        }
    });
}

fn objects(node: &Node<'_>, schema: &Map<String, Value>, place: impl Fn() -> crate::Place, report: &mut Report<'_>) {
    let listed = schema.get("properties").and_then(Value::as_object).is_some_and(|members| !members.is_empty());
    let described = ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"]
        .iter()
        .any(|keyword| schema.get(*keyword).is_some_and(|value| !value.is_boolean()));
    if node.role != Role::Root && !listed && !described {
        report.add(&EMPTY, place(), "there are no `properties`");
    }
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        report.add(&OPEN, place(), "`additionalProperties` is not `false`");
    }
}

fn is_untyped(node: &Node<'_>, schema: &Map<String, Value>) -> bool {
    const TELLING: [&str; 8] = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "not"];
    matches!(node.role, Role::Property | Role::Items) && !TELLING.iter().any(|keyword| schema.contains_key(*keyword))
}

fn has_null(schema: &Map<String, Value>) -> bool {
    let branches = ["anyOf", "oneOf"].iter().filter_map(|keyword| schema.get(*keyword)?.as_array()).flatten();
    branches.into_iter().any(|branch| types(branch) == ["null"])
}
