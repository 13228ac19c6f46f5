//! The identity of a request: whether a repeated call is the same call.

use couplet_core::message::Params;
use couplet_types::RpcError;
use hmac_sha256::Hash;

/// The parameters that make a call what it is. Others belong to one attempt: `_meta`, and the members of a round.
const PARAMETERS: [&str; 3] = ["name", "arguments", "task"];

/// Returns a digest of a tool call that does not depend on the order of members.
///
/// # Errors
/// -32602 if a parameter is nested too deeply.
pub(super) fn digest(params: &Params) -> Result<[u8; 32], RpcError> {
    let mut hash = Hash::new();
    for key in PARAMETERS {
        let deep = |error: serde_json::Error| RpcError::invalid_params(format!("`{key}`: {error}"));
        let text = match params.get(key).filter(|value| value.as_str() != "null") {
            Some(value) => value.canonical().map_err(deep)?,
            None => String::new(),
        };
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(&text);
    }
    Ok(hash.finalize())
}

#[cfg(test)]
mod tests {
    use couplet_core::JsonText;

    use super::*;

    fn of(text: &str) -> [u8; 32] {
        digest(&Params::from_text(JsonText::new(text.to_owned()).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn the_order_of_members_does_not_matter() {
        let one = of(r#"{"name":"t","arguments":{"a":1,"b":[{"c":"x","d":null}]}}"#);
        let same = [
            r#"{"arguments":{"b":[{"d":null,"c":"\u0078"}], "a" : 1},"name":"t","_meta":{"progressToken":1}}"#,
            r#"{"name":"t","arguments":{"a":1,"b":[{"c":"x","d":null}]},"attempt":2,"task":null}"#,
        ];
        for text in same {
            assert_eq!(of(text), one, "{text}");
        }
    }

    #[test]
    fn everything_else_does() {
        let texts = [
            r#"{"name":"t"}"#,
            r#"{"name":"u"}"#,
            r#"{"name":"t","arguments":{}}"#,
            r#"{"name":"t","task":{}}"#,
            r#"{"name":"t","arguments":{"a":1}}"#,
            r#"{"name":"t","arguments":{"a":"1"}}"#,
            r#"{"name":"t","arguments":{"a":[1,2]}}"#,
            r#"{"name":"t","arguments":{"a":[2,1]}}"#,
            r#"{"name":"t","arguments":{"a":[[1],2]}}"#,
            r#"{"name":"t","arguments":{"a":[[1,2]]}}"#,
            r#"{"name":"t","arguments":{"a":null}}"#,
            r#"{"name":"t","arguments":{"a":12345678901234567}}"#,
            r#"{"name":"t","arguments":{"a":12345678901234568}}"#,
        ];
        let all: std::collections::BTreeSet<_> = texts.iter().map(|text| of(text)).collect();
        assert_eq!(all.len(), texts.len());
    }
}
