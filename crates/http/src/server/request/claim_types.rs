//! The types of callers' claims, and how replicas send them to each other. It knows neither authorizers nor replicas.

use std::{any::TypeId, fmt};

use couplet_core::Caller;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The types of the claims that an authorizer attaches to callers, so that replicas can send them to each other as JSON: the
/// result of [`Authorize::claim_types`](crate::server::Authorize::claim_types).
///
/// ```
/// use couplet_http::server::ClaimTypes;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Tenant {
///     name: String,
/// }
///
/// let types = ClaimTypes::of::<Tenant>();
/// assert!(format!("{types:?}").contains("Tenant"));
/// ```
#[derive(Clone, Default)]
#[must_use = "it has no effect by itself"]
pub struct ClaimTypes(Vec<ClaimType>);

#[derive(Clone, Copy)]
struct ClaimType {
    id: TypeId,
    name: &'static str,
    codec: Option<Codec>,
}

#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "replicas"), allow(dead_code, reason = "it is for forwarding"))]
struct Codec {
    encode: fn(&Caller) -> Option<Value>,
    decode: fn(Caller, Value) -> Option<Caller>,
}

impl ClaimTypes {
    /// No type: callers have no claims, or replicas learn their types from `Replica::claims`.
    pub fn none() -> Self {
        Self::default()
    }

    /// A type that is sent as JSON.
    pub fn of<T: Serialize + DeserializeOwned + Send + Sync + 'static>() -> Self {
        let codec = Codec {
            encode: |caller| serde_json::to_value(&*caller.claims::<T>()?).ok(),
            decode: |caller, claims| Some(caller.with_claims(serde_json::from_value::<T>(claims).ok()?)),
        };
        Self::one::<T>(Some(codec))
    }

    /// A type of which it is not known whether it can be sent: replicas must name it with `Replica::claims`, otherwise the
    /// configuration of the endpoint panics.
    pub fn opaque<T: Send + Sync + 'static>() -> Self {
        Self::one::<T>(None)
    }

    /// Adds the types of another set.
    pub fn and(mut self, other: Self) -> Self {
        for other in other.0 {
            match self.0.iter_mut().find(|own| own.id == other.id) {
                Some(own) => own.codec = own.codec.or(other.codec),
                None => self.0.push(other),
            }
        }
        self
    }

    fn one<T: 'static>(codec: Option<Codec>) -> Self {
        Self(vec![ClaimType { id: TypeId::of::<T>(), name: std::any::type_name::<T>(), codec }])
    }
}

/// Claims as they are sent.
#[cfg(feature = "replicas")]
#[derive(Debug, Serialize, serde::Deserialize)]
pub(crate) struct Encoded {
    /// The name of the type, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    claims: Value,
}

#[cfg(feature = "replicas")]
impl ClaimTypes {
    /// The name of a type that cannot be sent.
    pub(crate) fn unsendable(&self) -> Option<&'static str> {
        self.0.iter().find(|own| own.codec.is_none()).map(|own| own.name)
    }

    /// Encodes the claims of a caller; nothing if their type is not among these.
    pub(crate) fn encode(&self, caller: &Caller) -> Option<Encoded> {
        let mut encoded = self.0.iter().filter_map(|own| Some((own, (own.codec?.encode)(caller)?)));
        let (own, claims) = encoded.next()?;
        Some(Encoded { of: (self.0.len() > 1).then(|| own.name.to_owned()), claims })
    }

    /// Attaches claims to a caller. Those without the name of a type have the only one that there is: JSON of one type may
    /// look like JSON of another.
    pub(crate) fn decode(&self, caller: Caller, encoded: Encoded) -> Option<Caller> {
        let own = match (&encoded.of, &*self.0) {
            (Some(name), all) => all.iter().find(|own| own.name == name)?,
            (None, [only]) => only,
            (None, _) => return None,
        };
        (own.codec?.decode)(caller, encoded.claims)
    }
}

impl fmt::Debug for ClaimTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|own| own.name)).finish()
    }
}

#[cfg(all(test, feature = "replicas"))]
mod tests {
    use crate::server::request::claim_types::*;

    /// What the receiver makes of claims: their number, and their text.
    fn received(sender: &ClaimTypes, receiver: &ClaimTypes, caller: &Caller) -> Option<(Option<u8>, Option<String>)> {
        let sent = serde_json::to_value(sender.encode(caller)?).expect("it is JSON");
        let encoded = serde_json::from_value(sent).expect("it is what was sent");
        let caller = receiver.decode(Caller::new("alice"), encoded)?;
        Some((caller.claims::<u8>().map(|claim| *claim), caller.claims::<String>().map(|claim| (*claim).clone())))
    }

    #[test]
    fn claims_arrive_with_their_type_or_not_at_all() {
        let (number, text) = (ClaimTypes::of::<u8>, ClaimTypes::of::<String>);
        let both = || number().and(text());
        let (seven, word) = (Caller::new("alice").with_claims(7_u8), Caller::new("alice").with_claims("a".to_owned()));
        let (is_seven, is_word) = (Some((Some(7), None)), Some((None, Some("a".to_owned()))));
        let cases = [
            (number(), number(), &seven, is_seven.clone()),
            (both(), both(), &seven, is_seven.clone()),
            (both(), text().and(number()), &word, is_word.clone()),
            (number().and(number()), number(), &seven, is_seven.clone()),
            (ClaimTypes::opaque::<u8>().and(number()), number(), &seven, is_seven.clone()),
            (number().and(ClaimTypes::opaque::<u8>()), number(), &seven, is_seven),
            (both(), text(), &word, is_word),
            // A type that the receiver does not know is not taken for another one.
            (both(), ClaimTypes::of::<u64>(), &seven, None),
            (number(), both(), &seven, None),
            (number(), text(), &seven, None),
            (number(), ClaimTypes::none(), &seven, None),
            (text(), number(), &seven, None),
            (ClaimTypes::none(), number(), &seven, None),
            (ClaimTypes::opaque::<u8>(), number(), &seven, None),
        ];
        for (sender, receiver, caller, expected) in cases {
            assert_eq!(received(&sender, &receiver, caller), expected, "{sender:?} to {receiver:?}");
        }
    }
}
