//! Serialization of single fields where serde's defaults lose something.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::RawJson;

/// Deserializes a member for which `null` is a value.
///
/// The field needs `default` beside it, so that an absent member becomes `None`.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// Deserializes an object as `W` and converts it to `T`. An error of the conversion gets the position of the object.
pub(crate) fn checked<'de, W, T, D>(deserializer: D) -> Result<T, D::Error>
where
    W: Deserialize<'de>,
    T: TryFrom<W, Error: fmt::Display>,
    D: Deserializer<'de>,
{
    struct Checked<W, T>(PhantomData<(W, T)>);
    impl<'de, W: Deserialize<'de>, T: TryFrom<W, Error: fmt::Display>> Visitor<'de> for Checked<W, T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
            T::try_from(W::deserialize(MapAccessDeserializer::new(members))?).map_err(de::Error::custom)
        }
    }
    deserializer.deserialize_map(Checked(PhantomData))
}

/// Deserializes a time to live in milliseconds. A negative one counts as expired, as the specification says.
pub(crate) fn ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Ttl;
    impl<'de> Visitor<'de> for Ttl {
        type Value = Option<u64>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number of milliseconds")
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(u64::try_from(number).unwrap_or(0)))
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
            // The conversion saturates: negative numbers become 0.
            Ok(Some(number as u64))
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_any(self)
        }
    }
    deserializer.deserialize_option(Ttl)
}

/// Serializes a number without a fraction as an integer: `50`, not `50.0`.
pub(crate) fn number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Beyond 2^53 not every integer is a double, so such numbers are printed as they are.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// The same for a number that may be absent.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn optional_number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}
