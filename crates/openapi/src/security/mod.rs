//! Credentials: security schemes of the document, with values of the configuration or of the caller, never of the model.

mod apply;
mod token;

use std::{collections::BTreeMap, fmt, sync::Arc};

use couplet_auth::Secret;
use couplet_core::{BoxFuture, Call, Error};
use serde_json::Value;

use crate::{
    document::Document,
    error::SpecError,
    operation::{Base, Place},
    text,
};
pub(crate) use apply::Applied;
use token::Tokens;

/// The upstream credentials of callers: each caller of this server calls the API with a login of their own.
///
/// The value has the format of [`OpenApi::auth`](crate::OpenApi::auth), by the kind of the scheme. `None` means that the
/// caller has no login there; no other credential of the scheme is used instead.
///
/// ```
/// use couplet_auth::Secret;
/// use couplet_core::{BoxFuture, Call, Error};
/// use couplet_openapi::CallerCredentials;
///
/// struct Logins;
///
/// impl CallerCredentials for Logins {
///     fn credential<'a>(&'a self, _: &'a str, call: &'a Call) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
///         Box::pin(async move {
///             let Some(caller) = &call.caller else { return Ok(None) };
///             // Look the login of this caller up.
///             Ok(Some(Secret::new(format!("token of {caller:?}"))))
///         })
///     }
/// }
/// ```
pub trait CallerCredentials: Send + Sync + 'static {
    /// Returns the credential of the caller for a security scheme of the document.
    ///
    /// # Errors
    /// If it cannot be looked up. The call fails.
    fn credential<'a>(&'a self, scheme: &'a str, call: &'a Call) -> BoxFuture<'a, Result<Option<Secret>, Error>>;
}

/// The kind of a security scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A value in a header, in the query or in a cookie.
    Key {
        place: Place,
        name: String,
    },
    Basic,
    Bearer,
    /// An access token, or with a token URL also the credentials of a client.
    OAuth {
        token_url: Option<String>,
    },
}

impl Kind {
    fn parse(scheme: &Value) -> Option<Self> {
        let text = |member: &str| scheme[member].as_str().unwrap_or_default();
        Some(match text("type") {
            "apiKey" => {
                let place = match text("in") {
                    "header" => Place::Header,
                    "query" => Place::Query,
                    "cookie" => Place::Cookie,
                    _ => return None,
                };
                Self::Key { place, name: text("name").to_owned() }
            }
            "http" if text("scheme").eq_ignore_ascii_case("basic") => Self::Basic,
            "http" if text("scheme").eq_ignore_ascii_case("bearer") => Self::Bearer,
            "oauth2" | "openIdConnect" => {
                let token_url = scheme["flows"]["clientCredentials"]["tokenUrl"].as_str();
                Self::OAuth { token_url: token_url.map(str::to_owned) }
            }
            _ => return None,
        })
    }

    /// Resolves the token URL.
    fn located(self, base: Option<&Base>) -> Self {
        match self {
            Self::OAuth { token_url: Some(url) } => {
                Self::OAuth { token_url: Some(base.and_then(|base| base.join(&url)).unwrap_or(url)) }
            }
            other => other,
        }
    }
}

/// Where the value of a scheme comes from.
#[derive(Clone)]
pub(crate) enum Source {
    Fixed(Secret),
    Caller(Arc<dyn CallerCredentials>),
}

/// A scheme with its value.
struct Entry {
    kind: Kind,
    /// Whether the document has this scheme.
    is_described: bool,
    source: Source,
    tokens: Tokens,
}

/// The credentials of an API.
#[derive(Default)]
pub(crate) struct Credentials(BTreeMap<String, Entry>);

impl Credentials {
    /// Finds the schemes that values were given for. `bearer` and `basic` need not be in the document. Token URLs may be
    /// relative to the base URL.
    pub(crate) fn new(document: &Document, base: Option<&Base>, given: &[(String, Source)]) -> Result<Self, SpecError> {
        let mut entries = BTreeMap::new();
        for (name, source) in given {
            let described = document.security_schemes().find(|(scheme, _)| scheme == name);
            let is_described = described.is_some();
            let kind = match (described, name.as_str()) {
                (Some((_, scheme)), _) => Kind::parse(scheme)
                    .ok_or_else(|| SpecError::new(format!("the security scheme `{name}` is not supported")))?
                    .located(base),
                (None, "bearer") => Kind::Bearer,
                (None, "basic") => Kind::Basic,
                (None, _) => return Err(unknown(document, name)),
            };
            if let (Source::Fixed(secret), Kind::Basic) = (source, &kind)
                && !secret.reveal().contains(':')
            {
                return Err(SpecError::new(format!("the value of `{name}` must be `user:password`")));
            }
            let (source, tokens) = (source.clone(), Tokens::default());
            entries.insert(name.clone(), Entry { kind, is_described, source, tokens });
        }
        Ok(Self(entries))
    }
}

fn unknown(document: &Document, name: &str) -> SpecError {
    let names = document.security_schemes().take(20).map(|(name, _)| format!("`{}`", text::clean(name, 100)));
    let names: Vec<String> = names.collect();
    let known = if names.is_empty() {
        "it has none: use `bearer` or `basic`".to_owned()
    } else {
        format!("it has {}", names.join(", "))
    };
    SpecError::new(format!("the document has no security scheme `{name}`; {known}"))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
