//! The claims of a token.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// The verified claims of an access token. Handlers extract them as `Auth<Claims>`.
///
/// ```
/// use couplet_auth::server::Claims;
///
/// /// A handler extracts them as `Auth<Claims>`.
/// fn greeting(claims: &Claims) -> String {
///     let name: Option<String> = claims.get("name");
///     format!("Hello, {}!", name.as_deref().or(claims.subject.as_deref()).unwrap_or("stranger"))
/// }
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claims {
    /// The issuer (`iss`).
    pub issuer: String,
    /// The subject (`sub`): the user, if the token is for one.
    pub subject: Option<String>,
    /// The client that the token was issued to (`client_id`, `azp` or `cid`).
    pub client: Option<String>,
    /// The audiences (`aud`). This server is one of them.
    pub audience: Vec<String>,
    /// The granted scopes, without implied ones.
    pub scopes: Vec<String>,
    /// The expiry time in seconds since 1970 (`exp`).
    pub expires: Option<u64>,
    /// The thumbprint of the DPoP key that the token is bound to (`cnf.jkt`).
    pub key: Option<String>,
    all: Map<String, Value>,
}

impl Claims {
    /// The claims that are fields, and so not among the others.
    pub(crate) const FIELDS: [&str; 11] =
        ["iss", "sub", "aud", "exp", "nbf", "scope", "scp", "client_id", "azp", "cid", "cnf"];

    /// Returns another claim; `None` if it is missing or has another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.all.get(name)?).ok()
    }

    /// Whether a claim, or an item of its list, is one of these values. Numbers and booleans are compared as JSON.
    pub(crate) fn has(&self, name: &str, values: &[String]) -> bool {
        let is_one = |value: &Value| match value {
            Value::String(text) => values.contains(text),
            Value::Bool(_) | Value::Number(_) => values.contains(&value.to_string()),
            _ => false,
        };
        match self.all.get(name) {
            Some(Value::Array(items)) => items.iter().any(is_one),
            Some(value) => is_one(value),
            None => false,
        }
    }

    /// The principal, unique across issuers and clients.
    pub(crate) fn principal(&self) -> String {
        Value::from_iter([Some(&*self.issuer), self.subject.as_deref(), self.client.as_deref()]).to_string()
    }
}

/// Claims may contain personal data, which is not shown.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").field("issuer", &self.issuer).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// The claims of a token or of an introspection response, before verification.
#[derive(Deserialize)]
pub(crate) struct Unchecked {
    pub(crate) iss: Option<String>,
    sub: Option<String>,
    #[serde(default)]
    aud: Many,
    exp: Option<f64>,
    nbf: Option<f64>,
    scope: Option<Many>,
    scp: Option<Many>,
    client_id: Option<String>,
    azp: Option<String>,
    /// The name of Okta.
    cid: Option<String>,
    cnf: Option<Confirmation>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Confirmation {
    jkt: Option<String>,
    #[serde(rename = "x5t#S256")]
    certificate: Option<String>,
}

/// The requirements on a token.
pub(crate) struct Wanted<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audience: &'a [String],
    pub(crate) now: u64,
    pub(crate) leeway: u64,
}

impl Unchecked {
    /// Verifies everything but the signature. Strings are compared exactly, without normalization.
    pub(crate) fn check(self, wanted: &Wanted<'_>) -> Result<Claims, Refusal> {
        let no = |why| Err(Refusal::Invalid(why));
        if self.iss.as_deref() != Some(wanted.issuer) {
            return no("the token is from another issuer");
        }
        if !self.aud.0.iter().any(|aud| wanted.audience.contains(aud)) {
            return no("the token is for another audience");
        }
        let (now, leeway) = (wanted.now as f64, wanted.leeway as f64);
        if self.exp.is_some_and(|exp| exp.is_nan() || exp + leeway <= now) {
            return no("the token has expired");
        }
        if self.nbf.is_some_and(|nbf| nbf.is_nan() || nbf > now + leeway) {
            return no("the token is not valid yet");
        }
        let client = self.client_id.or(self.azp).or(self.cid);
        if self.sub.is_none() && client.is_none() {
            return no("the token has neither a subject nor a client");
        }
        if self.cnf.as_ref().is_some_and(|cnf| cnf.jkt.is_none() || cnf.certificate.is_some()) {
            return no("the token is bound with an unsupported confirmation method");
        }
        Ok(Claims {
            issuer: wanted.issuer.to_owned(),
            subject: self.sub,
            client,
            audience: self.aud.0,
            scopes: words(self.scope.or(self.scp)),
            expires: self.exp.map(|exp| exp as u64),
            key: self.cnf.and_then(|cnf| cnf.jkt),
            all: self.rest,
        })
    }

    /// Whether there is an expiry.
    pub(crate) fn ends(&self) -> bool {
        self.exp.is_some()
    }
}

/// Scopes are a string with spaces or, with some issuers, a list.
fn words(scopes: Option<Many>) -> Vec<String> {
    let texts = scopes.unwrap_or_default().0;
    texts.iter().flat_map(|text| text.split_ascii_whitespace()).map(str::to_owned).collect()
}

/// A string, or a list of strings.
#[derive(Default)]
struct Many(Vec<String>);

impl<'de> Deserialize<'de> for Many {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::default()),
            Value::String(one) => Ok(Self(vec![one])),
            Value::Array(many) => {
                Ok(Self(many.into_iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()))
            }
            _ => Err(serde::de::Error::custom("expected a string or a list of strings")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::server::claims::*;

    /// Replicas of a server send them to each other.
    #[test]
    fn claims_are_the_same_after_a_round_trip() {
        let claims = Claims {
            issuer: "https://issuer.example".to_owned(),
            subject: Some("alice".to_owned()),
            client: None,
            audience: vec!["https://mcp.example".to_owned()],
            scopes: vec!["files:read".to_owned()],
            expires: Some(1_700_000_000),
            key: None,
            all: Map::from_iter([("department".to_owned(), json!("sales"))]),
        };
        let text = serde_json::to_string(&claims).expect("they are JSON");
        let back: Claims = serde_json::from_str(&text).expect("they are claims");
        assert_eq!((back.principal(), back.get("department")), (claims.principal(), Some("sales".to_owned())));
        assert_eq!((back.scopes, back.expires, back.audience), (claims.scopes, claims.expires, claims.audience));
    }
}
