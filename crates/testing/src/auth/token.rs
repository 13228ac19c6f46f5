//! Tokens: issue, refresh, introspection, revocation.

use couplet_core::clock::unix_seconds;
use serde_json::{Value, json};

use super::{
    device::DEVICE_CODE,
    jwt::{self, merged},
    misbehaviour::Misbehaviour,
    state::{Client, Grant, State, random},
    vouch::{EXCHANGE, JWT_BEARER},
    web::{Answer, Asked},
};

impl State {
    /// The token endpoint.
    pub(super) fn grant(&self, asked: &Asked) -> Answer {
        if self.does(Misbehaviour::BrokenToken) {
            return Answer::text(200, "here is your token: ");
        }
        if self.does(Misbehaviour::RedirectedToken) {
            return Answer::redirect("http://127.0.0.1:1/steal");
        }
        let Some(client) = self.client_of(asked) else {
            return Answer::error(401, "invalid_client", "the client is not authenticated");
        };
        let key = match self.key_of(asked) {
            Ok(key) => key,
            Err(answer) => return *answer,
        };
        let kind = asked.get("grant_type");
        if kind == Some(EXCHANGE) {
            return self.exchange(asked, &client);
        }
        let granted = match kind {
            Some("authorization_code") => self.by_code(asked, &client),
            Some("refresh_token") => self.by_refresh(asked, &client),
            Some("client_credentials") => Self::by_itself(asked, &client),
            Some(DEVICE_CODE) => self.by_device(asked, &client),
            Some(JWT_BEARER) => self.by_assertion(asked, &client),
            _ => Err(("unsupported_grant_type", "the grant type is not supported")),
        };
        match granted {
            Err((error, why)) => Answer::error(400, error, why),
            Ok(grant) if grant.key.is_some() && grant.key != key => {
                Answer::error(400, "invalid_grant", "the proof is of another key")
            }
            Ok(grant) => self.give(
                Grant { key, ..grant },
                matches!(kind, Some("authorization_code" | "refresh_token" | DEVICE_CODE)),
            ),
        }
    }

    fn by_code(&self, asked: &Asked, client: &Client) -> Result<Grant, (&'static str, &'static str)> {
        let no = |why| Err(("invalid_grant", why));
        // A code can be used once, even if the request fails.
        let Some(grant) = asked.get("code").and_then(|code| self.lock().codes.remove(code)) else {
            return no("the code is not known, or was used");
        };
        if grant.client != client.id || asked.get("redirect_uri") != Some(&*grant.redirect) {
            return no("the code is for another client, or another address");
        }
        if jwt::sha256(asked.get("code_verifier").unwrap_or_default()) != grant.challenge {
            return no("the code verifier does not match");
        }
        if grant.resource.is_some() && asked.get("resource") != grant.resource.as_deref() {
            return Err(("invalid_target", "the code is for another server"));
        }
        Ok(grant)
    }

    fn by_refresh(&self, asked: &Asked, client: &Client) -> Result<Grant, (&'static str, &'static str)> {
        let refused = ("invalid_grant", "it cannot be renewed");
        if self.does(Misbehaviour::RefreshRefused) {
            return Err(refused);
        }
        // Refresh tokens rotate: each can be used once.
        let renewed = asked.get("refresh_token").and_then(|token| self.lock().refreshes.remove(token));
        let grant = renewed.filter(|grant| grant.client == client.id).ok_or(refused)?;
        let narrower = asked.get("scope").map_or(grant.scope.clone(), str::to_owned);
        if narrower.split(' ').any(|scope| !grant.scope.split(' ').any(|own| own == scope)) {
            return Err(("invalid_scope", "the scope exceeds the grant"));
        }
        Ok(Grant { scope: narrower, ..grant })
    }

    fn by_itself(asked: &Asked, client: &Client) -> Result<Grant, (&'static str, &'static str)> {
        if client.secret.is_none() && client.key.is_none() {
            return Err(("unauthorized_client", "the client is public"));
        }
        Ok(Grant {
            scope: asked.get("scope").unwrap_or_default().to_owned(),
            resource: asked.get("resource").map(str::to_owned),
            ..Grant::of(client)
        })
    }

    fn give(&self, grant: Grant, renewable: bool) -> Answer {
        let another = self.does(Misbehaviour::AnotherAudience);
        let audience = if another { Some("https://another.example/mcp".to_owned()) } else { grant.resource.clone() };
        let claims = json!({
            "sub": grant.user, "client_id": grant.client, "scope": grant.scope, "aud": audience,
            "cnf": grant.key.as_ref().map(|key| json!({ "jkt": key })),
        });
        let token = if self.settings.opaque { self.opaque(claims) } else { self.token(claims, Value::Null) };
        let mut answer = json!({
            "access_token": token,
            "token_type": if grant.key.is_some() { "DPoP" } else { "Bearer" },
            "expires_in": self.lock().lifetime,
            "scope": grant.scope,
        });
        if renewable && !self.does(Misbehaviour::NoRefresh) {
            let refresh = random();
            answer["refresh_token"] = json!(refresh);
            self.lock().refreshes.insert(refresh, grant);
        }
        Answer::json(200, &answer)
    }

    /// Returns the thumbprint of the key of a DPoP proof, if the request has one.
    fn key_of(&self, asked: &Asked) -> Result<Option<String>, Box<Answer>> {
        let wrong = |why| Box::new(Answer::error(400, "invalid_dpop_proof", why));
        let Some(proof) = asked.header("dpop") else { return Ok(None) };
        let (header, claims) =
            jwt::verified(proof, None).ok_or_else(|| wrong("the proof is not signed with its key"))?;
        let at = format!("{}/token", self.issuer);
        let fresh = claims["iat"].as_u64().is_some_and(|iat| iat.abs_diff(unix_seconds()) < 300);
        if header["typ"] != "dpop+jwt" || claims["htm"] != "POST" || claims["htu"] != *at || !fresh {
            return Err(wrong("the proof is not for this request"));
        }
        // Any nonce that it issued is accepted.
        let nonce = jwt::sha256(&self.issuer);
        if self.settings.dpop_nonces && claims["nonce"] != *nonce {
            let answer = Answer::error(400, "use_dpop_nonce", "the proof needs a nonce").with("dpop-nonce", &nonce);
            return Err(Box::new(answer));
        }
        Ok(Some(jwt::thumbprint(&header["jwk"])))
    }

    /// The introspection endpoint, for clients with a secret.
    pub(super) fn introspect(&self, asked: &Asked) -> Answer {
        if self.does(Misbehaviour::NoIntrospection) {
            return Answer::text(503, "not now");
        }
        if self.client_of(asked).is_none_or(|client| client.secret.is_none() && client.key.is_none()) {
            return Answer::error(401, "invalid_client", "the client is not authenticated");
        }
        let silent = self.does(Misbehaviour::SilentIntrospection);
        let known = asked.get("token").and_then(|token| self.lock().tokens.get(token).cloned());
        match known.filter(|claims| claims["exp"].as_u64().is_none_or(|exp| exp > unix_seconds())) {
            Some(_) if silent => Answer::json(200, &json!({ "active": true })),
            Some(claims) => Answer::json(200, &merged(json!({ "active": true }), &claims)),
            None => Answer::json(200, &json!({ "active": false })),
        }
    }

    /// The revocation endpoint. An unknown token is not an error.
    pub(super) fn revoke(&self, asked: &Asked) -> Answer {
        if self.client_of(asked).is_none() {
            return Answer::error(401, "invalid_client", "the client is not authenticated");
        }
        if let Some(token) = asked.get("token") {
            let mut inner = self.lock();
            inner.tokens.remove(token);
            inner.refreshes.remove(token);
        }
        Answer::json(200, &json!({}))
    }
}
