//! What a token says.

use std::fmt;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// What a token says about whoever sends it, after everything in it was checked. Handlers take it as `Auth<Claims>`.
///
/// ```
/// use couplet_auth::server::Claims;
///
/// /// A handler gets it as `Auth<Claims>`.
/// fn greeting(claims: &Claims) -> String {
///     let name: Option<String> = claims.get("name");
///     format!("Hello, {}!", name.as_deref().or(claims.subject.as_deref()).unwrap_or("whoever you are"))
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Claims {
    /// Who made the token.
    pub issuer: String,
    /// For whom, if it is for a person or another party that the issuer knows.
    pub subject: Option<String>,
    /// Which client it was given to.
    pub client: Option<String>,
    /// Which servers it is for. This one is among them.
    pub audience: Vec<String>,
    /// What may be done with it.
    pub scopes: Vec<String>,
    /// Until when it is good, in seconds since 1970.
    pub expires: Option<u64>,
    /// The thumbprint of the key that whoever sends it must have, if it is bound to one.
    pub key: Option<String>,
    all: Map<String, Value>,
}

impl Claims {
    /// Any other claim, if it is there and has that type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.all.get(name)?).ok()
    }

    /// The name that tells whoever it is from everybody else, of any issuer, with any client.
    pub(crate) fn principal(&self) -> String {
        Value::from_iter([Some(&*self.issuer), self.subject.as_deref(), self.client.as_deref()]).to_string()
    }
}

/// It may name people, so only what it is about is shown.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").field("issuer", &self.issuer).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// A token, or what its issuer says about it, before it is checked.
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

/// What a token has to be.
pub(crate) struct Wanted<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audience: &'a [String],
    pub(crate) now: u64,
    pub(crate) leeway: u64,
}

impl Unchecked {
    /// Checks everything but the signature. Names are compared as they are, without making them alike.
    pub(crate) fn check(self, wanted: &Wanted<'_>) -> Result<Claims, Refusal> {
        let no = |why| Err(Refusal::Invalid(why));
        if self.iss.as_deref() != Some(wanted.issuer) {
            return no("the token is of another issuer");
        }
        if !self.aud.0.iter().any(|aud| wanted.audience.contains(aud)) {
            return no("the token is not for this server");
        }
        let (now, leeway) = (wanted.now as f64, wanted.leeway as f64);
        if self.exp.is_some_and(|exp| exp.is_nan() || exp + leeway <= now) {
            return no("the token has expired");
        }
        if self.nbf.is_some_and(|nbf| nbf.is_nan() || nbf > now + leeway) {
            return no("the token is not good yet");
        }
        let client = self.client_id.or(self.azp);
        if self.sub.is_none() && client.is_none() {
            return no("the token says nothing of whom it is for");
        }
        if self.cnf.as_ref().is_some_and(|cnf| cnf.jkt.is_none() || cnf.certificate.is_some()) {
            return no("the token is bound to something that cannot be checked here");
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

    /// Whether it says until when it is good.
    pub(crate) fn ends(&self) -> bool {
        self.exp.is_some()
    }
}

/// Scopes are one text with spaces, or, with some issuers, a list.
fn words(scopes: Option<Many>) -> Vec<String> {
    let texts = scopes.unwrap_or_default().0;
    texts.iter().flat_map(|text| text.split_ascii_whitespace()).map(str::to_owned).collect()
}

/// One text, or a list of them.
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
            _ => Err(serde::de::Error::custom("neither a text nor a list of texts")),
        }
    }
}
