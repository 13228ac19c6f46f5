//! The serialized fields of a form: all keywords in one object.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use crate::{
    BooleanSchema, Choices, EnumSchema, MultiEnumSchema, NumberSchema, PrimitiveSchema, RawJson, StringFormat,
    StringSchema, TitledChoice, decode::without_position, field,
};

/// All keywords of a field's schema, as they are on the wire.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Keywords {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<StringFormat>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    minimum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    maximum: Option<f64>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enum_names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    one_of: Option<Vec<TitledChoice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Items>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<RawJson>,
}

/// The keywords of the items of a multiple choice.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Items {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    any_of: Option<Vec<TitledChoice>>,
}

impl<'de> Deserialize<'de> for PrimitiveSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        field::checked::<Keywords, _, _>(deserializer)
    }
}

impl TryFrom<Keywords> for PrimitiveSchema {
    type Error = BadSchema;

    fn try_from(keywords: Keywords) -> Result<Self, BadSchema> {
        let Keywords { title, description, .. } = keywords;
        let default = keywords.default;
        Ok(match keywords.kind.as_str() {
            "string" if keywords.values.is_some() || keywords.one_of.is_some() => Self::Enum(EnumSchema {
                title,
                description,
                choices: choices(keywords.values, keywords.one_of)?,
                enum_names: keywords.enum_names,
                default_value: read_default(default)?,
            }),
            "string" => Self::String(StringSchema {
                title,
                description,
                min_length: keywords.min_length,
                max_length: keywords.max_length,
                format: keywords.format,
                default_value: read_default(default)?,
            }),
            kind @ ("number" | "integer") => Self::Number(NumberSchema {
                integer: kind == "integer",
                title,
                description,
                minimum: keywords.minimum,
                maximum: keywords.maximum,
                default_value: read_default(default)?,
            }),
            "boolean" => Self::Boolean(BooleanSchema { title, description, default_value: read_default(default)? }),
            "array" => {
                let items = keywords.items.ok_or_else(|| BadSchema("`items` is missing in an `array` field".into()))?;
                Self::MultiEnum(MultiEnumSchema {
                    title,
                    description,
                    choices: choices(items.values, items.any_of)?,
                    min_items: keywords.min_items,
                    max_items: keywords.max_items,
                    default_value: read_default(default)?,
                })
            }
            other => return Err(BadSchema(format!("a field of a form cannot have the type `{other}`"))),
        })
    }
}

impl From<PrimitiveSchema> for Keywords {
    fn from(schema: PrimitiveSchema) -> Self {
        let keywords =
            |kind: &str, title, description| Self { kind: kind.to_owned(), title, description, ..Self::default() };
        match schema {
            PrimitiveSchema::String(schema) => Self {
                min_length: schema.min_length,
                max_length: schema.max_length,
                format: schema.format,
                default: print_default(schema.default_value),
                ..keywords("string", schema.title, schema.description)
            },
            PrimitiveSchema::Number(schema) => Self {
                minimum: schema.minimum,
                maximum: schema.maximum,
                default: print_default(schema.default_value.map(PlainNumber)),
                ..keywords(if schema.integer { "integer" } else { "number" }, schema.title, schema.description)
            },
            PrimitiveSchema::Boolean(schema) => Self {
                default: print_default(schema.default_value),
                ..keywords("boolean", schema.title, schema.description)
            },
            PrimitiveSchema::Enum(schema) => {
                let (values, one_of) = split(schema.choices);
                Self {
                    values,
                    one_of,
                    enum_names: schema.enum_names,
                    default: print_default(schema.default_value),
                    ..keywords("string", schema.title, schema.description)
                }
            }
            PrimitiveSchema::MultiEnum(schema) => {
                let (values, any_of) = split(schema.choices);
                let kind = values.is_some().then(|| "string".to_owned());
                Self {
                    items: Some(Items { kind, values, any_of }),
                    min_items: schema.min_items,
                    max_items: schema.max_items,
                    default: print_default(schema.default_value),
                    ..keywords("array", schema.title, schema.description)
                }
            }
        }
    }
}

fn choices(values: Option<Vec<String>>, titled: Option<Vec<TitledChoice>>) -> Result<Choices, BadSchema> {
    match (values, titled) {
        (_, Some(titled)) => Ok(Choices::Titled(titled)),
        (Some(values), None) => Ok(Choices::Untitled(values)),
        (None, None) => Err(BadSchema("a choice has neither `enum` nor titled values".to_owned())),
    }
}

fn split(choices: Choices) -> (Option<Vec<String>>, Option<Vec<TitledChoice>>) {
    match choices {
        Choices::Untitled(values) => (Some(values), None),
        Choices::Titled(titled) => (None, Some(titled)),
    }
}

fn read_default<T: DeserializeOwned>(default: Option<RawJson>) -> Result<Option<T>, BadSchema> {
    default
        .map(|raw| raw.parse())
        .transpose()
        .map_err(|error| BadSchema(format!("`default`: {}", without_position(&error))))
}

fn print_default<T: Serialize>(default: Option<T>) -> Option<RawJson> {
    default.map(|value| RawJson::new(&value).expect("plain values are always printable"))
}

/// Serializes a number without a needless fraction.
#[derive(Serialize)]
struct PlainNumber(#[serde(serialize_with = "field::number")] f64);

/// Returns why keywords are not a valid field of a form.
#[derive(Debug)]
pub(crate) struct BadSchema(String);

impl fmt::Display for BadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
