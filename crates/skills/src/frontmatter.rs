//! The YAML frontmatter of a `SKILL.md`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::yaml;

/// The frontmatter of a `SKILL.md`: its YAML fields, as JSON values.
///
/// ```
/// use couplet_skills::Frontmatter;
///
/// let (fields, body) = Frontmatter::split("---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
/// assert_eq!((fields.name(), fields.description(), body), ("greet", "Says hello.", "Say hello.\n"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Frontmatter(Map<String, Value>);

impl Frontmatter {
    /// Splits a `SKILL.md` into its frontmatter and its body.
    ///
    /// # Errors
    /// Fails if there is no frontmatter, or it is not a YAML mapping with a valid `name` and a `description`. Aliases
    /// and custom tags are not supported.
    pub fn split(text: &str) -> Result<(Self, &str), String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
        let rest = rest.ok_or("expected YAML frontmatter: the first line must be `---`")?;
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.strip_prefix("---").is_some_and(|after| after.trim_ascii().is_empty()) {
                let fields = yaml::mapping(&rest[..at]).map_err(|e| format!("the frontmatter is invalid: {e}"))?;
                let fields = Self(fields);
                fields.check()?;
                return Ok((fields, &rest[at + line.len()..]));
            }
            at += line.len();
        }
        Err("the frontmatter is not closed: a line `---` must follow it".to_owned())
    }

    /// Creates frontmatter with the required fields.
    #[cfg(feature = "server")]
    pub(crate) fn new(name: String, description: String) -> Self {
        Self([("name".to_owned(), name.into()), ("description".to_owned(), description.into())].into_iter().collect())
    }

    #[cfg(feature = "server")]
    pub(crate) fn insert(&mut self, key: String, value: Value) {
        self.0.insert(key, value);
    }

    /// Returns the name, which is also the name of the skill's directory.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// Returns the description: what the skill is for, and when to use it.
    pub fn description(&self) -> &str {
        self.text("description")
    }

    /// Returns a field.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Iterates over all fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the first field that differs.
    #[cfg(any(test, feature = "client"))]
    pub(crate) fn differs(&self, other: &Self) -> Option<String> {
        let value = |fields: &'_ Self, key: &str| fields.0.get(key).cloned().unwrap_or(Value::Null);
        let mut keys = self.0.keys().chain(other.0.keys());
        keys.find(|key| !same(&value(self, key), &value(other, key))).cloned()
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for key in ["name", "description"] {
            if self.text(key).is_empty() {
                return Err(format!("the frontmatter must have a `{key}` that is a non-empty string"));
            }
        }
        if !is_name(self.name()) {
            return Err(format!(
                "`{}` is not a valid skill name: use 1 to 64 lower-case letters and digits, with single hyphens in between",
                self.name()
            ));
        }
        Ok(())
    }

    /// Returns a key of `metadata` in the protocol's reserved namespace, which has no keys so far.
    #[cfg(feature = "server")]
    pub(crate) fn reserved(&self) -> Option<&str> {
        let reserved = couplet_types::SKILLS_EXTENSION.trim_end_matches("skills");
        self.get("metadata")?.as_object()?.keys().map(String::as_str).find(|key| key.starts_with(reserved))
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Whether a string is a valid skill name.
pub(crate) fn is_name(name: &str) -> bool {
    let letter = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=64).contains(&name.len())
        && name.bytes().all(letter)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Compares two values: numbers by value, and a missing member like `null`.
#[cfg(any(test, feature = "client"))]
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            let keys = x.keys().chain(y.keys());
            keys.into_iter().all(|key| same(x.get(key).unwrap_or(&Value::Null), y.get(key).unwrap_or(&Value::Null)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Frontmatter {
        serde_json::from_value(value).expect("fields")
    }

    #[test]
    fn names_follow_the_rules() {
        for name in ["a", "pdf-processing", "a1", "1a", &"a".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "A", "a_b", "a.b", "a/b", "é", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn fields_are_cut_from_the_text() {
        let start = "name: a\ndescription: b";
        for text in [
            format!("---\n{start}\n---\nbody\n"),
            format!("\u{feff}---\r\n{start}\r\n--- \r\nbody\n"),
            format!("---\n{start}\n---\t\nbody\n"),
        ] {
            let (fields, body) = Frontmatter::split(&text).expect("fields");
            assert_eq!((fields.name(), fields.description(), body), ("a", "b", "body\n"), "{text:?}");
        }
        assert_eq!(Frontmatter::split(&format!("---\n{start}\n---")).map(|(_, body)| body), Ok(""));
        for wrong in ["", "body", " ---\nname: a\n---\n", "---\nname: a\n", "---\nname: a\n---\n", "---\n- a\n---\n"] {
            assert!(Frontmatter::split(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn fields_are_compared_one_by_one() {
        let a = fields(json!({ "name": "a", "v": 1, "n": null, "l": [{ "x": 1 }] }));
        assert_eq!(a.differs(&fields(json!({ "name": "a", "v": 1.0, "l": [{ "x": 1, "y": null }] }))), None);
        assert_eq!(a.differs(&fields(json!({ "name": "b", "v": 1, "l": [{ "x": 1 }] }))), Some("name".to_owned()));
        let more = fields(json!({ "name": "a", "v": 1, "l": [{ "x": 1 }], "more": 1 }));
        assert_eq!(a.differs(&more), Some("more".to_owned()));
    }
}
