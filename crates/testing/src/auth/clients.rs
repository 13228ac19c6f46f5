//! Clients and their authentication.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_core::clock::unix_seconds;
use serde_json::{Value, json};

use super::{
    jwt,
    misbehaviour::Misbehaviour,
    state::{Client, State, random},
    web::{Answer, Asked},
};

impl State {
    /// Returns a client that is registered, or that has a metadata document at its id.
    pub(super) fn known_client(&self, id: &str) -> Option<Client> {
        let inner = self.lock();
        if let Some(client) = inner.clients.get(id) {
            return Some(client.clone());
        }
        let document = inner.documents.get(id).filter(|_| self.settings.documents)?;
        documented(id, document)
    }

    /// Authenticates the client of a request.
    pub(super) fn client_of(&self, asked: &Asked) -> Option<Client> {
        if let Some(assertion) = asked.get("client_assertion") {
            return self.asserted(asked, assertion);
        }
        let (id, secret) = match asked.header("authorization") {
            Some(basic) => basic_auth(basic)?,
            None => (asked.get("client_id")?.to_owned(), asked.get("client_secret").map(str::to_owned)),
        };
        let client = self.known_client(&id)?;
        (client.key.is_none() && client.secret == secret).then_some(client)
    }

    /// Authenticates a client by a signed assertion (RFC 7523).
    fn asserted(&self, asked: &Asked, assertion: &str) -> Option<Client> {
        const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let payload = assertion.split('.').nth(1)?;
        let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).ok()?;
        let id = serde_json::from_slice::<Value>(&payload).ok()?["sub"].as_str()?.to_owned();
        let client = self.known_client(&id)?;
        let (_, claims) = jwt::verified(assertion, Some(client.key.as_ref()?))?;
        let is_for_us = |aud: &Value| {
            [&*self.issuer, &format!("{}/token", self.issuer)].contains(&aud.as_str().unwrap_or_default())
        };
        let aud = &claims["aud"];
        let good = asked.get("client_assertion_type") == Some(KIND)
            && claims["iss"] == claims["sub"]
            && (is_for_us(aud) || aud.as_array().is_some_and(|all| all.iter().any(is_for_us)))
            && claims["exp"].as_u64().is_some_and(|exp| exp > unix_seconds());
        good.then_some(client)
    }

    /// Registers a client dynamically.
    pub(super) fn register(&self, asked: &Asked) -> Answer {
        if self.does(Misbehaviour::NoRegistration) {
            return Answer::error(403, "access_denied", "no more clients");
        }
        let Ok(mut wanted) = serde_json::from_slice::<Value>(&asked.body) else {
            return Answer::error(400, "invalid_client_metadata", "that is not JSON");
        };
        let redirects = texts(&wanted["redirect_uris"]);
        let allowed = |uri: &String| {
            uri.starts_with("https://")
                || uri.starts_with("http://127.0.0.1")
                || uri.starts_with("http://localhost")
                || uri.starts_with("http://[::1]")
        };
        let is_web = wanted["application_type"] == "web";
        if redirects.iter().any(|uri| !allowed(uri) || (is_web && uri.starts_with("http:"))) {
            return Answer::error(400, "invalid_redirect_uri", "https, or a program on the user's machine");
        }
        let method = wanted["token_endpoint_auth_method"].as_str().unwrap_or("client_secret_basic");
        let secret = (method != "none").then(random);
        let id = random();
        let name = wanted["client_name"].as_str().unwrap_or(&id).to_owned();
        wanted["client_id"] = json!(id);
        if let Some(secret) = &secret {
            wanted["client_secret"] = json!(secret);
            wanted["client_secret_expires_at"] = json!(0);
        }
        let client = Client { id: id.clone(), name, secret, key: None, redirects };
        self.lock().clients.insert(id, client);
        Answer::json(201, &wanted)
    }
}

/// Parses a client metadata document, if it is valid: it has its own id, a name and redirect URIs.
fn documented(id: &str, document: &Value) -> Option<Client> {
    let redirects = texts(&document["redirect_uris"]);
    let has_path =
        id.strip_prefix("https://").is_some_and(|rest| rest.split_once('/').is_some_and(|(_, path)| !path.is_empty()));
    let good = has_path && document["client_id"] == id && !redirects.is_empty();
    let key = document["jwks"]["keys"].get(0).cloned();
    good.then_some(Client {
        id: id.to_owned(),
        name: document["client_name"].as_str()?.to_owned(),
        secret: None,
        key: key.filter(|_| document["token_endpoint_auth_method"] == "private_key_jwt"),
        redirects,
    })
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn basic_auth(header: &str) -> Option<(String, Option<String>)> {
    let text = String::from_utf8(STANDARD.decode(header.strip_prefix("Basic ")?).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let plain = |text: &str| form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned());
    Some((plain(id)?, plain(secret)))
}
