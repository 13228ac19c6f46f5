//! Tool annotations (behaviour hints).

use serde_json::Value;

use super::words::words;
use crate::{Surface, report::Report, rule::table, surface::Item};

table! { Annotations:
    MISSING = "annotations-missing" Warning
        about "a tool does not say how it behaves"
        why "Without `annotations` hosts treat it as destructive and ask before every call; the directories of Claude and ChatGPT reject such servers (open-metadata/OpenMetadata#30107, olostep/olostep-mcp-server#22)."
        fix "Add `annotations` with `readOnlyHint`, `destructiveHint`, `idempotentHint` and `openWorldHint`."
    READ_ONLY = "annotation-read-only" Warning
        about "a tool does not say whether it changes anything"
        why "Absent means that it does: Claude asks before every call, and its directory requires the hint (elgorro/aiquila#386)."
        fix "Add `readOnlyHint`."
    DESTRUCTIVE = "annotation-destructive" Warning
        about "a tool that changes something does not say whether it destroys anything"
        why "Absent means that it does, so users are warned of a tool that only adds."
        fix "Add `destructiveHint`."
    IDEMPOTENT = "annotation-idempotent" Note (optional)
        about "a tool that changes something does not say whether repeated calls have additional effects"
        why "Absent means that they do, so clients do not retry it after a lost answer."
        fix "Add `idempotentHint`."
    OPEN_WORLD = "annotation-open-world" Note
        about "a tool does not say whether it interacts with external systems"
        why "Absent means that it does, so hosts treat what it returns as untrusted content."
        fix "Add `openWorldHint`."
    CONTRADICTION = "annotation-contradiction" Error
        about "a tool says that it changes nothing and that it destroys something"
        why "Hosts run read-only tools without asking, so one of the two hints is misleading."
        fix "Say `\"destructiveHint\": false`, or not `readOnlyHint`."
    WRITES = "annotation-name-writes" Warning
        about "a tool whose name says that it changes something says that it does not"
        why "Hosts run read-only tools without asking."
        fix "Correct `readOnlyHint`, or the name."
    EXPLICIT = "annotation-explicit" Note (optional)
        about "a tool relies on the default of a hint"
        why "ChatGPT rejects apps with a tool that does not set `readOnlyHint`, `destructiveHint` and `openWorldHint`, whatever their values (olostep/olostep-mcp-server#22)."
        fix "Set all three."
    READS = "annotation-name-reads" Note
        about "a tool whose name says that it reads says that it destroys something"
        why "Hosts ask before every call."
        fix "Correct `destructiveHint`, or the name."
}

const WRITING: [&str; 24] = [
    "create",
    "delete",
    "deploy",
    "destroy",
    "drop",
    "edit",
    "erase",
    "insert",
    "install",
    "overwrite",
    "patch",
    "pay",
    "post",
    "publish",
    "purge",
    "remove",
    "rename",
    "send",
    "transfer",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "write",
];
const READING: [&str; 16] = [
    "check", "count", "describe", "explain", "fetch", "find", "get", "has", "is", "list", "preview", "query", "read",
    "search", "show", "validate",
];

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    if surface.newest().is_none_or(|said| !said.revision.has_tool_annotations()) {
        return;
    }
    for tool in surface.tools() {
        match tool.get("annotations") {
            None => report.add(&MISSING, tool.place(), "there are no `annotations`"),
            Some(annotations) if annotations.is_object() => hints(tool, annotations, report),
            // A value that is not an object is reported by another rule.
            Some(_) => {}
        }
    }
}

fn hints(tool: &Item, annotations: &Value, report: &mut Report<'_>) {
    let hint = |name: &str| annotations.get(name).and_then(Value::as_bool);
    let place = || tool.at("/annotations");
    let (reads, destroys) = (hint("readOnlyHint"), hint("destructiveHint"));
    match (reads, destroys) {
        // A tool that says whether it is destructive says that it changes something.
        (None, None) => report.add(&READ_ONLY, place(), "there is neither `readOnlyHint` nor `destructiveHint`"),
        (Some(false), None) => report.add(&DESTRUCTIVE, place(), "there is no `destructiveHint`"),
        _ => {}
    }
    // The hint has a meaning only for tools that change something.
    if reads != Some(true) && hint("idempotentHint").is_none() {
        report.add(&IDEMPOTENT, place(), "there is no `idempotentHint`");
    }
    let absent = ["readOnlyHint", "destructiveHint", "openWorldHint"].into_iter().find(|name| hint(name).is_none());
    if let Some(absent) = absent {
        report.add(&EXPLICIT, place(), format!("there is no `{absent}`"));
    }
    if hint("openWorldHint").is_none() {
        report.add(&OPEN_WORLD, place(), "there is no `openWorldHint`");
    }
    if reads == Some(true) && destroys == Some(true) {
        report.add(&CONTRADICTION, place(), "`readOnlyHint` and `destructiveHint` are both true");
    }
    match says(tool.name()) {
        Some((word, true)) if reads == Some(true) => {
            report.add(&WRITES, place(), format!("the name says `{word}`, and `readOnlyHint` is true"));
        }
        Some((word, false)) if destroys == Some(true) && reads != Some(true) => {
            report.add(&READS, place(), format!("the name says `{word}`, and `destructiveHint` is true"));
        }
        _ => {}
    }
}

/// The first word of a name that says what the tool does, and whether that changes something.
fn says(name: &str) -> Option<(String, bool)> {
    words(name).into_iter().find_map(|word| {
        let writes = WRITING.contains(&&*word);
        (writes || READING.contains(&&*word)).then_some((word, writes))
    })
}
