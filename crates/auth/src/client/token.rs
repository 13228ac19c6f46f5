//! Token requests.

use bytes::Bytes;
use couplet_core::{Error, clock::unix_seconds};
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::{
    dpop::{self, Nonces},
    identity::Identity,
    key::SigningKey,
    metadata::ServerMetadata,
    words::shown,
};
use crate::{
    Secret,
    fetch::{Fetched, Fetcher, failed, parse},
};

/// A token endpoint, with the identity of the client.
#[derive(Debug)]
pub(crate) struct Endpoint<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) server: &'a ServerMetadata,
    pub(crate) identity: &'a Identity,
    /// The key to bind tokens to.
    pub(crate) key: Option<&'a SigningKey>,
    pub(crate) nonces: &'a Nonces,
}

/// The tokens of a response.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// When the token must be renewed, in seconds since 1970.
    pub(crate) expires: Option<u64>,
}

/// A failed token request.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The error code of the authorization server, if it answered.
    pub(crate) code: Option<String>,
    pub(crate) error: Error,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { code: None, error }
    }
}

#[derive(Deserialize)]
struct Answer {
    access_token: Option<String>,
    token_type: Option<String>,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
    issued_token_type: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    error: String,
    error_description: Option<String>,
}

impl Endpoint<'_> {
    /// Requests an access token for the server.
    pub(crate) async fn ask(&self, fields: &[(&str, &str)]) -> Result<Issued, Refused> {
        let answer = self.answer(fields).await?;
        let kind = answer.token_type.unwrap_or_default();
        let expected = if self.key.is_some() { "DPoP" } else { "Bearer" };
        if !kind.eq_ignore_ascii_case(expected) {
            let what = format!("the authorization server issued a token of the type `{}`", shown(&kind));
            return Err(failed(format!("{what}, expected `{expected}`")).into());
        }
        let lasts = answer.expires_in.and_then(|e| e.as_u64().or_else(|| e.as_str()?.parse().ok()));
        Ok(Issued {
            access: secret(answer.access_token)?,
            refresh: answer.refresh_token.map(Secret::new),
            // Margin for the duration of a request and for clock skew.
            expires: lasts.map(|lasts| unix_seconds().saturating_add(lasts - (lasts / 4).min(20))),
        })
    }

    /// Requests a token of another type, for another authorization server.
    pub(crate) async fn exchange(&self, fields: &[(&str, &str)], kind: &str) -> Result<Secret, Refused> {
        let answer = self.answer(fields).await?;
        match answer.issued_token_type.as_deref() {
            Some(issued) if issued == kind => Ok(secret(answer.access_token)?),
            issued => {
                let what =
                    format!("the identity provider issued a token of the type `{}`", shown(issued.unwrap_or_default()));
                Err(failed(format!("{what}, expected `{kind}`")).into())
            }
        }
    }

    async fn answer(&self, fields: &[(&str, &str)]) -> Result<Answer, Refused> {
        let uri = self.uri()?;
        let mut response = self.fetcher.send(self.request(uri.clone(), fields)?).await?;
        // A proof without the required nonce is retried once.
        if self.key.is_some() && self.note(&response)? && problem(&response).0.as_deref() == Some("use_dpop_nonce") {
            response = self.fetcher.send(self.request(uri, fields)?).await?;
            self.note(&response)?;
        }
        if response.status == StatusCode::OK {
            return Ok(response.json()?);
        }
        let (code, error) = problem(&response);
        Err(Refused { code, error })
    }

    fn note(&self, response: &Fetched) -> Result<bool, Error> {
        Ok(self.nonces.note(&self.uri()?, &response.headers))
    }

    fn uri(&self) -> Result<http::Uri, Error> {
        let endpoint = self.server.token_endpoint.as_deref().and_then(parse);
        endpoint.ok_or_else(|| failed("the authorization server has no token endpoint"))
    }

    /// Sends an authenticated form to another endpoint of the authorization server.
    pub(crate) async fn post(&self, endpoint: &str, fields: &[(&str, &str)]) -> Result<Fetched, Refused> {
        let uri =
            parse(endpoint).ok_or_else(|| failed("the authorization server's metadata has an invalid endpoint URL"))?;
        let response = self.fetcher.send(self.request(uri, fields)?).await?;
        if response.status == StatusCode::OK {
            return Ok(response);
        }
        let (code, error) = problem(&response);
        Err(Refused { code, error })
    }

    fn request(&self, uri: http::Uri, fields: &[(&str, &str)]) -> Result<Request<Bytes>, Error> {
        let shown = self.identity.show(self.server)?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields).extend_pairs(shown.fields);
        let body = Zeroizing::new(form.finish());
        let mut request = Request::new(Bytes::copy_from_slice(body.as_bytes()));
        *request.headers_mut() = shown.headers;
        if let Some(key) = self.key {
            let proof = self.nonces.proof(key, &Method::POST, &uri, None)?;
            request.headers_mut().insert(dpop::PROOF, proof);
        }
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        Ok(request)
    }
}

fn secret(token: Option<String>) -> Result<Secret, Error> {
    // A token must be a valid header value (RFC 6750, section 2.1).
    let possible = |t: &String| !t.is_empty() && t.bytes().all(|b| matches!(b, b'!'..=b'~'));
    token.filter(possible).map(Secret::new).ok_or_else(|| failed("the authorization server issued no valid token"))
}

/// The error of a response.
pub(crate) fn problem(response: &Fetched) -> (Option<String>, Error) {
    match serde_json::from_slice::<Problem>(&response.body) {
        Ok(Problem { error, error_description }) => {
            let what = format!("the authorization server refused: {}", told(&error, error_description.as_deref()));
            (Some(error), failed(what))
        }
        Err(_) => (None, failed(format!("the authorization server answered with status {}", response.status.as_u16()))),
    }
}

/// Formats an error of an authorization server.
pub(crate) fn told(code: &str, description: Option<&str>) -> String {
    match description {
        Some(description) => format!("`{}`: {}", shown(code), shown(description)),
        None => format!("`{}`", shown(code)),
    }
}
