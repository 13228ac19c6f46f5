//! References within a document.

use serde_json::Value;

use super::Document;

/// The maximum number of references in a row.
const HOPS: usize = 16;

static MISSING: Value = Value::Null;

impl Document {
    /// Follows `$ref` until there is none. A reference to another document, to a missing part or in a circle leads to
    /// `null`.
    pub(crate) fn resolve<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        for _ in 0..HOPS {
            match value.get("$ref") {
                Some(Value::String(reference)) => value = self.target(reference).unwrap_or(&MISSING),
                _ => return value,
            }
        }
        &MISSING
    }

    /// Returns the part that a reference names.
    pub(crate) fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.contains('%') {
            return self.root.pointer(&decoded(pointer)?);
        }
        self.root.pointer(pointer)
    }
}

/// Decodes percent-encoded characters.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |b: u8| char::from(b).to_digit(16);
                bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                rest = tail;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_followed_and_end() {
        let document = Document::from_value(json!({
            "openapi": "3.0.0",
            "components": { "schemas": {
                "a/b": { "type": "string" },
                "to": { "$ref": "#/components/schemas/a~1b" },
                "encoded": { "$ref": "#/components/schemas/a~1b%20c" },
                "a/b c": { "type": "integer" },
                "me": { "$ref": "#/components/schemas/me" },
                "other": { "$ref": "other.yaml#/x" },
                "gone": { "$ref": "#/nowhere" },
            } },
        }))
        .expect("it is a document");
        let at = |name: &str| document.resolve(&document.member("components")["schemas"][name]).clone();
        assert_eq!(at("to"), json!({ "type": "string" }));
        assert_eq!(at("encoded"), json!({ "type": "integer" }));
        for name in ["me", "other", "gone"] {
            assert_eq!(at(name), Value::Null, "{name}");
        }
    }
}
