//! The extensions of a server and of those mounted in it, as one declaration.

use std::collections::BTreeMap;

use couplet_core::{Description, ExtensionMethod, ExtensionSpec};
use couplet_types::{Map, RawJson};
use serde_json::Value;

/// Declarations of extensions by identifier. What is declared first takes precedence.
#[derive(Default)]
pub(crate) struct Merged {
    pub(crate) specs: Vec<ExtensionSpec>,
    pub(crate) settings: Map<RawJson>,
    /// The server that declared each extension, and each method, first.
    declared: BTreeMap<String, String>,
    /// The declarations that differ from earlier ones.
    pub(crate) conflicts: Vec<String>,
}

impl Merged {
    /// Adds the extensions of a server; `server` names it in errors.
    pub(crate) fn add(&mut self, server: &str, about: &Description) {
        let settings = about.capabilities.extensions.as_ref();
        self.add_parts(server, &about.extensions, settings);
    }

    pub(crate) fn add_parts(&mut self, server: &str, specs: &[ExtensionSpec], settings: Option<&Map<RawJson>>) {
        for (id, value) in settings.into_iter().flat_map(Map::iter) {
            self.add_settings(server, id, value);
        }
        specs.iter().for_each(|spec| self.add_spec(server, spec));
    }

    fn add_settings(&mut self, server: &str, id: &str, value: &RawJson) {
        let Some(before) = self.settings.get(id) else {
            self.declared.insert(id.to_owned(), server.to_owned());
            self.settings.insert(id, value.clone());
            return;
        };
        let (Ok(mut merged), Ok(more)) = (before.parse::<Value>(), value.parse::<Value>()) else { return };
        match merge(&mut merged, more) {
            Ok(()) => self.settings.insert(id, merged.into()),
            Err(path) => {
                let first = self.declared.get(id).map_or("", String::as_str);
                self.conflicts.push(format!(
                    "the extension `{id}` has another setting `{path}` in {server} than in {first}: set it to the same value"
                ));
            }
        }
    }

    fn add_spec(&mut self, server: &str, spec: &ExtensionSpec) {
        for method in &spec.methods {
            self.check_method(server, &spec.id, method);
        }
        let Some(known) = self.specs.iter_mut().find(|known| known.id == spec.id) else {
            self.specs.push(spec.clone());
            return;
        };
        let ExtensionSpec { methods, result_types, filters, stateless, .. } = spec;
        known.methods.extend(
            methods.iter().filter(|m| !known.methods.iter().any(|k| k.name == m.name)).cloned().collect::<Vec<_>>(),
        );
        known
            .result_types
            .extend(result_types.iter().filter(|kind| !known.result_types.contains(kind)).cloned().collect::<Vec<_>>());
        known
            .filters
            .extend(filters.iter().filter(|member| !known.filters.contains(member)).cloned().collect::<Vec<_>>());
        // In sessions it exists where all of them can serve it.
        known.stateless |= stateless;
    }

    /// A method is one of one extension, and names its target in one way.
    fn check_method(&mut self, server: &str, id: &str, method: &ExtensionMethod) {
        let name = &method.name;
        let other = self.specs.iter().find_map(|spec| Some((spec, spec.methods.iter().find(|own| own.name == *name)?)));
        let Some((spec, own)) = other else { return };
        let first = self.declared.get(&spec.id).map_or("", String::as_str);
        if spec.id != id {
            self.conflicts.push(format!(
                "the method `{name}` belongs to the extension `{id}` in {server} and to `{}` in {first}",
                spec.id
            ));
        } else if own.named_by != method.named_by {
            self.conflicts.push(format!(
                "the method `{name}` of the extension `{id}` has another parameter for its target in {server} than in {first}"
            ));
        }
    }
}

/// Merges objects member by member.
///
/// # Errors
/// With the path of a member that has two values.
fn merge(into: &mut Value, more: Value) -> Result<(), String> {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.into_iter().try_for_each(|(key, value)| match into.get_mut(&key) {
                Some(known) => {
                    merge(known, value).map_err(|path| if path.is_empty() { key } else { format!("{key}.{path}") })
                }
                None => {
                    into.insert(key, value);
                    Ok(())
                }
            })
        }
        (into, more) if *into == more => Ok(()),
        _ => Err(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_merged_member_by_member() {
        for (before, more, after) in [
            (json!({}), json!({ "a": 1 }), Ok(json!({ "a": 1 }))),
            (json!({ "a": 1 }), json!({ "a": 1, "b": [2] }), Ok(json!({ "a": 1, "b": [2] }))),
            (json!({ "a": { "x": 1 } }), json!({ "a": { "y": 2 } }), Ok(json!({ "a": { "x": 1, "y": 2 } }))),
            (json!({ "a": 1 }), json!({ "a": 2 }), Err("a")),
            (json!({ "a": { "x": [1] } }), json!({ "a": { "x": [2] } }), Err("a.x")),
            (json!({ "a": { "x": 1 } }), json!({ "a": true }), Err("a")),
        ] {
            let mut merged = before.clone();
            let result = merge(&mut merged, more).map(|()| merged);
            assert_eq!(result, after.map_err(str::to_owned), "{before}");
        }
    }
}
