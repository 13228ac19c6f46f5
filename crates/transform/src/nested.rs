//! Members inside of arguments: their schemas and their values.

use couplet_core::JsonText;
use couplet_types::{Map, RawJson};
use serde_json::Value;

use crate::argument::ArgumentTransform;

/// Returns the schema of an object with the changes of one member; `None` if the schema does not describe the member.
pub(crate) fn applied(schema: &RawJson, path: &[String], change: &ArgumentTransform) -> Option<RawJson> {
    let (first, rest) = path.split_first()?;
    let mut members: Map<RawJson> = schema.parse().ok()?;
    let mut properties: Map<RawJson> = members.get("properties")?.parse().ok()?;
    let inner = properties.get(first)?;
    let changed = match rest {
        [] => change.applied_to(inner),
        rest => applied(inner, rest, change)?,
    };
    properties.insert(first, changed);
    members.insert("properties", RawJson::new(&properties).ok()?);
    let required = members.get("required").and_then(|required| required.parse::<Vec<String>>().ok());
    if let Some(mut required) = required.filter(|_| rest.is_empty() && change.filled().is_some()) {
        required.retain(|name| name != first);
        members.insert("required", RawJson::new(&required).ok()?);
    }
    RawJson::new(&members).ok()
}

/// Checks the members of an argument that a caller sent, and adds defaults.
///
/// # Errors
/// The path of the member, and what was expected.
pub(crate) fn inward<'a>(
    changes: impl Iterator<Item = (&'a [String], &'a ArgumentTransform)>,
    sent: &JsonText,
) -> Result<RawJson, String> {
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return Ok(sent.to_raw());
    }
    let mut value: Value = sent.parse().map_err(|_| ": expected a value that can be parsed".to_owned())?;
    let mut is_changed = false;
    for (path, change) in changes {
        let Some((last, parents)) = path.split_last() else { continue };
        let parent = parents.iter().try_fold(&mut value, |value, key| value.get_mut(key.as_str()));
        let Some(Value::Object(members)) = parent else { continue };
        match (members.get(last), change.filled()) {
            (Some(member), _) => {
                let wrong = |what: String| format!(", member `{}`: {what}", path.join("/"));
                let member = JsonText::new(member.to_string()).map_err(|fault| wrong(fault.to_string()))?;
                change.check(&member).map_err(wrong)?;
            }
            (None, Some(default)) => {
                members.insert(last.clone(), default.parse().unwrap_or_default());
                is_changed = true;
            }
            (None, None) => {}
        }
    }
    // Numbers and order stay as they were sent, if nothing is added.
    Ok(if is_changed { value.into() } else { sent.to_raw() })
}
