//! A client that can do everything.

use couplet::{
    ProtocolVersion,
    apps::ClientApps,
    client::{ClientBuilder, Elicitation},
    core::Connect,
    prelude::*,
    skills::ClientSkills,
    tasks::{ClientTasks, Memory},
    types::{CreateMessageResult, ElicitResult, PrimitiveSchema, Root, RpcError},
};
use serde_json::{Map, Value, json};

/// Whether five marks, one per revision, have an `x` for this one.
pub(crate) fn is_in(marks: &str, version: ProtocolVersion) -> bool {
    let at = ProtocolVersion::ALL.iter().position(|v| *v == version).expect("a revision");
    marks.as_bytes()[at] == b'x'
}

/// A client of one revision that answers whatever it is asked.
pub(crate) fn able(version: ProtocolVersion) -> ClientBuilder {
    Client::new("test", "1.0.0")
        .versions([version])
        .on_elicit(|ask| async move { fill(&ask) })
        .on_elicit_url(|ask| async move { ask.accept_url() })
        .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "a thought")) })
        .sampling_tools(true)
        .roots([Root::new("file:///project").name("Project")])
        .extension(ClientTasks::new().accept_tasks(Memory::new()))
        .extension(ClientApps::new())
        .extension(ClientSkills::new())
}

pub(crate) async fn connect(server: impl Connect + 'static, version: ProtocolVersion) -> Client {
    able(version).connect(server).await.expect("they agree")
}

/// Fills in every field of a form.
fn fill(ask: &Elicitation) -> Result<ElicitResult, RpcError> {
    let schema = ask.schema().expect("a plain form").expect("a form");
    let fields = schema.properties.iter().map(|(name, field)| (name.to_owned(), value(name, field)));
    ask.accept(fields.collect::<Map<_, _>>())
}

fn value(name: &str, field: &PrimitiveSchema) -> Value {
    let first = |values: Value| values.as_array().and_then(|values| values.first().cloned()).unwrap_or_default();
    let field = json!(field);
    match (name, field["type"].as_str()) {
        ("email", _) => json!("ada@example.com"),
        ("homepage", _) => json!("https://example.com"),
        ("birthdate", _) => json!("1815-12-10"),
        (_, Some("boolean")) => json!(true),
        (_, Some("integer" | "number")) => json!(7),
        (_, Some("array")) if field["items"].get("anyOf").is_some() => {
            json!([first(field["items"]["anyOf"].clone())["const"]])
        }
        (_, Some("array")) => json!([first(field["items"]["enum"].clone())]),
        _ if field.get("oneOf").is_some() => first(field["oneOf"].clone())["const"].clone(),
        _ if field.get("enum").is_some() => first(field["enum"].clone()),
        _ => json!("Ada"),
    }
}
