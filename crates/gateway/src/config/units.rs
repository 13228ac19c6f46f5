//! Durations and sizes, as they are written in a configuration.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A duration: a string such as `"500ms"`, `"10s"`, `"10m"`, `"1h30m"` or `"2d"`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

/// A size in bytes: a string such as `"64K"`, `"16M"` or `"1G"`, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub usize);

/// Units of time in milliseconds; `ms` is before `m`, which it begins with.
const TIMES: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Time {
    /// Parses a duration; `None` if it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut total = 0_u64;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: u64 = rest.get(..digits)?.parse().ok()?;
            rest = &rest[digits..];
            let (unit, factor) = TIMES.into_iter().find(|(unit, _)| {
                rest.strip_prefix(unit).is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphabetic()))
            })?;
            rest = &rest[unit.len()..];
            total = total.checked_add(number.checked_mul(factor)?)?;
        }
        (!text.trim().is_empty()).then_some(Self(Duration::from_millis(total)))
    }
}

impl Size {
    /// Parses a size; `None` if it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = text.get(..digits)?.parse().ok()?;
        let shift = match text[digits..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            _ => return None,
        };
        number.checked_mul(1 << shift).map(Self)
    }
}

struct Unit<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
    number: fn(f64) -> Option<T>,
}

impl<T> de::Visitor<'_> for Unit<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::custom(format!("`{text}` is not {}", self.expected)))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        #[expect(clippy::cast_precision_loss, reason = "seconds and bytes of a configuration are far below 2^52")]
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.number)(number).ok_or_else(|| E::custom(format!("`{number}` is not {}", self.expected)))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = |seconds| Duration::try_from_secs_f64(seconds).ok().map(Self);
        let expected = "a duration, such as \"10s\" or \"5m\"";
        deserializer.deserialize_any(Unit { expected, parse: Self::parse, number })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
        let number =
            |bytes: f64| ((0.0..1e15).contains(&bytes) && bytes.fract() == 0.0).then_some(Self(bytes as usize));
        let expected = "a size, such as \"64K\" or \"16M\"";
        deserializer.deserialize_any(Unit { expected, parse: Self::parse, number })
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration: \"500ms\", \"10s\", \"10m\", \"1h30m\", \"2d\", or a number of seconds.",
            "anyOf": [{ "type": "string", "pattern": "^\\s*([0-9]+(ms|s|m|h|d))+\\s*$" }, { "type": "number", "minimum": 0 }],
        })
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size in bytes: \"64K\", \"16M\", \"1G\", or a number.",
            "anyOf": [
                { "type": "string", "pattern": "^\\s*[0-9]+\\s*([KkMmGg]([Ii]?[Bb])?|[Bb])?\\s*$" },
                { "type": "integer", "minimum": 0 },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_parsed() {
        for (text, millis) in [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("10m", Some(600_000)),
            ("1h30m", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("", None),
            ("10", None),
            ("m", None),
            ("10 m", None),
            ("10min", None),
            ("99999999999999999999s", None),
            ("18446744073709551615d", None),
        ] {
            assert_eq!(Time::parse(text).map(|time| time.0.as_millis()), millis, "{text}");
        }
        for (text, bytes) in [
            ("0", Some(0)),
            ("64K", Some(65_536)),
            ("16 MiB", Some(16 << 20)),
            ("1gb", Some(1 << 30)),
            ("", None),
            ("1.5M", None),
            ("-1", None),
            ("1T", None),
        ] {
            assert_eq!(Size::parse(text).map(|size| size.0), bytes, "{text}");
        }
    }
}
