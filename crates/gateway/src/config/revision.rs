//! Revisions of the protocol, as they are written in a configuration.

use std::borrow::Cow;

use couplet_types::ProtocolVersion;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A revision of the protocol: its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub ProtocolVersion);

fn names() -> impl Iterator<Item = &'static str> {
    ProtocolVersion::ALL.iter().copied().map(ProtocolVersion::as_str)
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| {
            let names: Vec<_> = names().collect();
            de::Error::custom(format!(
                "`{text}` is not a revision of the protocol: expected one of {}",
                names.join(", ")
            ))
        })
    }
}

impl JsonSchema for Revision {
    fn schema_name() -> Cow<'static, str> {
        "Revision".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A revision of the protocol.", "enum": names().collect::<Vec<_>>() })
    }
}
