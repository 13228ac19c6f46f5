//! Access tokens by the client credentials grant (RFC 6749, section 4.4).

use std::{collections::HashMap, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use couplet_auth::{
    Secret,
    fetch::{Fetched, Fetcher},
};
use couplet_core::{Error, ErrorKind};
use http::{
    HeaderValue, Method, Request,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

/// The time before its end in which a token is not used any more.
const MARGIN: Duration = Duration::from_secs(30);

/// The lifetime of a token whose response names none.
const DEFAULT_LIFETIME: u64 = 300;

/// The maximum number of cached tokens: one for each set of scopes of the document.
const MOST: usize = 64;

/// A cache of tokens by their scopes. One request at a time gets a token, and the others wait for it.
#[derive(Default)]
pub(super) struct Tokens(Mutex<HashMap<String, (Secret, Instant)>>);

impl Tokens {
    pub(super) async fn get(
        &self,
        url: &str,
        client: &Secret,
        scopes: &str,
        fetcher: &Fetcher,
    ) -> Result<Secret, Error> {
        let mut tokens = self.0.lock().await;
        let now = Instant::now();
        if let Some((token, _)) = tokens.get(scopes).filter(|(_, end)| *end > now) {
            return Ok(token.clone());
        }
        let (token, lifetime) = request(url, client, scopes, fetcher).await?;
        tokens.retain(|_, (_, end)| *end > now);
        if tokens.len() < MOST {
            tokens.insert(scopes.to_owned(), (token.clone(), Instant::now() + lifetime.saturating_sub(MARGIN)));
        }
        Ok(token)
    }

    pub(super) async fn expire(&self, scopes: &str) {
        self.0.lock().await.remove(scopes);
    }
}

/// Requests a token: with the client's credentials in a header, or in the body where the server wants them there.
pub(super) async fn request(
    url: &str,
    client: &Secret,
    scopes: &str,
    fetcher: &Fetcher,
) -> Result<(Secret, Duration), Error> {
    let (id, secret) = client.reveal().split_once(':').unwrap_or((client.reveal(), ""));
    let mut form = "grant_type=client_credentials".to_owned();
    if !scopes.is_empty() {
        form = format!("{form}&scope={}", crate::request::component(scopes));
    }
    let login = format!("{}:{}", crate::request::component(id), crate::request::component(secret));
    let basic = format!("Basic {}", STANDARD.encode(login));
    let fetched = send(url, form.clone(), Some(&basic), fetcher).await?;
    let fetched = match fetched.status.as_u16() {
        400 | 401 => {
            let (id, secret) = (crate::request::component(id), crate::request::component(secret));
            send(url, format!("{form}&client_id={id}&client_secret={secret}"), None, fetcher).await?
        }
        _ => fetched,
    };
    let response: Value = fetched.json().map_err(|error| failed(&format!("no access token: {error}")))?;
    let token = response["access_token"].as_str().ok_or_else(|| failed("the response has no `access_token`"))?;
    let lifetime = response["expires_in"].as_u64().unwrap_or(DEFAULT_LIFETIME).min(86_400);
    Ok((Secret::new(token), Duration::from_secs(lifetime)))
}

async fn send(url: &str, form: String, authorization: Option<&str>, fetcher: &Fetcher) -> Result<Fetched, Error> {
    let mut request = Request::new(Bytes::from(form));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.parse().map_err(|_| failed("the token URL of the document is not valid"))?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    if let Some(value) = authorization {
        let mut value = HeaderValue::from_str(value).map_err(|_| failed("the client's credentials are not valid"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    fetcher.send(request).await
}

fn failed(what: &str) -> Error {
    Error::new(ErrorKind::Auth, what)
}
