//! Forms for clients of the first revision that has any.

use couplet_types::{Map, RawJson, RpcError};
use serde_json::Value;

/// Converts a form for clients that support neither titled nor multiple choices, and defaults of booleans only. The
/// fields keep their order.
///
/// # Errors
/// If such a form cannot have a required field.
pub(super) fn plain(schema: &RawJson) -> Result<RawJson, RpcError> {
    let mut root: Map<RawJson> = schema.parse().map_err(broken)?;
    root.remove("$schema");
    let required = root.get("required").map(RawJson::parse::<Vec<String>>).transpose().map_err(broken)?;
    if let Some(properties) = root.get("properties") {
        let fields: Map<RawJson> = properties.parse().map_err(broken)?;
        let mut plain = Map::new();
        for (name, field) in fields {
            match plain_field(&field)? {
                Some(field) => plain.insert(name, field),
                None if required.iter().flatten().any(|r| **r == *name) => {
                    return Err(RpcError::internal(format!(
                        "the client's revision cannot ask for several of `{name}`"
                    )));
                }
                // Optional fields are left out.
                None => {}
            }
        }
        root.insert("properties", RawJson::new(&plain).map_err(broken)?);
    }
    RawJson::new(&root).map_err(broken)
}

/// `None` is a field that such a form cannot have.
fn plain_field(field: &RawJson) -> Result<Option<RawJson>, RpcError> {
    let Ok(mut field) = field.parse::<Map<Value>>() else { return Ok(Some(field.clone())) };
    if field.get("type").is_some_and(|t| t == "array") {
        return Ok(None);
    }
    if field.get("type").is_some_and(|t| t != "boolean") {
        field.remove("default");
    }
    if let Some(Value::Array(choices)) = field.remove("oneOf") {
        let column = |key: &str| choices.iter().filter_map(|c| c.get(key).cloned()).collect::<Value>();
        field.insert("enum", column("const"));
        field.insert("enumNames", column("title"));
    }
    RawJson::new(&field).map(Some).map_err(broken)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn broken(error: serde_json::Error) -> RpcError {
    RpcError::internal(format!("the form is not valid: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: &str, expected: Result<&str, &str>) {
        let plain = plain(&RawJson::from_text(form).unwrap());
        assert_eq!(plain.as_ref().map(RawJson::get).map_err(|e| e.message.as_str()), expected);
    }

    #[test]
    fn fields_keep_their_order_and_lose_what_is_not_known() {
        check(
            r#"{"$schema":"x","type":"object","properties":{"what":{"type":"string","default":"tea"},"size":{"type":"string","oneOf":[{"const":"s","title":"Small"}]},"again":{"type":"boolean","default":true}},"required":["what"]}"#,
            Ok(
                r#"{"type":"object","properties":{"what":{"type":"string"},"size":{"type":"string","enum":["s"],"enumNames":["Small"]},"again":{"type":"boolean","default":true}},"required":["what"]}"#,
            ),
        );
        check(
            r#"{"properties":{"all":{"type":"array"}},"required":["all"]}"#,
            Err("the client's revision cannot ask for several of `all`"),
        );
        check(r#"{"properties":{"all":{"type":"array"}}}"#, Ok(r#"{"properties":{}}"#));
    }
}
