//! What a server says that it can do, and whether it can.

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
        about "the server lists things without saying that it has any"
        why "The specification asks for the capability, and clients do not ask for what is not declared."
        fix "Declare the capability."
    UNANSWERED = "capability-unanswered" Error
        about "the server says that it has things, and does not list them"
        why "Clients that ask for all that is declared fail to connect (charmbracelet/crush#2239), or wait until they give up (artokun/comfyui-mcp#29)."
        fix "Do not declare the capability, or answer with an empty list."
    EMPTY = "capability-empty" Note
        about "the server says that it has things, and has none"
        why "Hosts show a place for them that is always empty (mozilla/firefox-devtools-mcp#147)."
        fix "Declare the capability when there is something, if that can change."
    SHAPE = "capability-shape" Error
        about "a capability is not said in the form that it has"
        why "Capabilities are objects, and what is in them says true or false; clients built on the official SDKs refuse others."
        fix "Write `{}` for a capability, and leave it out where there is none."
    REMOVED = "capability-removed" Note
        about "the server declares a capability that the revision does not have"
        why "Nobody who speaks the revision looks at it."
        fix "Declare it in the revisions that have it, or the extension that took its place."
    EXTENSION = "extension-name" Warning
        about "an extension has a name that extensions cannot have"
        why "The specification asks for a prefix, such as that of a domain, and a name."
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
    // A server with templates has resources; that is told once for both lists.
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
