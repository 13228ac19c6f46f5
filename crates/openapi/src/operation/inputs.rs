//! Arguments of a tool: one for each parameter and each member of the body, with unique names, in one schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    body::{Body, BodyKind, Chosen, Content, Member, is_file},
    names,
    parameter::{Parameter, Values},
};
use crate::{
    document::Document,
    schema::{Direction, NULL, Rewriter, allow_null, without_null},
    text,
};

/// The numbers of levels that are tried, each with the maximum size of an input schema in bytes. Arguments are not left out
/// for their number, so the last ones may be larger.
const LEVELS: [(usize, usize); 6] =
    [(7, 12 << 10), (4, 12 << 10), (3, 12 << 10), (2, 12 << 10), (1, LARGEST), (0, LARGEST)];
const LARGEST: usize = 64 << 10;

/// The maximum number of members of a body that are arguments of their own.
const MOST_MEMBERS: usize = 256;

/// The maximum length of an argument's description.
const DESCRIPTION: usize = 500;

/// The arguments of an operation.
pub(super) struct Inputs {
    pub(super) schema: Value,
    /// The schema that arguments are validated against, if it allows `null` where the other one does not.
    pub(super) accepted: Option<Value>,
    /// The size of the listed schema in bytes.
    pub(super) size: usize,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
}

/// The source of arguments: parameters with their descriptions in the document, and a resolved request body.
pub(super) struct Sources<'a> {
    pub(super) document: &'a Document,
    pub(super) parameters: Vec<(Parameter, &'a Value)>,
    pub(super) body: &'a Value,
}

impl Sources<'_> {
    /// Names the arguments and writes their schema, with as many levels as fit.
    ///
    /// # Errors
    /// If the schema is too large even without details.
    pub(super) fn inputs(&self) -> Result<Inputs, String> {
        // A result that was too large stays so with as many levels as it has.
        let mut deepest = usize::MAX;
        for (levels, most) in LEVELS {
            if levels > deepest {
                continue;
            }
            let mut writer = Writer {
                sources: self,
                rewriter: Rewriter::new(self.document, Direction::Request, levels, most),
                taken: names::Taken::default(),
                properties: Map::new(),
                required: Vec::new(),
            };
            let parameters = writer.parameters();
            let body = writer.body();
            let is_over = writer.rewriter.is_over_budget();
            deepest = writer.rewriter.deepest();
            let (schema, accepted) = writer.schemas();
            let size = schema.to_string().len();
            if !is_over && size <= most {
                return Ok(Inputs { schema, accepted, size, parameters, body });
            }
        }
        Err(format!("its arguments need a schema of more than {} KiB", LARGEST >> 10))
    }
}

struct Writer<'s, 'a> {
    sources: &'s Sources<'a>,
    rewriter: Rewriter<'a>,
    taken: names::Taken,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl<'a> Writer<'_, 'a> {
    fn parameters(&mut self) -> Vec<Parameter> {
        let document = self.sources.document;
        let mut named = Vec::with_capacity(self.sources.parameters.len());
        for (parameter, source) in &self.sources.parameters {
            let mut parameter = parameter.clone();
            let schema = Parameter::schema(document, source);
            parameter.fixed = parameter.required.then(|| only_value(document, schema)).flatten();
            if parameter.fixed.is_none() {
                parameter.argument = names::argument(&parameter.name, parameter.place.as_str(), &mut self.taken);
                self.rewriter.nulls = parameter.values == Values::Json;
                parameter.nullable = self.is_nullable(schema);
                let mut written = self.rewriter.rewrite(schema);
                let described = text::clean(source["description"].as_str().unwrap_or_default(), DESCRIPTION);
                describe(&mut written, described);
                self.name_foreign(&parameter.name, &mut written);
                written.entry("type").or_insert_with(|| "string".into());
                if written.contains_key("anyOf") {
                    written.remove("type");
                }
                self.add(&parameter.argument, written, parameter.required);
            }
            named.push(parameter);
        }
        named
    }

    fn body(&mut self) -> Option<Body> {
        let document = self.sources.document;
        let source = self.sources.body;
        let chosen = Chosen::of(document, source)?;
        let required = source["required"] == true;
        self.rewriter.nulls = chosen.kind == BodyKind::Json;
        let nullable = self.is_nullable(chosen.schema);
        let content = match self.has_members(&chosen) {
            true => self.members(&chosen, required),
            false => {
                let argument = names::argument("body", "request", &mut self.taken);
                let mut written = self.whole(&chosen);
                describe(&mut written, text::clean(source["description"].as_str().unwrap_or_default(), DESCRIPTION));
                self.add(&argument, written, required);
                Content::Whole(argument)
            }
        };
        Some(Body { kind: chosen.kind, media_type: chosen.media_type.to_owned(), required, nullable, content })
    }

    /// Whether `null` is sent as a value.
    fn is_nullable(&self, schema: &'a Value) -> bool {
        self.rewriter.nulls && self.rewriter.parts(schema).is_nullable(self.sources.document)
    }

    /// Whether each member of a body can be an argument of its own.
    fn has_members(&self, chosen: &Chosen<'a>) -> bool {
        let parts = self.rewriter.parts(chosen.schema);
        let is_open =
            parts.find("additionalProperties").is_some_and(|more| more.as_object().is_some_and(|m| !m.is_empty()));
        matches!(chosen.kind, BodyKind::Json | BodyKind::Form | BodyKind::Multipart)
            && parts.kind() == Some("object")
            && (1..=MOST_MEMBERS).contains(&parts.properties().take(MOST_MEMBERS + 1).count())
            && parts.alternatives(self.sources.document).len() < 2
            && !is_open
    }

    fn members(&mut self, chosen: &Chosen<'a>, required: bool) -> Content {
        let document = self.sources.document;
        let parts = self.rewriter.parts(chosen.schema);
        let needed: Vec<&str> = parts.required().collect();
        let mut members = Vec::new();
        let mut seen = BTreeSet::new();
        for (name, schema) in parts.properties() {
            if !seen.insert(name) || self.rewriter.is_hidden(schema) {
                continue;
            }
            let argument = names::argument(name, "body", &mut self.taken);
            let mut written = match chosen.kind == BodyKind::Multipart && is_file(document, schema) {
                true => self.file(schema),
                false => self.rewriter.rewrite(schema),
            };
            self.name_foreign(name, &mut written);
            self.add(&argument, written, required && needed.contains(&name));
            let nullable = self.is_nullable(schema);
            members.push(Member { nullable, ..chosen.member(document, name, argument, schema) });
        }
        Content::Members(members)
    }

    fn whole(&mut self, chosen: &Chosen<'a>) -> Map<String, Value> {
        match chosen.kind {
            BodyKind::Text => {
                object(json!({ "type": "string", "description": format!("The body, as `{}`.", chosen.media_type) }))
            }
            BodyKind::Binary => file_schema(&format!("The body, as `{}`.", chosen.media_type)),
            BodyKind::Json | BodyKind::Form | BodyKind::Multipart => self.rewriter.rewrite(chosen.schema),
        }
    }

    /// Writes the schema of a file, or of a list of files.
    fn file(&self, schema: &'a Value) -> Map<String, Value> {
        let parts = self.rewriter.parts(schema);
        let described = text::clean(parts.find("description").and_then(Value::as_str).unwrap_or_default(), DESCRIPTION);
        let described = if described.is_empty() { "A file.".to_owned() } else { described };
        match parts.kind() {
            Some("array") => {
                object(json!({ "type": "array", "description": described, "items": file_schema("A file.") }))
            }
            _ => file_schema(&described),
        }
    }

    /// Describes an argument by the name that the API has for it, if little of that is left.
    fn name_foreign(&self, name: &str, schema: &mut Map<String, Value>) {
        if names::is_foreign(name) {
            let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let named = format!("{}: {described}", text::clean(name, 100)).trim_end_matches(": ").to_owned();
            schema.insert("description".to_owned(), named.into());
        }
    }

    fn add(&mut self, argument: &str, schema: Map<String, Value>, required: bool) {
        self.properties.insert(argument.to_owned(), Value::Object(schema));
        if required {
            self.required.push(argument.into());
        }
    }

    /// Returns the listed schema, and the one that also allows `null`: as a value, or in place of an absent argument.
    fn schemas(self) -> (Value, Option<Value>) {
        let mut schema = json!({ "type": "object", "properties": self.properties, "additionalProperties": false });
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required.clone());
        }
        let mut accepted = schema.clone();
        let properties = accepted["properties"].as_object_mut().into_iter().flatten();
        for (_, argument) in properties.filter(|(name, _)| !self.required.iter().any(|needed| needed == *name)) {
            argument.as_object_mut().map(allow_null);
        }
        without_null(&mut schema);
        let accepted = (accepted != schema).then_some(accepted);
        (schema, accepted)
    }
}

/// Puts the description of a parameter in place of its schema's, and leaves the values that are listed there.
fn describe(schema: &mut Map<String, Value>, described: String) {
    if described.is_empty() {
        return;
    }
    let own = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let added = ["One of `", "Matches `", NULL].iter().filter_map(|start| own.rfind(start)).min();
    let listed = added.and_then(|at| own.get(at..)).unwrap_or_default();
    let space = if listed.is_empty() { "" } else { " " };
    schema.insert("description".to_owned(), format!("{described}{space}{listed}").into());
}

/// Returns the only value that a schema allows.
fn only_value(document: &Document, schema: &Value) -> Option<Value> {
    let schema = document.resolve(schema);
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => match &values[..] {
            [value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))] => Some(value.clone()),
            _ => None,
        },
        (None, Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_)))) => Some(value.clone()),
        _ => None,
    }
}

fn file_schema(description: &str) -> Map<String, Value> {
    object(json!({
        "type": "object",
        "description": description,
        "properties": {
            "text": { "type": "string", "description": "The content, if it is text." },
            "base64": { "type": "string", "description": "The content in base64, if it is not text." },
            "filename": { "type": "string", "description": "The name of the file." },
            "media_type": { "type": "string", "description": "The media type, such as `image/png`." },
        },
        "additionalProperties": false,
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
