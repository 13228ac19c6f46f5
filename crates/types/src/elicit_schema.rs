//! The subset of JSON Schema for forms.

use serde::{Deserialize, Serialize};

use crate::{Map, elicit_keywords::Keywords};

/// The schema of a form: a flat object.
///
/// ```
/// use couplet_types::{ElicitSchema, EnumSchema, NumberSchema, PrimitiveSchema};
///
/// let schema = ElicitSchema::new()
///     .required("size", EnumSchema::new(["S", "M", "L"]).title("Size"))
///     .required("count", NumberSchema::integer().minimum(1.0))
///     .optional("gift", PrimitiveSchema::boolean());
/// assert_eq!(schema.required.as_deref(), Some(&["size".to_owned(), "count".to_owned()][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitSchema {
    /// The dialect of JSON Schema; 2020-12 when absent.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[serde(rename = "type")]
    kind: ObjectKind,
    /// The fields, in order.
    pub properties: Map<PrimitiveSchema>,
    /// The names of the required fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

impl ElicitSchema {
    /// Creates a form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a required field.
    #[must_use]
    pub fn required(mut self, name: impl Into<String>, schema: impl Into<PrimitiveSchema>) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.optional(name, schema)
    }

    /// Adds an optional field.
    #[must_use]
    pub fn optional(mut self, name: impl Into<String>, schema: impl Into<PrimitiveSchema>) -> Self {
        self.properties.insert(name, schema.into());
        self
    }

    /// Returns whether a field is required.
    pub fn is_required(&self, name: &str) -> bool {
        self.required.as_ref().is_some_and(|names| names.iter().any(|n| n == name))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ObjectKind {
    #[default]
    Object,
}

/// The schema of one field.
#[doc(alias = "PrimitiveSchemaDefinition")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "Keywords")]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// A string.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// A boolean.
    Boolean(BooleanSchema),
    /// A single choice.
    Enum(EnumSchema),
    /// A multiple choice.
    MultiEnum(MultiEnumSchema),
}

impl PrimitiveSchema {
    /// Creates a string field without constraints.
    pub fn string() -> Self {
        StringSchema::new().into()
    }

    /// Creates a number field without constraints.
    pub fn number() -> Self {
        NumberSchema::new().into()
    }

    /// Creates an integer field without constraints.
    pub fn integer() -> Self {
        NumberSchema::integer().into()
    }

    /// Creates a boolean field.
    pub fn boolean() -> Self {
        BooleanSchema::new().into()
    }

    /// Creates a single choice of several values.
    pub fn one_of(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        EnumSchema::new(values).into()
    }

    /// Creates a multiple choice of several values.
    pub fn some_of(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        MultiEnumSchema::new(values).into()
    }
}

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StringSchema {
    /// The label.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The minimum length in characters.
    pub min_length: Option<u64>,
    /// The maximum length in characters.
    pub max_length: Option<u64>,
    /// The format.
    pub format: Option<StringFormat>,
    /// The default value (since 2025-11-25): `default` on the wire.
    pub default_value: Option<String>,
}

impl StringSchema {
    /// Creates a string field without constraints.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { StringSchema {
    into { title: String, description: String, default_value: String }
    value { min_length: u64, max_length: u64, format: StringFormat }
} }

open_strings! {
    /// The format of a string field.
    StringFormat {
        /// An e-mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A date, such as `2026-07-28`.
        Date = "date",
        /// A date and a time.
        DateTime = "date-time",
    }
}

/// A number.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NumberSchema {
    /// Whether it has to be an integer.
    pub integer: bool,
    /// The label.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The minimum.
    pub minimum: Option<f64>,
    /// The maximum.
    pub maximum: Option<f64>,
    /// The default value (since 2025-11-25): `default` on the wire.
    pub default_value: Option<f64>,
}

impl NumberSchema {
    /// Creates a number field without constraints.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an integer field without constraints.
    pub fn integer() -> Self {
        Self { integer: true, ..Self::default() }
    }
}

setters! { NumberSchema {
    into { title: String, description: String }
    value { minimum: f64, maximum: f64, default_value: f64 }
} }

/// A boolean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BooleanSchema {
    /// The label.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The default value: `default` on the wire.
    pub default_value: Option<bool>,
}

impl BooleanSchema {
    /// Creates a boolean field.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { BooleanSchema { into { title: String, description: String } value { default_value: bool } } }

/// A single choice of several values.
#[doc(alias = "UntitledSingleSelectEnumSchema")]
#[doc(alias = "TitledSingleSelectEnumSchema")]
#[doc(alias = "LegacyTitledEnumSchema")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnumSchema {
    /// The label.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The values to choose from.
    pub choices: Choices,
    /// Labels of untitled choices, as in 2025-06-18: `enumNames` on the wire.
    pub enum_names: Option<Vec<String>>,
    /// The default value (since 2025-11-25): `default` on the wire.
    pub default_value: Option<String>,
}

impl EnumSchema {
    /// Creates a choice of values without labels.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::from(Choices::untitled(values))
    }

    /// Creates a choice of values with labels.
    pub fn titled<V: Into<String>, T: Into<String>>(choices: impl IntoIterator<Item = (V, T)>) -> Self {
        Self::from(Choices::titled(choices))
    }
}

impl From<Choices> for EnumSchema {
    fn from(choices: Choices) -> Self {
        Self { title: None, description: None, choices, enum_names: None, default_value: None }
    }
}

setters! { EnumSchema {
    into { title: String, description: String, default_value: String }
    value { enum_names: Vec<String> }
} }

/// A multiple choice of several values (since 2025-11-25).
#[doc(alias = "UntitledMultiSelectEnumSchema")]
#[doc(alias = "TitledMultiSelectEnumSchema")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MultiEnumSchema {
    /// The label.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The values to choose from.
    pub choices: Choices,
    /// The minimum number of values.
    pub min_items: Option<u64>,
    /// The maximum number of values.
    pub max_items: Option<u64>,
    /// The default values: `default` on the wire.
    pub default_value: Option<Vec<String>>,
}

impl MultiEnumSchema {
    /// Creates a choice of values without labels.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::from(Choices::untitled(values))
    }

    /// Creates a choice of values with labels.
    pub fn titled<V: Into<String>, T: Into<String>>(choices: impl IntoIterator<Item = (V, T)>) -> Self {
        Self::from(Choices::titled(choices))
    }
}

impl From<Choices> for MultiEnumSchema {
    fn from(choices: Choices) -> Self {
        Self { title: None, description: None, choices, min_items: None, max_items: None, default_value: None }
    }
}

setters! { MultiEnumSchema {
    into { title: String, description: String }
    value { min_items: u64, max_items: u64, default_value: Vec<String> }
} }

/// The values of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choices {
    /// Values without labels.
    Untitled(Vec<String>),
    /// Values with labels (since 2025-11-25).
    Titled(Vec<TitledChoice>),
}

impl Choices {
    /// Creates a choice of values without labels.
    pub fn untitled(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Untitled(values.into_iter().map(Into::into).collect())
    }

    /// Creates a choice of values with labels.
    pub fn titled<V: Into<String>, T: Into<String>>(choices: impl IntoIterator<Item = (V, T)>) -> Self {
        Self::Titled(choices.into_iter().map(|(value, title)| TitledChoice::new(value, title)).collect())
    }

    /// Returns the values, without labels.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let (plain, titled): (&[String], &[TitledChoice]) = match self {
            Self::Untitled(values) => (values, &[]),
            Self::Titled(choices) => (&[], choices),
        };
        plain.iter().map(String::as_str).chain(titled.iter().map(|choice| choice.value.as_str()))
    }
}

/// A value and its label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledChoice {
    /// The value: `const` on the wire.
    #[serde(rename = "const")]
    pub value: String,
    /// The label.
    pub title: String,
}

impl TitledChoice {
    /// Creates a choice with a label.
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self { value: value.into(), title: title.into() }
    }
}

macro_rules! into_primitive {
    ($($type:ident => $variant:ident),*) => {$(
        impl From<$type> for PrimitiveSchema {
            fn from(schema: $type) -> Self {
                Self::$variant(schema)
            }
        }
    )*};
}

into_primitive!(
    StringSchema => String,
    NumberSchema => Number,
    BooleanSchema => Boolean,
    EnumSchema => Enum,
    MultiEnumSchema => MultiEnum
);
