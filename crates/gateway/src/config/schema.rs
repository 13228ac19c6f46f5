//! The JSON Schema of a configuration file.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{foreign, sections::Sections, settings::Settings};

/// Members of an entry that say how the server is reached.
pub(super) const LAUNCH: &[&str] = &["command", "args", "env", "cwd", "url", "headers", "type"];

/// Other members of an entry: those of [`Settings`].
pub(super) const SETTINGS: &[&str] = &[
    "id",
    "disabled",
    "start",
    "idleStop",
    "trust",
    "limits",
    "isolation",
    "revision",
    "http2",
    "tools",
    "effects",
    "labels",
    "pin",
    "auth",
];

/// Sections beside the servers and the policy: those of [`Sections`].
pub(super) const SECTIONS: &[&str] =
    &["$schema", "profiles", "listen", "audit", "names", "pins", "consent", "consentTimeout"];

/// Returns the JSON Schema of a configuration file, for editors and checks.
///
/// ```
/// let schema = couplet_gateway::schema();
/// assert!(schema["properties"]["mcpServers"].is_object());
/// ```
#[must_use]
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let settings = generator.subschema_for::<Settings>().to_value();
    let sections = generator.subschema_for::<Sections>().to_value();
    let mut definitions = generator.take_definitions(true);
    let entry = entry(definition(&mut definitions, &settings));
    let mut properties = definition(&mut definitions, &sections);
    let server = json!({ "description": "A server", "$ref": "#/$defs/Server" });
    properties.insert(
        "mcpServers".to_owned(),
        json!({ "description": "The servers by name.", "type": "object", "additionalProperties": server }),
    );
    properties.insert(
        "policy".to_owned(),
        json!({
            "description": "Rules: the first that matches decides, and without a match consent is asked for. Without this \
                            section, everything that is offered is allowed.",
            "type": "array",
            "items": rule(),
        }),
    );
    for name in foreign::top_keys() {
        properties.entry(name).or_insert_with(|| json!({ "description": "A setting of hosts." }));
    }
    definitions.insert("Server".to_owned(), entry);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of `couplet gateway`",
        "type": "object",
        "properties": properties,
        "required": ["mcpServers"],
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// The schema of a rule, which `couplet_host::policy::Rule` parses.
fn rule() -> Value {
    let words = |what: &str| {
        json!({
            "description": what,
            "anyOf": [{ "type": "string" }, { "type": "array", "minItems": 1, "items": { "type": "string" } }],
        })
    };
    let one_of = |what: &str, words: &[&str]| json!({ "description": what, "enum": words });
    let conditions = json!({
        "description": "Conditions, all of which must hold. In patterns, `*` matches any text.",
        "type": "object",
        "properties": {
            "tool": words("Tools, as `server/name`."),
            "prompt": words("Prompts, as `server/name`."),
            "resource": words("Resources, as `server/uri`."),
            "template": words("Resource templates, as `server/uri`."),
            "server": words("Servers, by id."),
            "principal": words("Principals, by name."),
            "profile": words("Profiles, by name."),
            "door": words("Ways to the target, such as `call`, `list` or `sampling`."),
            "effect": one_of("This effect and safer ones to allow, and riskier ones to ask or deny.", &["read", "write", "destructive"]),
            "trust": one_of("This trust and higher to allow, and lower to ask or deny.", &["unknown", "known", "owned"]),
            "openWorld": { "description": "Whether the target interacts with external systems.", "type": "boolean" },
            "flow": one_of("The call completes private data, text of strangers and a way out. Not to allow.", &["trifecta"]),
            "arguments": { "description": "Predicates by JSON pointer.", "type": "object" },
        },
        "additionalProperties": false,
    });
    json!({
        "description": "A rule: `allow`, `ask` or `deny`, with conditions.",
        "type": "object",
        "properties": {
            "allow": conditions,
            "ask": conditions,
            "deny": conditions,
            "name": { "description": "A name for logs and audit records.", "type": "string" },
        },
        "oneOf": [{ "required": ["allow"] }, { "required": ["ask"] }, { "required": ["deny"] }],
        "additionalProperties": false,
    })
}

/// Takes the properties of a definition that a reference names.
fn definition(definitions: &mut Map<String, Value>, reference: &Value) -> Map<String, Value> {
    let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    match definitions.remove(name).map(|mut definition| definition["properties"].take()) {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// The schema of an entry: how the server is reached, its settings, and members of hosts that are ignored.
fn entry(mut properties: Map<String, Value>) -> Value {
    let text = |what: &str| json!({ "description": what, "type": "string" });
    let value = json!({ "type": ["string", "number", "boolean", "null"] });
    let map =
        |what: &str, value: &Value| json!({ "description": what, "type": "object", "additionalProperties": value });
    let launch = [
        (
            "command",
            json!({
                "description": "The program to start, or the program with its arguments. No shell is involved.",
                "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            }),
        ),
        (
            "args",
            json!({ "description": "Its arguments.", "type": "array", "items": { "type": ["string", "number", "boolean"] } }),
        ),
        ("env", map("Its variables, beside the usual ones (PATH, HOME, LANG, …); null removes a usual one.", &value)),
        ("cwd", text("The folder to start it in.")),
        ("url", text("The URL of a server over HTTP.")),
        ("headers", map("Headers of each request.", &json!({ "type": ["string", "number", "boolean"] }))),
        ("type", text("The transport: `stdio`, `http` or `sse`; usually not needed.")),
    ];
    for (name, schema) in launch {
        properties.insert(name.to_owned(), schema);
    }
    let tools = properties.remove("tools").unwrap_or_default();
    properties
        .insert("tools".to_owned(), json!({ "anyOf": [tools, { "type": "array", "items": { "type": "string" } }] }));
    let trust = properties.remove("trust").unwrap_or_default();
    properties.insert("trust".to_owned(), json!({ "anyOf": [trust, { "type": "boolean" }] }));
    let auth = properties.remove("auth").unwrap_or_default();
    let client: Map<_, _> = foreign::client_keys().map(|key| (key.to_owned(), json!({}))).collect();
    let client = json!({ "type": "object", "properties": client, "additionalProperties": false });
    let word = json!({ "enum": ["oauth", "bearer", false] });
    properties.insert("auth".to_owned(), json!({ "anyOf": [auth, client, word] }));
    for name in foreign::keys() {
        properties.entry(name).or_insert_with(|| json!({ "description": "A setting of hosts." }));
    }
    json!({
        "description": "How a server is reached, and its settings. Strings may contain `${env:NAME}`, `${file:PATH}` and \
                        `${keyring:NAME}`.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in the error messages are those of the types.
    #[test]
    fn the_lists_of_keys_are_complete() {
        let keys = |of: schemars::Schema| {
            let mut keys: Vec<_> = of.as_value()["properties"].as_object().expect("a struct").keys().cloned().collect();
            keys.sort_unstable();
            keys
        };
        for (schema, known) in
            [(schemars::schema_for!(Settings), SETTINGS), (schemars::schema_for!(Sections), SECTIONS)]
        {
            let mut known: Vec<_> = known.iter().map(|&key| key.to_owned()).collect();
            known.sort_unstable();
            assert_eq!(keys(schema), known);
        }
    }
}
