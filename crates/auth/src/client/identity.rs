//! Client authentication at an authorization server.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use couplet_core::{Error, ErrorKind, clock::unix_seconds};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use serde_json::{Map, json};

use super::{key::SigningKey, metadata::ServerMetadata, words::random};
use crate::Secret;

/// The credential with which a client authenticates to an authorization server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Credential {
    /// None: a public client, which cannot hold a secret.
    #[default]
    Public,
    /// A client secret, sent in a header or in the body, as the authorization server supports it.
    Secret(Secret),
    /// A key that signs assertions (`private_key_jwt`).
    Key(SigningKey),
}

impl From<Secret> for Credential {
    fn from(secret: Secret) -> Self {
        Self::Secret(secret)
    }
}

impl From<SigningKey> for Credential {
    fn from(key: SigningKey) -> Self {
        Self::Key(key)
    }
}

/// The client's identity at one authorization server.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) credential: Credential,
    /// The authentication method, if registration has fixed it.
    pub(crate) method: Option<String>,
}

/// The client authentication of a request.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) headers: HeaderMap,
    pub(crate) fields: Vec<(&'static str, String)>,
}

impl Identity {
    /// Authenticates a request, with a method that the authorization server supports.
    pub(crate) fn show(&self, server: &ServerMetadata) -> Result<Shown, Error> {
        let mut shown = Shown::default();
        match (&self.credential, self.method(server)) {
            (Credential::Secret(secret), "client_secret_basic") => {
                let pair = Secret::new(format!("{}:{}", encoded(&self.id), encoded(secret.reveal())));
                let text = Secret::new(format!("Basic {}", BASE64.encode(pair.reveal())));
                let mut value = HeaderValue::from_str(text.reveal())
                    .map_err(|_| Error::new(ErrorKind::Config, "the client secret cannot be sent as a header"))?;
                value.set_sensitive(true);
                shown.headers.insert(AUTHORIZATION, value);
            }
            (Credential::Secret(secret), "client_secret_post") => {
                shown.fields.push(("client_id", self.id.clone()));
                shown.fields.push(("client_secret", secret.reveal().to_owned()));
            }
            (Credential::Key(key), _) => {
                shown.fields.push(("client_id", self.id.clone()));
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                shown.fields.push(("client_assertion_type", kind.to_owned()));
                shown.fields.push(("client_assertion", self.assertion(key, &server.issuer)?));
            }
            _ => shown.fields.push(("client_id", self.id.clone())),
        }
        Ok(shown)
    }

    fn method(&self, server: &ServerMetadata) -> &str {
        if let Some(method) = &self.method {
            return method;
        }
        let known = server.token_endpoint_auth_methods_supported.as_deref();
        // The default where the metadata is silent (RFC 8414, section 2).
        let Some(known) = known else { return "client_secret_basic" };
        let order = ["client_secret_basic", "client_secret_post", "none"];
        order.into_iter().find(|method| known.iter().any(|k| k == method)).unwrap_or("client_secret_basic")
    }

    /// The audience is the issuer: with an endpoint as audience, one server could use the assertion at another.
    fn assertion(&self, key: &SigningKey, issuer: &str) -> Result<String, Error> {
        let now = unix_seconds();
        let claims = json!({
            "iss": self.id, "sub": self.id, "aud": issuer, "jti": random()?, "iat": now, "exp": now + 60,
        });
        let header = Map::from_iter([("typ".to_owned(), "JWT".into())]);
        key.sign(header, &claims)
    }
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
