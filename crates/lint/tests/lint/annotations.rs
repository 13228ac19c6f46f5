//! How tools say that they behave.

use serde_json::json;

use crate::{Case, case, draft::Draft};

fn hints(draft: &mut Draft, hints: serde_json::Value) {
    draft.tool()["annotations"] = hints;
}

pub(crate) const CASES: &[Case] = &[
    case(
        "annotations-missing",
        |d| {
            d.tool().as_object_mut().unwrap().remove("annotations");
        },
        // Older revisions have none.
        |d| {
            d.tool().as_object_mut().unwrap().remove("annotations");
            d.revisions.truncate(1);
        },
    ),
    case(
        "annotation-read-only",
        |d| hints(d, json!({ "idempotentHint": true, "openWorldHint": true })),
        |d| hints(d, json!({ "destructiveHint": false, "idempotentHint": true, "openWorldHint": true })),
    ),
    case(
        "annotation-destructive",
        |d| hints(d, json!({ "readOnlyHint": false, "idempotentHint": true, "openWorldHint": true })),
        |d| hints(d, json!({ "readOnlyHint": true, "idempotentHint": true, "openWorldHint": true })),
    ),
    case(
        "annotation-idempotent",
        |d| hints(d, json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true })),
        |d| hints(d, json!({ "readOnlyHint": true, "destructiveHint": false, "openWorldHint": true })),
    ),
    case(
        "annotation-open-world",
        |d| hints(d, json!({ "readOnlyHint": true })),
        |d| hints(d, json!({ "readOnlyHint": true, "openWorldHint": false })),
    ),
    case(
        "annotation-contradiction",
        |d| hints(d, json!({ "readOnlyHint": true, "destructiveHint": true, "openWorldHint": true })),
        |d| hints(d, json!({ "readOnlyHint": true, "destructiveHint": false, "openWorldHint": true })),
    ),
    case(
        "annotation-explicit",
        |d| d.tool()["annotations"]["readOnlyHint"] = json!(true),
        |d| d.tool()["annotations"]["destructiveHint"] = json!(false),
    ),
    case(
        "annotation-name-writes",
        |d| d.tool()["name"] = json!("weather-send-alert"),
        |d| d.tool()["name"] = json!("list_deleted_posts"),
    ),
    case(
        "annotation-name-reads",
        |d| d.tools[1]["name"] = json!("getNote"),
        |d| d.tools[1]["name"] = json!("forget_note"),
    ),
];
