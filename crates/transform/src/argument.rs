//! One argument of a tool.

use couplet_core::JsonText;
use couplet_types::{Map, RawJson, is_json_type};
use serde_json::Value;

/// The changes to one argument of a tool: another name, description or default, or a narrower set of values.
///
/// A narrower set is enforced: a call with another value fails with a message for the model, before the tool is called.
///
/// ```
/// use couplet_transform::{ArgumentTransform, ToolTransform};
/// use serde_json::json;
///
/// let order = ArgumentTransform::new().name("sort").one_of(["newest", "oldest"]).default_value(json!("newest"));
/// let search = ToolTransform::new().argument("o", order).preset("tenant", json!(7));
/// # drop(search);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgumentTransform {
    pub(crate) name: Option<String>,
    description: Option<String>,
    default: Option<RawJson>,
    kind: Option<&'static str>,
    one_of: Option<Vec<Value>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    max_length: Option<usize>,
    pub(crate) access: Access,
}

/// Whether callers see an argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Access {
    #[default]
    Open,
    /// It is never sent.
    Hidden,
    /// It always has this value.
    Preset(RawJson),
}

impl ArgumentTransform {
    /// Creates a transform without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the transform of an argument that always has this value.
    pub(crate) fn preset(value: RawJson) -> Self {
        Self { access: Access::Preset(value), ..Self::default() }
    }

    /// Creates the transform of an argument that is never sent.
    pub(crate) fn hidden() -> Self {
        Self { access: Access::Hidden, ..Self::default() }
    }

    /// Sets the name that callers use. Another argument of the tool that has the name is hidden.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the value that the tool receives if the caller sends none. The argument is optional then.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<RawJson>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Permits only integers.
    #[must_use]
    pub fn integer(mut self) -> Self {
        self.kind = Some("integer");
        self
    }

    /// Permits only strings.
    #[must_use]
    pub fn string(mut self) -> Self {
        self.kind = Some("string");
        self
    }

    /// Permits only numbers.
    #[must_use]
    pub fn number(mut self) -> Self {
        self.kind = Some("number");
        self
    }

    /// Permits only booleans.
    #[must_use]
    pub fn boolean(mut self) -> Self {
        self.kind = Some("boolean");
        self
    }

    /// Permits only arrays.
    #[must_use]
    pub fn array(mut self) -> Self {
        self.kind = Some("array");
        self
    }

    /// Permits only objects.
    #[must_use]
    pub fn object(mut self) -> Self {
        self.kind = Some("object");
        self
    }

    /// Permits only these values.
    #[must_use]
    pub fn one_of(mut self, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        self.one_of = Some(values.into_iter().map(Into::into).collect());
        self
    }

    /// Permits only numbers of at least this value.
    #[must_use]
    pub fn minimum(mut self, value: f64) -> Self {
        self.minimum = Some(value);
        self
    }

    /// Permits only numbers of at most this value.
    #[must_use]
    pub fn maximum(mut self, value: f64) -> Self {
        self.maximum = Some(value);
        self
    }

    /// Permits only strings of at most this many characters.
    #[must_use]
    pub fn max_length(mut self, characters: usize) -> Self {
        self.max_length = Some(characters);
        self
    }

    pub(crate) fn is_open(&self) -> bool {
        self.access == Access::Open
    }

    /// The value to send if the caller sends none.
    pub(crate) fn filled(&self) -> Option<&RawJson> {
        match &self.access {
            Access::Preset(value) => Some(value),
            Access::Open => self.default.as_ref(),
            Access::Hidden => None,
        }
    }

    /// The schema of the argument with the changes.
    pub(crate) fn applied_to(&self, schema: &RawJson) -> RawJson {
        // `true` is a schema that permits everything.
        let mut members: Map<RawJson> = schema.parse().unwrap_or_default();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(key, value.into());
            }
        };
        set("description", self.description.clone().map(Value::from));
        set("type", self.kind.map(Value::from));
        set("enum", self.one_of.clone().map(Value::from));
        set("minimum", self.minimum.map(number));
        set("maximum", self.maximum.map(number));
        set("maxLength", self.max_length.map(Value::from));
        if let Some(default) = &self.default {
            members.insert("default", default.clone());
        }
        RawJson::new(&members).unwrap_or_else(|_| schema.clone())
    }

    /// Checks a value that a caller sent.
    ///
    /// # Errors
    /// What was expected.
    pub(crate) fn check(&self, value: &JsonText) -> Result<(), String> {
        let is_free = self.kind.is_none() && self.one_of.is_none() && self.max_length.is_none();
        if is_free && self.minimum.is_none() && self.maximum.is_none() {
            return Ok(());
        }
        let value: Value = value.parse().map_err(|_| "expected a value that can be parsed".to_owned())?;
        if let Some(values) = &self.one_of
            && !values.contains(&value)
        {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            return Err(format!("expected one of {}", values.join(", ")));
        }
        if let Some(kind) = self.kind.filter(|kind| !is_json_type(&value, kind)) {
            let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
            return Err(format!("expected {article} {kind}"));
        }
        let number = value.as_f64();
        let below = self.minimum.filter(|least| number.is_some_and(|number| number < *least));
        let above = self.maximum.filter(|most| number.is_some_and(|number| number > *most));
        let length = value.as_str().map_or(0, |text| text.chars().count());
        match (below, above, self.max_length.filter(|most| length > *most)) {
            (Some(least), ..) => Err(format!("expected at least {least}")),
            (_, Some(most), _) => Err(format!("expected at most {most}")),
            (_, _, Some(most)) => Err(format!("expected at most {most} characters, got {length}")),
            _ => Ok(()),
        }
    }
}

/// A number as a schema has it: without a fraction if it has none.
fn number(value: f64) -> Value {
    match value as i64 {
        whole if whole as f64 == value => Value::from(whole),
        _ => Value::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_values_are_checked() {
        let names = ArgumentTransform::new().one_of(["a", "b"]);
        let count = ArgumentTransform::new().integer().minimum(1.0).maximum(10.0);
        let text = ArgumentTransform::new().string().max_length(2);
        let [list, object] = [ArgumentTransform::new().array(), ArgumentTransform::new().object()];
        let [amount, flag] = [ArgumentTransform::new().number(), ArgumentTransform::new().boolean()];
        for (argument, value, expected) in [
            (&names, r#""a""#, ""),
            (&names, r#""c""#, r#"expected one of `"a"`, `"b"`"#),
            (&count, "1", ""),
            (&count, "2.0", ""),
            (&count, "2.5", "expected an integer"),
            (&count, r#""2""#, "expected an integer"),
            (&count, "0", "expected at least 1"),
            (&count, "11", "expected at most 10"),
            (&text, r#""äö""#, ""),
            (&text, r#""abc""#, "expected at most 2 characters, got 3"),
            (&text, "1", "expected a string"),
            (&list, "[1]", ""),
            (&list, "1", "expected an array"),
            (&object, "{}", ""),
            (&object, "[]", "expected an object"),
            (&amount, "1.5", ""),
            (&amount, "true", "expected a number"),
            (&flag, "true", ""),
            (&flag, "0", "expected a boolean"),
        ] {
            let value = JsonText::new(value).expect("it is JSON");
            assert_eq!(argument.check(&value).err().unwrap_or_default(), expected, "{value:?}");
        }
    }
}
