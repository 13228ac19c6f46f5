//! A server that nothing is wrong with, to be spoilt.

use couplet_lint::{Answer, Answers, Surface};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

/// What becomes of an answer on its way, by revision and method.
type Edit = fn(ProtocolVersion, &str, Value) -> Vec<Answer>;

pub(crate) struct Draft {
    pub(crate) info: Value,
    pub(crate) instructions: Value,
    pub(crate) capabilities: Value,
    pub(crate) tools: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) revisions: Vec<ProtocolVersion>,
    pub(crate) edit: Edit,
    pub(crate) old_transport: bool,
}

impl Draft {
    pub(crate) fn clean() -> Self {
        let city = json!({ "type": "string", "description": "The city, in any language." });
        let days =
            json!({ "type": "integer", "minimum": 1, "maximum": 14, "default": 3, "description": "How many days." });
        let id = json!({ "type": "string", "description": "The note, as the list has it." });
        Self {
            info: json!({ "name": "weather", "version": "1.2.0", "title": "Weather" }),
            instructions: json!("Forecasts and notes about the weather of any city."),
            capabilities: json!({ "tools": { "listChanged": true }, "resources": {}, "prompts": {} }),
            tools: vec![
                json!({
                    "name": "get_forecast",
                    "title": "Forecast",
                    "description": "The weather of the next days in a city, day by day.",
                    "inputSchema": { "type": "object", "properties": { "city": city, "days": days }, "required": ["city"] },
                    "outputSchema": { "type": "object", "properties": { "days": { "type": "array", "items": { "type": "string" } } } },
                    "annotations": { "readOnlyHint": true, "openWorldHint": true },
                }),
                json!({
                    "name": "delete_note",
                    "title": "Delete a note",
                    "description": "Deletes a note. It cannot be brought back.",
                    "inputSchema": { "type": "object", "properties": { "id": id }, "required": ["id"] },
                    "annotations": {
                        "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
                    },
                }),
            ],
            resources: vec![json!({
                "uri": "weather://stations", "name": "stations", "mimeType": "application/json",
                "description": "All stations, with their places.",
            })],
            templates: vec![json!({
                "uriTemplate": "weather://stations/{id}", "name": "station", "mimeType": "application/json",
                "description": "One station by its id.",
            })],
            prompts: vec![json!({
                "name": "plan_day", "description": "Plans a day by the weather.",
                "arguments": [{ "name": "city", "description": "Where.", "required": true }],
            })],
            revisions: ProtocolVersion::ALL.to_vec(),
            edit: |_, _, answer| vec![answer.into()],
            old_transport: false,
        }
    }

    pub(crate) fn tool(&mut self) -> &mut Value {
        &mut self.tools[0]
    }

    /// The schema of the first tool's arguments.
    pub(crate) fn schema(&mut self) -> &mut Value {
        &mut self.tools[0]["inputSchema"]
    }

    /// Gives the first tool one more argument.
    pub(crate) fn argument(&mut self, mut schema: Value) {
        if let Some(keywords) = schema.as_object_mut() {
            keywords.insert("description".to_owned(), json!("Something more."));
        }
        self.schema()["properties"]["more"] = schema;
    }

    /// Says something in the description of the first tool.
    pub(crate) fn say(&mut self, text: &str) {
        self.tools[0]["description"] = json!(format!("The weather of the next days in a city. {text}"));
    }

    /// Adds a tool that differs from the first one in its name and its description.
    pub(crate) fn another(&mut self, name: &str) {
        let mut tool = self.tools[0].clone();
        tool["name"] = json!(name);
        tool["description"] = json!(format!("The weather of the past in a city, number {}.", self.tools.len()));
        self.tools.push(tool);
    }

    pub(crate) fn surface(&self) -> Surface {
        Surface::from_answers(self.revisions.iter().map(|version| self.answers(*version)))
    }

    fn answers(&self, version: ProtocolVersion) -> Answers {
        let ask = |method: &str, result: Value| (self.edit)(version, method, around(version, result, &self.info));
        let (method, hello) = match version {
            ProtocolVersion::V2026_07_28 => {
                let versions: Vec<_> = ProtocolVersion::ALL.iter().map(|v| v.as_str()).collect();
                ("server/discover", json!({ "supportedVersions": versions }))
            }
            version => ("initialize", json!({ "protocolVersion": version.as_str(), "serverInfo": self.info })),
        };
        let mut hello = hello;
        hello["capabilities"] = self.capabilities.clone();
        hello["instructions"] = self.instructions.clone();
        let hello = ask(method, hello).remove(0);
        let answers = Answers::new(version, hello)
            .tools(ask("tools/list", json!({ "tools": self.tools })))
            .resources(ask("resources/list", json!({ "resources": self.resources })))
            .resource_templates(ask("resources/templates/list", json!({ "resourceTemplates": self.templates })))
            .prompts(ask("prompts/list", json!({ "prompts": self.prompts })));
        if self.old_transport { answers.over_http_sse() } else { answers }
    }
}

/// What the revision adds to a result.
fn around(version: ProtocolVersion, mut result: Value, info: &Value) -> Value {
    if version == ProtocolVersion::V2026_07_28 {
        result["resultType"] = json!("complete");
        result["ttlMs"] = json!(60_000);
        result["cacheScope"] = json!("private");
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": info });
    }
    result
}
