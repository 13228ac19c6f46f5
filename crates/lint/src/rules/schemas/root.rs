//! The root of a schema: an object with valid member names.

use serde_json::{Map, Value};

use crate::{
    Surface,
    read::escaped,
    report::Report,
    rule::table,
    surface::{Item, Kind},
};

table! { Schemas:
    MISSING = "schema-missing" Error
        about "a tool has no schema for its arguments"
        why "The specification requires an object; clients built on the official TypeScript SDK reject the whole list without one."
        fix "Use `{\"type\":\"object\",\"properties\":{}}` for a tool without arguments."
    TYPE = "schema-root-type" Error
        about "the schema of arguments does not have the type `object`"
        why "The specification requires `\"type\": \"object\"`; Claude Code drops every tool of the server otherwise (anthropics/claude-code#88049)."
        fix "Put `\"type\": \"object\"` at the top of the schema."
    COMBINATION = "schema-root-combination" Error
        about "the schema of arguments combines schemas at its top"
        why "The Anthropic API rejects every request with such a tool (makenotion/notion-mcp-server#341), so does the OpenAI API (langchain-ai/langchainjs#9804), and Claude Code drops the tool (anthropics/claude-code#95504)."
        fix "List all members under `properties`, say in the description which go together, and check them in the tool; or put the alternatives below one member."
    PROPERTIES = "schema-root-properties" Warning
        about "the schema of arguments has no `properties`"
        why "The OpenAI API rejects it, unless the host adds them (containers/kubernetes-mcp-server#340, langchain-ai/langchain-mcp-adapters#137)."
        fix "Add `\"properties\": {}` where there are no arguments."
    PROPERTY_NAME = "schema-property-name" Error
        about "an argument has a name that model APIs reject"
        why "The Anthropic API rejects every request with an argument that is not made of 1 to 64 letters, digits, `_`, `.` and `-` (anthropics/claude-code#79418)."
        fix "Rename the argument: `filter.name` instead of `filter[name]`."
    ADDITIONAL = "schema-additional-object" Warning
        about "the schema of arguments has a schema for additional arguments"
        why "Claude Desktop expects true or false there (googleanalytics/google-analytics-mcp#135), and older versions of the Java SDK fail to read the list (gradusnikov/eclipse-chatgpt-plugin#84)."
        fix "Put the open part below one named argument."
    OUTPUT = "output-root-type" Error
        about "the schema of results does not have the type `object`"
        why "In the revisions with sessions the specification requires it; Cursor and Claude Desktop then show no tools at all (anthropics/claude-code#10030), nor do LM Studio (mrexodia/ida-pro-mcp#370) and OpenCode (okf-memory/okf-agent-memory#30)."
        fix "Wrap the result in an object, such as `{\"result\": …}`, or omit `outputSchema` for clients of older revisions."
}

const COMBINING: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "if", "enum"];

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    for tool in surface.tools() {
        match tool.get("inputSchema") {
            Some(Value::Object(schema)) => input(tool, schema, report),
            other => {
                let what = if other.is_none() { "`inputSchema` is missing" } else { "`inputSchema` is not an object" };
                report.add(&MISSING, tool.at("/inputSchema"), what);
            }
        }
    }
    // A server may describe less to clients of older revisions, and should.
    let strict = surface.said.iter().rev().find(|said| said.revision.wants_object_output());
    for tool in strict.and_then(|said| said.lists.get(&Kind::Tools)).map_or(&[][..], |list| &list.items) {
        let Some(Value::Object(schema)) = tool.get("outputSchema") else { continue };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            report.add(&OUTPUT, tool.at("/outputSchema/type"), format!("`type` is {}", said(schema)));
        }
    }
}

fn input(tool: &Item, schema: &Map<String, Value>, report: &mut Report<'_>) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        report.add(&TYPE, tool.at("/inputSchema/type"), format!("`type` is {}", said(schema)));
    }
    for keyword in COMBINING.iter().filter(|keyword| schema.contains_key(**keyword)) {
        report.add(&COMBINATION, tool.at(format!("/inputSchema/{keyword}")), format!("it has `{keyword}`"));
    }
    match schema.get("properties") {
        Some(properties) => names(tool, properties, report),
        None => report.add(&PROPERTIES, tool.at("/inputSchema"), "there are no `properties`"),
    }
    if schema.get("additionalProperties").is_some_and(Value::is_object) {
        let place = tool.at("/inputSchema/additionalProperties");
        report.add(&ADDITIONAL, place, "`additionalProperties` is a schema");
    }
}

fn names(tool: &Item, properties: &Value, report: &mut Report<'_>) {
    for name in properties.as_object().into_iter().flatten().map(|(name, _)| name) {
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !fits || !(1..=64).contains(&name.len()) {
            let place = tool.at(format!("/inputSchema/properties/{}", escaped(name)));
            report.add(&PROPERTY_NAME, place, format!("the name is `{name}`, of {} characters", name.chars().count()));
        }
    }
}

fn said(schema: &Map<String, Value>) -> String {
    match schema.get("type") {
        None => "missing".to_owned(),
        Some(value) => format!("`{value}`"),
    }
}
