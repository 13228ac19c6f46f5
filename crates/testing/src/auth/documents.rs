//! Published documents: metadata and keys.

use serde_json::{Value, json};

use super::{
    device::DEVICE_CODE,
    misbehaviour::Misbehaviour,
    settings::Discovery,
    state::State,
    vouch::{EXCHANGE, JWT_BEARER},
    web::Answer,
};

impl State {
    /// Returns the metadata, if it is at this path.
    pub(super) fn metadata_at(&self, path: &str) -> Option<Answer> {
        const OAUTH: &str = "/.well-known/oauth-authorization-server";
        const OPENID: &str = "/.well-known/openid-configuration";
        let own = &self.settings.path;
        let places = [format!("{OAUTH}{own}"), format!("{OPENID}{own}"), format!("{own}{OPENID}")];
        let there = match self.settings.discovery {
            Discovery::Anywhere => &places[..],
            Discovery::OAuth => &places[..1],
            Discovery::OpenId => &places[1..2],
            Discovery::OpenIdAfterPath => &places[2..],
            Discovery::Nowhere => &[],
        };
        if !there.iter().any(|place| place == path) {
            return None;
        }
        if self.does(Misbehaviour::PrivateMetadata) {
            return Some(Answer::redirect("http://10.0.0.1/.well-known/oauth-authorization-server"));
        }
        let mut metadata = self.metadata();
        if self.does(Misbehaviour::EndlessMetadata) {
            metadata["padding"] = "x".repeat(8 << 20).into();
        }
        Some(Answer::json(200, &metadata))
    }

    fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let mut metadata = json!({
            "issuer": self.issuer,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "introspection_endpoint": at("/introspect"),
            "revocation_endpoint": at("/revoke"),
            "device_authorization_endpoint": at("/device_authorization"),
            "jwks_uri": at("/jwks"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE, EXCHANGE, JWT_BEARER],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "dpop_signing_alg_values_supported": ["ES256"],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": self.settings.documents,
        });
        if self.settings.registration {
            metadata["registration_endpoint"] = at("/register").into();
        }
        if !self.settings.scopes.is_empty() {
            metadata["scopes_supported"] = self.settings.scopes.clone().into();
        }
        for (how, name, value) in [
            (Misbehaviour::MetadataOfAnother, "issuer", json!("https://another.example")),
            (Misbehaviour::NoPkce, "code_challenge_methods_supported", Value::Null),
            (Misbehaviour::ScriptPage, "authorization_endpoint", json!("javascript:alert(1)")),
            (Misbehaviour::ShellPage, "authorization_endpoint", json!("http://a$(touch pwned)/authorize")),
        ] {
            if self.does(how) {
                metadata = super::jwt::merged(metadata, &json!({ name: value }));
            }
        }
        metadata
    }

    /// Returns the public keys of tokens.
    pub(super) fn jwks(&self) -> Answer {
        if self.does(Misbehaviour::NoKeys) {
            return Answer::text(500, "no keys today");
        }
        let inner = self.lock();
        let mut keys: Vec<Value> = inner.keys.iter().map(|key| key.jwk()).collect();
        if inner.misbehaviours.contains(&Misbehaviour::EndlessKeys) {
            keys = std::iter::repeat_n(keys[0].clone(), 1 << 15).collect();
        }
        Answer::json(200, &json!({ "keys": keys }))
    }
}
