//! Authorization, for each scenario that requires it.

use std::env;

use couplet::{
    Error, ErrorKind,
    auth::{
        Secret,
        client::{Credential, Enterprise, OAuth, SigningKey},
    },
    http::client::{HttpClient, HyperClient},
};
use http::header::LOCATION;
use serde::Deserialize;

/// The redirect URL of the suite. Nothing listens there.
const REDIRECT: &str = "http://127.0.0.1:3000/callback";

/// The URL of the client metadata document, which the suite accepts but does not fetch.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The suite's data for a scenario.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    client_id: String,
    client_secret: String,
    issuer: String,
    private_key_pem: String,
    idp_client_id: String,
    idp_id_token: String,
    idp_token_endpoint: String,
    valid_jwt: String,
}

pub(crate) fn oauth(scenario: &str) -> Result<OAuth, Box<dyn std::error::Error>> {
    let context: Context = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Context::default(),
    };
    let secret = Secret::new(context.client_secret);
    Ok(match scenario {
        "auth/client-credentials-jwt" => {
            OAuth::client_credentials(context.client_id, SigningKey::from_pem(&context.private_key_pem)?)
        }
        "auth/client-credentials-basic" => OAuth::client_credentials(context.client_id, secret),
        "auth/enterprise-managed-authorization" => {
            let id_token = Secret::new(context.idp_id_token);
            let provider = Enterprise::new(context.idp_token_endpoint, context.idp_client_id, move |_| {
                let id_token = id_token.clone();
                async { Ok(id_token) }
            });
            OAuth::enterprise(provider, context.client_id, secret)
        }
        "auth/wif-jwt-bearer" => {
            let assertion = Secret::new(context.valid_jwt);
            OAuth::workload(context.client_id, move |_| {
                let assertion = assertion.clone();
                async { Ok(assertion) }
            })
        }
        "auth/pre-registration" => person().registered(context.client_id, secret).issuer(context.issuer),
        "auth/basic-cimd" => person().metadata_document(DOCUMENT, Credential::Public),
        _ => person(),
    })
}

/// A user who approves everything.
fn person() -> OAuth {
    OAuth::new("Conformance client").handle_redirect(REDIRECT, visit)
}

async fn visit(page: String) -> Result<String, Error> {
    let wrong = |what: &str| Error::new(ErrorKind::Protocol, what.to_owned());
    let request = http::Request::get(page).body(bytes::Bytes::new()).map_err(|_| wrong("there is no such page"))?;
    let response = HyperClient::new()?.send(request).await?;
    let location = response.headers().get(LOCATION).and_then(|l| l.to_str().ok());
    location.map(str::to_owned).ok_or_else(|| wrong("the page leads nowhere"))
}
