//! Responses to rejected requests.

use couplet_http::server::Challenge;
use http::{HeaderName, HeaderValue, StatusCode, header};

use super::refusal::Refusal;

/// The parameters that all challenges of a server share.
pub(crate) struct Challenges {
    /// The URL of the protected resource metadata, if there is any.
    pub(crate) metadata: Option<String>,
    /// The scopes that every request needs.
    pub(crate) scopes: Vec<String>,
    /// The algorithms of DPoP proofs, if DPoP is supported.
    pub(crate) proofs: Option<String>,
    /// Whether DPoP is required.
    pub(crate) proofs_only: bool,
}

impl Challenges {
    /// The response to a rejected request; `nonce` is the nonce for the next proof.
    pub(crate) fn answer(&self, refusal: &Refusal, nonce: Option<&str>) -> Challenge {
        let (status, error, why) = match refusal {
            Refusal::Missing => (StatusCode::UNAUTHORIZED, None, "an access token is required"),
            Refusal::Malformed(why) => (StatusCode::BAD_REQUEST, Some("invalid_request"), *why),
            Refusal::Invalid(why) => (StatusCode::UNAUTHORIZED, Some("invalid_token"), *why),
            Refusal::Proof(why) => (StatusCode::UNAUTHORIZED, Some("invalid_dpop_proof"), *why),
            Refusal::Nonce => (StatusCode::UNAUTHORIZED, Some("use_dpop_nonce"), "the proof needs a new nonce"),
            Refusal::Scopes(_) => {
                (StatusCode::FORBIDDEN, Some("insufficient_scope"), "the token lacks a required scope")
            }
            Refusal::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, None, *why),
        };
        let mut challenge = Challenge::new(status, why);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            challenge.headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            return challenge;
        }
        let about_proofs = matches!(refusal, Refusal::Proof(_) | Refusal::Nonce);
        let mut common = Vec::new();
        if let Some(error) = error {
            common.extend([("error", error), ("error_description", why)]);
        }
        let scopes = match refusal {
            Refusal::Scopes(needed) => self.with(needed),
            _ => self.scopes.clone(),
        };
        let scopes = scopes.join(" ");
        if !scopes.is_empty() {
            common.push(("scope", &*scopes));
        }
        common.extend(self.metadata.as_deref().map(|url| ("resource_metadata", url)));
        if !self.proofs_only && !about_proofs {
            add(&mut challenge, "Bearer", &common);
        }
        if let Some(algorithms) = self.proofs.as_deref().filter(|_| self.proofs_only || about_proofs) {
            common.push(("algs", algorithms));
            add(&mut challenge, "DPoP", &common);
        }
        if let (Refusal::Nonce, Some(nonce)) = (refusal, nonce.and_then(|nonce| HeaderValue::from_str(nonce).ok())) {
            challenge.headers.insert(HeaderName::from_static("dpop-nonce"), nonce);
            challenge.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        challenge
    }

    /// The scopes that every request needs, and these.
    fn with(&self, needed: &[String]) -> Vec<String> {
        let mut all = self.scopes.clone();
        all.extend(needed.iter().filter(|scope| !self.scopes.contains(scope)).cloned());
        all
    }
}

fn add(challenge: &mut Challenge, scheme: &str, parts: &[(&str, &str)]) {
    let parts: Vec<String> = parts.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
    let text = match parts.is_empty() {
        true => scheme.to_owned(),
        false => format!("{scheme} {}", parts.join(", ")),
    };
    if let Ok(value) = HeaderValue::from_str(&text) {
        challenge.headers.append(header::WWW_AUTHENTICATE, value);
    }
}

/// Escapes a quoted string; characters that a header cannot carry are dropped.
fn quoted(text: &str) -> String {
    let kept = text.chars().filter(|c| matches!(c, ' '..='~'));
    kept.flat_map(|c| ['\\'].into_iter().filter(move |_| matches!(c, '"' | '\\')).chain([c])).collect()
}
