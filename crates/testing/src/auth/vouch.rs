//! Enterprise-managed authorization, both ends: the assertion of an identity provider, and its verification by an
//! authorization server.

use couplet_core::clock::unix_seconds;
use serde_json::{Value, json};

use super::{
    AuthServer, jwt,
    state::{Client, Grant, State},
    web::{Answer, Asked},
};

pub(super) const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// The `typ` of such an assertion.
const TYPE: &str = "oauth-id-jag+jwt";

impl AuthServer {
    /// Issues the ID token of a single sign-on for a client.
    pub fn id_token(&self, client: &str) -> String {
        self.state.token(json!({ "aud": client, "client_id": null }), json!({ "typ": "JWT" }))
    }

    /// Trusts another server as an identity provider, with its current keys.
    pub fn trust(&self, provider: &Self) {
        let keys = provider.state.lock().keys.iter().map(|key| key.jwk()).collect();
        self.state.lock().trusted.insert(provider.issuer().to_owned(), keys);
    }
}

impl State {
    /// Exchanges an ID token for an assertion to another authorization server (RFC 8693).
    pub(super) fn exchange(&self, asked: &Asked, client: &Client) -> Answer {
        let own: Vec<Value> = self.lock().keys.iter().map(|key| key.jwk()).collect();
        let subject = asked.get("subject_token").unwrap_or_default();
        let known = own.iter().find_map(|key| jwt::verified(subject, Some(key)));
        let Some((_, person)) = known.filter(|(header, _)| header["typ"] == "JWT") else {
            return Answer::error(400, "invalid_grant", "the ID token is unknown or expired");
        };
        if person["aud"] != *client.id || !is_good(&person) {
            return Answer::error(400, "invalid_grant", "the ID token is for another client, or has expired");
        }
        let kinds = (asked.get("subject_token_type"), asked.get("requested_token_type"));
        let (Some(audience), (Some(ID_TOKEN), Some(ID_JAG))) = (asked.get("audience"), kinds) else {
            return Answer::error(400, "invalid_request", "the audience is missing");
        };
        let claims = json!({
            "sub": person["sub"], "aud": audience, "client_id": client.id,
            "resource": asked.get("resource"), "scope": asked.get("scope"),
        });
        let assertion = self.token(claims, json!({ "typ": TYPE }));
        let answer = json!({
            "access_token": assertion, "issued_token_type": ID_JAG, "token_type": "N_A",
            "scope": asked.get("scope"), "expires_in": 300,
        });
        Answer::json(200, &answer)
    }

    /// Creates a grant from the assertion of a trusted identity provider.
    pub(super) fn by_assertion(&self, asked: &Asked, client: &Client) -> Result<Grant, (&'static str, &'static str)> {
        let no = |why| Err(("invalid_grant", why));
        if client.secret.is_none() && client.key.is_none() {
            return Err(("unauthorized_client", "the client is public"));
        }
        let assertion = asked.get("assertion").unwrap_or_default();
        let trusted = self.lock().trusted.clone();
        let signed = trusted.iter().find_map(|(issuer, keys)| {
            let verified = keys.iter().find_map(|key| jwt::verified(assertion, Some(key)))?;
            (verified.1["iss"] == **issuer).then_some(verified)
        });
        let Some((header, claims)) = signed else {
            return no("the assertion is not signed by a trusted identity provider");
        };
        if header["typ"] != TYPE {
            return no("the assertion has another type");
        }
        if claims["aud"] != *self.issuer || claims["client_id"] != *client.id {
            return no("the assertion is for another server or client");
        }
        if !is_good(&claims) {
            return no("the assertion has expired");
        }
        let text = |name: &str| claims[name].as_str().map(str::to_owned);
        Ok(Grant {
            user: text("sub").unwrap_or_default(),
            scope: text("scope").unwrap_or_default(),
            resource: text("resource"),
            ..Grant::of(client)
        })
    }
}

fn is_good(claims: &Value) -> bool {
    claims["exp"].as_u64().is_some_and(|exp| exp > unix_seconds())
}
