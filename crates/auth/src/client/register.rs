//! Dynamic client registration.

use bytes::Bytes;
use couplet_core::Error;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Deserialize;
use serde_json::json;

use super::{device::DEVICE_CODE, login::Registration, metadata::ServerMetadata, token::problem};
use crate::fetch::{Fetcher, failed, is_local, parse};

#[derive(Deserialize)]
struct Answer {
    client_id: String,
    client_secret: Option<String>,
    #[serde(default)]
    client_secret_expires_at: u64,
    token_endpoint_auth_method: Option<String>,
}

/// Registers a client with the authorization server (RFC 7591).
pub(crate) async fn register(
    fetcher: &Fetcher,
    server: &ServerMetadata,
    name: &str,
    redirect: &str,
) -> Result<Registration, Error> {
    let endpoint = server.registration_endpoint.as_deref().and_then(parse);
    let endpoint = endpoint.ok_or_else(|| {
        failed(format!(
            "`{}` does not support dynamic registration; register the client there by hand, and configure its client id",
            server.issuer
        ))
    })?;
    // A loopback or custom-scheme redirect means a native application, any other one a web application.
    let native = parse(redirect).is_none_or(|uri| is_local(&uri));
    let method = method(server);
    let mut grants = vec!["authorization_code", "refresh_token"];
    grants.extend(server.device_authorization_endpoint.as_ref().map(|_| DEVICE_CODE));
    let wanted = json!({
        "client_name": name,
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": if native { "native" } else { "web" },
    });
    let mut request = Request::new(Bytes::from(wanted.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = endpoint;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let response = fetcher.send(request).await?;
    if !matches!(response.status, StatusCode::OK | StatusCode::CREATED) {
        let (_, why) = problem(&response);
        let what = format!("`{}` rejected the registration of the client: {why}", server.issuer);
        return Err(failed(format!("{what}; register it there by hand, and configure its client id")));
    }
    let answer: Answer = response.json()?;
    Ok(Registration {
        id: answer.client_id,
        secret: answer.client_secret,
        method: answer.token_endpoint_auth_method,
        redirect: redirect.to_owned(),
        expires: answer.client_secret_expires_at,
    })
}

/// The authentication method to request. A distributed program cannot hold a secret, so it requests one only if it
/// must.
fn method(server: &ServerMetadata) -> &'static str {
    let Some(known) = &server.token_endpoint_auth_methods_supported else { return "none" };
    let order = ["none", "client_secret_basic", "client_secret_post"];
    order.into_iter().find(|method| known.iter().any(|k| k == method)).unwrap_or("none")
}
