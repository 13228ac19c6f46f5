//! Validation of the content of a form.

use crate::{Choices, ElicitSchema, Map, MultiEnumSchema, NumberSchema, PrimitiveSchema, RawJson, StringSchema};

impl ElicitSchema {
    /// Validates the content of a form: required fields, types, lengths, ranges and choices. Formats of strings are not
    /// checked, and unknown fields are accepted.
    ///
    /// # Errors
    /// A message that names the first invalid field.
    ///
    /// ```
    /// use couplet_types::{ElicitSchema, Map, NumberSchema, RawJson};
    ///
    /// let form = ElicitSchema::new().required("count", NumberSchema::integer().minimum(1.0));
    /// let filled = |n: i64| Map::<RawJson>::from([("count", RawJson::new(&n).unwrap())]);
    /// assert!(form.check(&filled(3)).is_ok());
    /// assert_eq!(form.check(&filled(0)).unwrap_err(), "`count` must be at least 1");
    /// assert_eq!(form.check(&Map::new()).unwrap_err(), "`count` is missing");
    /// ```
    pub fn check(&self, content: &Map<RawJson>) -> Result<(), String> {
        for name in self.required.iter().flatten() {
            if !content.contains_key(name) {
                return Err(format!("`{name}` is missing"));
            }
        }
        for (name, field) in self.properties.iter() {
            if let Some(value) = content.get(name) {
                field.check(value).map_err(|what| format!("`{name}` must be {what}"))?;
            }
        }
        Ok(())
    }

    /// Returns the default values of the form.
    pub fn defaults(&self) -> Map<RawJson> {
        let raw = |value: Result<RawJson, serde_json::Error>| value.ok();
        let default = |field: &PrimitiveSchema| match field {
            PrimitiveSchema::String(s) => s.default_value.as_ref().and_then(|d| raw(RawJson::new(d))),
            PrimitiveSchema::Number(s) if s.integer => s.default_value.and_then(|d| raw(RawJson::new(&(d as i64)))),
            PrimitiveSchema::Number(s) => s.default_value.and_then(|d| raw(RawJson::new(&d))),
            PrimitiveSchema::Boolean(s) => s.default_value.and_then(|d| raw(RawJson::new(&d))),
            PrimitiveSchema::Enum(s) => s.default_value.as_ref().and_then(|d| raw(RawJson::new(d))),
            PrimitiveSchema::MultiEnum(s) => s.default_value.as_ref().and_then(|d| raw(RawJson::new(d))),
        };
        self.properties.iter().filter_map(|(name, field)| Some((name, default(field)?))).collect()
    }
}

impl PrimitiveSchema {
    /// The error says what is expected.
    fn check(&self, value: &RawJson) -> Result<(), String> {
        match self {
            Self::String(schema) => {
                value.parse().map_err(|_| "a text".to_owned()).and_then(|t: String| schema.takes(&t))
            }
            Self::Number(schema) => value.parse().map_err(|_| "a number".to_owned()).and_then(|n| schema.takes(n)),
            Self::Boolean(_) => value.parse::<bool>().map(drop).map_err(|_| "true or false".to_owned()),
            Self::Enum(schema) => schema.choices.takes(&[value.parse().unwrap_or_default()]),
            Self::MultiEnum(schema) => {
                value.parse().map_err(|_| "a list of texts".to_owned()).and_then(|v: Vec<String>| schema.takes(&v))
            }
        }
    }
}

impl StringSchema {
    fn takes(&self, text: &str) -> Result<(), String> {
        let length = text.chars().count() as u64;
        within(length, self.min_length, self.max_length, "characters")
    }
}

impl NumberSchema {
    fn takes(&self, number: f64) -> Result<(), String> {
        if self.integer && number.fract() != 0.0 {
            return Err("an integer".to_owned());
        }
        match (self.minimum, self.maximum) {
            (Some(least), _) if number < least => Err(format!("at least {least}")),
            (_, Some(most)) if number > most => Err(format!("at most {most}")),
            _ => Ok(()),
        }
    }
}

impl MultiEnumSchema {
    fn takes(&self, values: &[String]) -> Result<(), String> {
        within(values.len() as u64, self.min_items, self.max_items, "values")?;
        self.choices.takes(values)
    }
}

impl Choices {
    fn takes(&self, values: &[String]) -> Result<(), String> {
        let offered = |value: &String| match self {
            Self::Untitled(offered) => offered.contains(value),
            Self::Titled(offered) => offered.iter().any(|c| c.value == *value),
        };
        if values.iter().all(offered) { Ok(()) } else { Err("one of the choices".to_owned()) }
    }
}

fn within(count: u64, least: Option<u64>, most: Option<u64>, what: &str) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if count < least => Err(format!("at least {least} {what}")),
        (_, Some(most)) if count > most => Err(format!("at most {most} {what}")),
        _ => Ok(()),
    }
}
