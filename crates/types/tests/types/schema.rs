//! Every definition of every official schema passes through our types without a loss.

use std::{fs, path::Path};

use couplet_types::*;
use serde_json::{Value, json};

use crate::{
    method, pass,
    sample::{EXTRA, samples},
};

type Pass = fn(&Value) -> Result<Value, String>;

#[test]
fn official_schemas_pass_through() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    for &version in ProtocolVersion::ALL {
        let file = folder.join(format!("{version}.json"));
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("`{}`: {e}", file.display()));
        let root: Value = serde_json::from_str(&text).unwrap();
        let problems = check_revision(&root);
        assert!(problems.is_empty(), "{version}:\n{}", problems.join("\n"));
    }
}

#[test]
fn every_revision_has_a_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    for version in ProtocolVersion::ALL {
        assert!(folder.join(format!("{version}.json")).is_file(), "`crates/types/tests/schemas` lacks {version}");
    }
}

fn check_revision(root: &Value) -> Vec<String> {
    let place = if root.get("$defs").is_some() { "$defs" } else { "definitions" };
    let mut problems = Vec::new();
    for (name, definition) in root[place].as_object().unwrap() {
        let mut schema = root.clone();
        schema["$ref"] = json!(format!("#/{place}/{name}"));
        let validator = jsonschema::validator_for(&schema).unwrap();
        for value in samples(definition, root) {
            let printed = match pass_definition(name, definition, &value) {
                Outcome::Skipped => break,
                Outcome::Unknown => {
                    problems.push(format!("`{name}` is in no table"));
                    break;
                }
                Outcome::Passed(Err(error)) => {
                    problems.push(format!("{name}: {error} in {value}"));
                    continue;
                }
                Outcome::Passed(Ok(printed)) => printed,
            };
            compare(name, "", &value, &printed, &mut problems);
            for error in validator.iter_errors(&printed) {
                problems.push(format!("{name}: {error} in {printed}"));
            }
        }
    }
    problems
}

enum Outcome {
    Skipped,
    Unknown,
    Passed(Result<Value, String>),
}

fn pass_definition(name: &str, definition: &Value, value: &Value) -> Outcome {
    if let Some(pass) = pass_of(name) {
        return Outcome::Passed(pass(value));
    }
    if let Some(method) = definition["properties"]["method"]["const"].as_str() {
        return Outcome::Passed(pass_message(method, value));
    }
    let error_data: Option<Pass> = match name {
        "URLElicitationRequiredError" => Some(pass::<UrlElicitationRequiredData>),
        "UnsupportedProtocolVersionError" => Some(pass::<UnsupportedVersionData>),
        "MissingRequiredClientCapabilityError" => Some(pass::<MissingCapabilityData>),
        _ => None,
    };
    if let Some(pass) = error_data {
        return Outcome::Passed(pass_at(value, "/error/data", pass));
    }
    // Envelopes are the business of the core, unions and bases have no type of their own.
    let skipped = name.starts_with("JSON")
        || name.ends_with("ResultResponse")
        || definition.get("anyOf").is_some() && (name.starts_with("Client") || name.starts_with("Server"))
        || SKIPPED.contains(&name);
    if skipped { Outcome::Skipped } else { Outcome::Unknown }
}

const SKIPPED: &[&str] = &[
    "Annotated",
    "BaseMetadata",
    "CacheableResult",
    "ClientResult",
    "Cursor",
    "HeaderMismatchError",
    "Icons",
    "InputResponse",
    "InputResponseRequestParams",
    "Notification",
    "PaginatedRequest",
    "PaginatedResult",
    "Request",
    "ResourceContents",
    "TaskAugmentedRequestParams",
];

/// Sends the parameters of a request or notification through their type.
fn pass_message(name: &str, value: &Value) -> Result<Value, String> {
    let pass = method::params(name).ok_or_else(|| format!("the method `{name}` has no type"))?;
    if value.get("params").is_none() {
        return Ok(value.clone());
    }
    if name == "elicitation/create" && value["params"].get("requestedSchema").is_some() {
        let schema = &value["params"]["requestedSchema"];
        let printed = crate::pass::<ElicitSchema>(schema)?;
        if printed != *schema {
            return Err(format!("the form {schema} became {printed}"));
        }
    }
    pass_at(value, "/params", pass)
}

fn pass_at(value: &Value, pointer: &str, pass: Pass) -> Result<Value, String> {
    let mut printed = value.clone();
    if let Some(part) = printed.pointer_mut(pointer) {
        *part = pass(part)?;
    }
    Ok(printed)
}

/// Lists what got lost, changed or added.
fn compare(name: &str, path: &str, before: &Value, after: &Value, problems: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = format!("{path}.{key}");
                match after.get(key) {
                    Some(printed) => compare(name, &path, value, printed, problems),
                    None if may_be_lost(name, &path, value) => {}
                    None => problems.push(format!("{name}: `{path}` got lost")),
                }
            }
            for key in after.keys().filter(|key| !before.contains_key(*key)) {
                problems.push(format!("{name}: `{path}.{key}` was added"));
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (i, (before, after)) in before.iter().zip(after).enumerate() {
                compare(name, &format!("{path}[{i}]"), before, after, problems);
            }
        }
        _ if before == after => {}
        _ => problems.push(format!("{name}: `{path}` was {before} and became {after}")),
    }
}

fn may_be_lost(name: &str, path: &str, value: &Value) -> bool {
    // Until 2025-06-18 these capabilities are open objects without members.
    let open = ["sampling", "elicitation"].iter().any(|key| path.contains(&format!("{key}.{EXTRA}")));
    // An error with `null` as its data is one without data.
    open || (name.ends_with("Error") && path.ends_with("data") && value.is_null())
}

fn pass_of(name: &str) -> Option<Pass> {
    let (_, pass) = TYPES.iter().find(|(names, _)| names.split(' ').any(|n| n == name))?;
    Some(*pass)
}

/// Names of definitions, and the type that they pass through.
const TYPES: &[(&str, Pass)] = &[
    ("Annotations", pass::<Annotations>),
    ("BlobResourceContents TextResourceContents", pass::<ResourceContents>),
    ("CallToolRequestParams", pass::<CallToolParams>),
    ("CallToolResult", pass::<CallToolResult>),
    ("CancelTaskResult GetTaskResult Task TaskStatusNotificationParams", pass::<Task>),
    ("CancelledNotificationParams", pass::<CancelledParams>),
    ("ClientCapabilities", pass::<ClientCapabilities>),
    ("CompleteRequestParams", pass::<CompleteParams>),
    ("CompleteResult", pass::<CompleteResult>),
    (
        "ContentBlock TextContent ImageContent AudioContent EmbeddedResource ResourceLink ToolUseContent \
         ToolResultContent SamplingMessageContentBlock",
        pass::<ContentBlock>,
    ),
    ("CreateMessageRequestParams", pass::<CreateMessageParams>),
    ("CreateMessageResult", pass::<CreateMessageResult>),
    ("CreateTaskResult", pass::<CreateTaskResult>),
    ("DiscoverResult", pass::<DiscoverResult>),
    ("ElicitRequestFormParams ElicitRequestParams ElicitRequestURLParams", pass::<ElicitParams>),
    ("ElicitResult", pass::<ElicitResult>),
    ("EmptyResult Result", pass::<EmptyResult>),
    ("Error InternalError InvalidParamsError InvalidRequestError MethodNotFoundError ParseError", pass::<RpcError>),
    ("GetPromptRequestParams", pass::<GetPromptParams>),
    ("GetPromptResult", pass::<GetPromptResult>),
    ("GetTaskPayloadResult", pass::<GetTaskPayloadResult>),
    ("Icon", pass::<Icon>),
    ("Implementation", pass::<Implementation>),
    ("InitializeRequestParams", pass::<InitializeParams>),
    ("InitializeResult", pass::<InitializeResult>),
    ("InputRequest", pass::<InputRequest>),
    ("InputRequests", pass::<InputRequests>),
    ("InputRequiredResult", pass::<InputRequiredResult>),
    ("InputResponses", pass::<InputResponses>),
    ("ListPromptsResult", pass::<ListPromptsResult>),
    ("ListResourceTemplatesResult", pass::<ListResourceTemplatesResult>),
    ("ListResourcesResult", pass::<ListResourcesResult>),
    ("ListRootsResult", pass::<ListRootsResult>),
    ("ListTasksResult", pass::<ListTasksResult>),
    ("ListToolsResult", pass::<ListToolsResult>),
    ("LoggingLevel", pass::<LoggingLevel>),
    ("LoggingMessageNotificationParams", pass::<LogParams>),
    (
        "MetaObject NotificationMetaObject RequestMetaObject ResultMetaObject SubscriptionsListenResultMetaObject",
        pass::<Meta>,
    ),
    ("ModelHint", pass::<ModelHint>),
    ("ModelPreferences", pass::<ModelPreferences>),
    ("NotificationParams", pass::<NotificationParams>),
    ("PaginatedRequestParams", pass::<PaginatedParams>),
    (
        "PrimitiveSchemaDefinition BooleanSchema NumberSchema StringSchema EnumSchema MultiSelectEnumSchema \
         SingleSelectEnumSchema LegacyTitledEnumSchema TitledMultiSelectEnumSchema TitledSingleSelectEnumSchema \
         UntitledMultiSelectEnumSchema UntitledSingleSelectEnumSchema",
        pass::<PrimitiveSchema>,
    ),
    ("ProgressNotificationParams", pass::<ProgressParams>),
    ("ProgressToken RequestId", pass::<RequestId>),
    ("Prompt", pass::<Prompt>),
    ("PromptArgument", pass::<PromptArgument>),
    ("PromptMessage", pass::<PromptMessage>),
    ("PromptReference ResourceReference ResourceTemplateReference", pass::<CompletionReference>),
    ("ReadResourceRequestParams ResourceRequestParams", pass::<ReadResourceParams>),
    ("ReadResourceResult", pass::<ReadResourceResult>),
    ("RelatedTaskMetadata", pass::<RelatedTask>),
    ("RequestParams", pass::<PingParams>),
    ("Resource", pass::<Resource>),
    ("ResourceTemplate", pass::<ResourceTemplate>),
    ("ResourceUpdatedNotificationParams", pass::<ResourceUpdatedParams>),
    ("ResultType", pass::<ResultType>),
    ("Role", pass::<Role>),
    ("Root", pass::<Root>),
    ("SamplingMessage", pass::<SamplingMessage>),
    ("ServerCapabilities", pass::<ServerCapabilities>),
    ("SetLevelRequestParams", pass::<SetLevelParams>),
    ("SubscribeRequestParams", pass::<SubscribeParams>),
    ("SubscriptionFilter", pass::<SubscriptionFilter>),
    ("SubscriptionsAcknowledgedNotificationParams", pass::<SubscriptionAckParams>),
    ("SubscriptionsListenRequestParams", pass::<ListenParams>),
    ("SubscriptionsListenResult", pass::<ListenResult>),
    ("TaskMetadata", pass::<TaskMetadata>),
    ("TaskStatus", pass::<TaskStatus>),
    ("Tool", pass::<Tool>),
    ("ToolAnnotations", pass::<ToolAnnotations>),
    ("ToolChoice", pass::<ToolChoice>),
    ("ToolExecution", pass::<ToolExecution>),
    ("UnsubscribeRequestParams", pass::<UnsubscribeParams>),
];
