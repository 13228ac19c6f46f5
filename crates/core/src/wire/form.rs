//! Forms for clients of the first revision that has any.

use couplet_types::{Map, RawJson, RpcError};
use serde_json::Value;

/// A form for clients that know neither titled nor multiple choices, nor defaults but of booleans. Its fields stay in
/// their order, which is the one in which a person is asked.
///
/// # Errors
/// When something is asked that such a client cannot ask.
pub(crate) fn plain(schema: &RawJson) -> Result<RawJson, RpcError> {
    let mut root: Map<RawJson> = schema.parse().map_err(broken)?;
    root.remove("$schema");
    if let Some(properties) = root.get("properties") {
        let fields: Map<RawJson> = properties.parse().map_err(broken)?;
        let fields: Result<Map<RawJson>, RpcError> =
            fields.into_iter().map(|(name, field)| Ok((name.clone(), plain_field(&name, &field)?))).collect();
        root.insert("properties", RawJson::new(&fields?).map_err(broken)?);
    }
    RawJson::new(&root).map_err(broken)
}

fn plain_field(name: &str, field: &RawJson) -> Result<RawJson, RpcError> {
    let Ok(mut field) = field.parse::<Map<Value>>() else { return Ok(field.clone()) };
    if field.get("type").is_some_and(|t| t == "array") {
        return Err(RpcError::internal(format!("the client's revision cannot ask for several of `{name}`")));
    }
    if field.get("type").is_some_and(|t| t != "boolean") {
        field.remove("default");
    }
    if let Some(Value::Array(choices)) = field.remove("oneOf") {
        let column = |key: &str| choices.iter().filter_map(|c| c.get(key).cloned()).collect::<Value>();
        field.insert("enum", column("const"));
        field.insert("enumNames", column("title"));
    }
    RawJson::new(&field).map_err(broken)
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
            r#"{"properties":{"all":{"type":"array"}}}"#,
            Err("the client's revision cannot ask for several of `all`"),
        );
    }
}
