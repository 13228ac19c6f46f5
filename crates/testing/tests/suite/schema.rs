//! The official schemas as judges of what is on the wire. They are test data of `couplet-types`.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, LazyLock, Mutex},
};

use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

/// Who has sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Client,
    Server,
}

/// A method, what its request is called in the schemas, and what its result is.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("initialize", "InitializeRequest", "InitializeResult"),
    ("server/discover", "DiscoverRequest", "DiscoverResult"),
    ("ping", "PingRequest", "EmptyResult"),
    ("tools/list", "ListToolsRequest", "ListToolsResult"),
    ("tools/call", "CallToolRequest", "CallToolResult"),
    ("resources/list", "ListResourcesRequest", "ListResourcesResult"),
    ("resources/templates/list", "ListResourceTemplatesRequest", "ListResourceTemplatesResult"),
    ("resources/read", "ReadResourceRequest", "ReadResourceResult"),
    ("resources/subscribe", "SubscribeRequest", "EmptyResult"),
    ("resources/unsubscribe", "UnsubscribeRequest", "EmptyResult"),
    ("subscriptions/listen", "SubscriptionsListenRequest", "SubscriptionsListenResult"),
    ("prompts/list", "ListPromptsRequest", "ListPromptsResult"),
    ("prompts/get", "GetPromptRequest", "GetPromptResult"),
    ("completion/complete", "CompleteRequest", "CompleteResult"),
    ("logging/setLevel", "SetLevelRequest", "EmptyResult"),
    ("sampling/createMessage", "CreateMessageRequest", "CreateMessageResult"),
    ("roots/list", "ListRootsRequest", "ListRootsResult"),
    ("elicitation/create", "ElicitRequest", "ElicitResult"),
];

const NOTIFICATIONS: &[(&str, &str)] = &[
    ("notifications/initialized", "InitializedNotification"),
    ("notifications/cancelled", "CancelledNotification"),
    ("notifications/progress", "ProgressNotification"),
    ("notifications/message", "LoggingMessageNotification"),
    ("notifications/tools/list_changed", "ToolListChangedNotification"),
    ("notifications/prompts/list_changed", "PromptListChangedNotification"),
    ("notifications/resources/list_changed", "ResourceListChangedNotification"),
    ("notifications/resources/updated", "ResourceUpdatedNotification"),
    ("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification"),
    ("notifications/roots/list_changed", "RootsListChangedNotification"),
    ("notifications/elicitation/complete", "ElicitationCompleteNotification"),
];

/// Checks a request as a whole message.
#[track_caller]
pub(crate) fn request(version: ProtocolVersion, from: From, message: &Value) {
    let (request, _) = names(method(message));
    check(version, "JSONRPCRequest", message);
    check(version, request, message);
    check(version, if from == From::Client { "ClientRequest" } else { "ServerRequest" }, message);
}

/// Checks a question inside of a result, which has neither version nor id, and is none on the wire.
#[track_caller]
pub(crate) fn question(version: ProtocolVersion, question: &Value) {
    check(version, names(method(question)).0, question);
    check(version, "InputRequest", question);
}

/// Checks a notification as a whole message.
#[track_caller]
pub(crate) fn notification(version: ProtocolVersion, from: From, message: &Value) {
    let name = NOTIFICATIONS.iter().find(|n| n.0 == method(message));
    let (_, definition) = name.unwrap_or_else(|| panic!("not a notification of the protocol: {message}"));
    check(version, "JSONRPCNotification", message);
    check(version, definition, message);
    check(version, if from == From::Client { "ClientNotification" } else { "ServerNotification" }, message);
}

/// Checks the response to a request, good or bad, as a whole message.
#[track_caller]
pub(crate) fn response(version: ProtocolVersion, method: &str, message: &Value) {
    if message.get("error").is_some() {
        return error(version, message);
    }
    let (_, result_name) = names(method);
    check(version, &either(version, "JSONRPCResultResponse", "JSONRPCResponse"), message);
    let whole = either(version, &format!("{result_name}Response"), "");
    if whole.is_empty() {
        result(version, method, &message["result"]);
    } else {
        check(version, &whole, message);
    }
    if message["result"]["resultType"] == "input_required" {
        check(version, "InputRequiredResult", &message["result"]);
    } else if !whole.is_empty() {
        result(version, method, &message["result"]);
    }
}

/// Checks a result without the message around it.
#[track_caller]
pub(crate) fn result(version: ProtocolVersion, method: &str, result: &Value) {
    check(version, names(method).1, result);
}

/// Checks an error as a whole message.
#[track_caller]
pub(crate) fn error(version: ProtocolVersion, message: &Value) {
    // JSON-RPC wants `null` where the id could not be read, and the older schemas want an id.
    if message.get("id") != Some(&Value::Null) {
        check(version, &either(version, "JSONRPCErrorResponse", "JSONRPCError"), message);
    }
}

/// Checks any value against a definition of a revision's schema.
#[track_caller]
pub(crate) fn check(version: ProtocolVersion, definition: &str, value: &Value) {
    let validator = validator(&SCHEMAS[version.as_str()], version, definition);
    let errors: Vec<String> = validator.iter_errors(value).map(|e| format!("{e} at {}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{version}: not a `{definition}`: {errors:#?}\n{value:#}");
}

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_else(|| panic!("no method: {message}"))
}

fn names(method: &str) -> (&'static str, &'static str) {
    let row = REQUESTS.iter().find(|r| r.0 == method).unwrap_or_else(|| panic!("not a request: `{method}`"));
    (row.1, row.2)
}

/// The first of two names that the revision defines.
fn either(version: ProtocolVersion, first: &str, second: &str) -> String {
    let schema = &SCHEMAS[version.as_str()];
    let is_defined = schema[definitions(schema)].get(first).is_some();
    if is_defined { first.to_owned() } else { second.to_owned() }
}

/// Where the definitions are, which depends on the dialect of the schema.
fn definitions(schema: &Value) -> &'static str {
    if schema.get("$defs").is_some() { "$defs" } else { "definitions" }
}

fn validator(schema: &Value, version: ProtocolVersion, definition: &str) -> Arc<jsonschema::Validator> {
    static READY: LazyLock<Mutex<HashMap<String, Arc<jsonschema::Validator>>>> = LazyLock::new(Mutex::default);
    let mut ready = READY.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = format!("{version} {definition}");
    let make = || {
        let at = definitions(schema);
        assert!(schema[at].get(definition).is_some(), "{version} has no `{definition}`");
        let mut root = json!({ "$schema": schema["$schema"], "$ref": format!("#/{at}/{definition}") });
        root[at] = schema[at].clone();
        Arc::new(jsonschema::validator_for(&root).expect("the official schema is one"))
    };
    ready.entry(key).or_insert_with(make).clone()
}

static SCHEMAS: LazyLock<HashMap<&'static str, Value>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../types/tests/schemas");
    let read = |version: ProtocolVersion| {
        let path = folder.join(format!("{version}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("`{}`: {e}", path.display()));
        (version.as_str(), serde_json::from_str(&text).expect("a schema is JSON"))
    };
    ProtocolVersion::ALL.iter().copied().map(read).collect()
});

/// The judges do judge.
#[test]
fn wrong_messages_are_found() {
    for &version in ProtocolVersion::ALL {
        let wrong = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [{ "name": 5 }] } });
        let verdict = std::panic::catch_unwind(|| response(version, "tools/list", &wrong));
        assert!(verdict.is_err(), "{version}");
    }
}
