//! Declared capabilities against the actual answers.

use couplet_types::code;
use serde_json::Value;

use super::Together;
use crate::{
    Surface,
    report::Report,
    rule::table,
    surface::{Kind, Said},
};

table! { Protocol:
    UNDECLARED = "capability-undeclared" Error
        about "the server lists things without declaring the capability"
        why "The specification requires the capability, and clients do not ask for what is not declared."
        fix "Declare the capability."
    UNANSWERED = "capability-unanswered" Error
        about "the server declares a capability, but does not answer the list request"
        why "Clients that ask for all that is declared fail to connect (charmbracelet/crush#2239), or wait until they time out (artokun/comfyui-mcp#29)."
        fix "Do not declare the capability, or answer with an empty list."
    EMPTY = "capability-empty" Note
        about "the server declares a capability, but the list is empty"
        why "Hosts show a section that is always empty (mozilla/firefox-devtools-mcp#147)."
        fix "Declare the capability when there is something, if that can change."
    SHAPE = "capability-shape" Error
        about "a capability has the wrong type"
        why "Capabilities are objects, and their flags are booleans; clients built on the official SDKs reject others."
        fix "Write `{}` for a capability, and omit it if it is not supported."
    REMOVED = "capability-removed" Note
        about "the server declares a capability that the revision does not have"
        why "Clients of this revision ignore it."
        fix "Declare it in the revisions that have it, or the extension that took its place."
    EXTENSION = "extension-name" Warning
        about "the identifier of an extension is invalid"
        why "The specification requires a prefix, such as that of a domain, and a name."
        fix "Call it `com.example/name`."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let mut together = Together::default();
    for said in &surface.said {
        for kind in Kind::ALL {
            list(said, kind, &mut together);
        }
        let Some(capabilities) = said.hello("capabilities").and_then(Value::as_object) else { continue };
        for (name, capability) in capabilities {
            shape(said, name, capability, &mut together);
        }
        if capabilities.contains_key("tasks") && !said.revision.has_core_tasks() {
            together.add(&REMOVED, said.version(), "/capabilities/tasks", "`tasks` is declared".to_owned());
        }
        for id in capabilities.get("extensions").and_then(Value::as_object).into_iter().flatten().map(|(id, _)| id) {
            if !couplet_types::Meta::is_valid_extension(id) {
                together.add(&EXTENSION, said.version(), "/capabilities/extensions", format!("it is called `{id}`"));
            }
        }
    }
    together.tell(report);
}

fn list(said: &Said, kind: Kind, together: &mut Together) {
    let Some(list) = said.lists.get(&kind) else { return };
    let (name, version) = (kind.capability(), said.version());
    let pointer = format!("/capabilities/{name}");
    let is_declared = said.hello("capabilities").is_some_and(|all| all.get(name).is_some());
    if !is_declared {
        if list.count > 0 {
            let what = format!("`{}` has {} entries, and `{name}` is not declared", kind.method(), list.count);
            together.add(&UNDECLARED, version, &pointer, what);
        }
        return;
    }
    if list.errors.iter().any(|error| error.code == code::METHOD_NOT_FOUND) {
        let what = format!("`{name}` is declared, and `{}` does not exist", kind.method());
        return together.add(&UNANSWERED, version, &pointer, what);
    }
    let others = Kind::ALL.into_iter().filter(|other| other.capability() == name);
    let all: usize = others.filter_map(|other| said.lists.get(&other)).map(|list| list.count).sum();
    let was_read = list.errors.is_empty() && list.broken.is_empty();
    // A server with templates has resources; that is reported once for both lists.
    if all == 0 && was_read && kind != Kind::Templates {
        together.add(&EMPTY, version, &pointer, format!("`{name}` is declared, and there are none"));
    }
}

fn shape(said: &Said, name: &str, capability: &Value, together: &mut Together) {
    let pointer = format!("/capabilities/{}", crate::read::escaped(name));
    let Some(members) = capability.as_object() else {
        let what = format!("`{name}` is `{capability}`, and not an object");
        return together.add(&SHAPE, said.version(), &pointer, what);
    };
    for flag in ["listChanged", "subscribe"] {
        if let Some(value) = members.get(flag).filter(|value| !value.is_boolean()) {
            let what = format!("`{flag}` of `{name}` is `{value}`");
            together.add(&SHAPE, said.version(), &format!("{pointer}/{flag}"), what);
        }
    }
}
