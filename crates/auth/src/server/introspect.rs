//! Token introspection (RFC 7662).

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{HeaderValue, Method, Request, header};
use serde::Deserialize;

use super::{
    claims::{Claims, Unchecked, Wanted},
    issuer::Asks,
    published::Known,
    refusal::Refusal,
};

#[derive(Deserialize)]
struct Answer {
    active: bool,
    #[serde(flatten)]
    token: Unchecked,
}

impl Known {
    /// Asks the issuer about a token.
    pub(crate) async fn ask(&self, asks: &Asks, token: &str, wanted: &Wanted<'_>) -> Result<Claims, Refusal> {
        let unavailable = Refusal::Unavailable("the token's issuer is unavailable");
        let endpoint = self.introspection().await?;
        let request = question(&endpoint, asks, token).ok_or_else(|| unavailable.clone())?;
        let answer = self.fetcher.send(request).await.and_then(|fetched| fetched.json::<Answer>());
        let Answer { active, mut token } = answer.map_err(|error| {
            tracing::warn!(issuer = self.issuer.name, %error, "token introspection failed");
            unavailable
        })?;
        if !active {
            return Err(Refusal::Invalid("the token is not active"));
        }
        // The response need not name the issuer; if it does, it must be this one.
        token.iss.get_or_insert_with(|| self.issuer.name.clone());
        token.check(wanted)
    }
}

fn question(endpoint: &str, asks: &Asks, token: &str) -> Option<Request<Bytes>> {
    let form = |pairs: &[(&str, &str)]| Serializer::new(String::new()).extend_pairs(pairs).finish();
    // In the header both are form-encoded (RFC 6749, 2.3.1).
    let escaped = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let who = format!("{}:{}", escaped(&asks.client), escaped(asks.secret.reveal()));
    let mut who = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(who))).ok()?;
    who.set_sensitive(true);
    let request = Request::builder()
        .method(Method::POST)
        .uri(endpoint)
        .header(header::AUTHORIZATION, who)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "application/json");
    request.body(form(&[("token", token), ("token_type_hint", "access_token")]).into()).ok()
}
