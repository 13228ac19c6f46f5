//! Secrets in what is shown of a login.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

/// Stands for what is not shown.
const HIDDEN: &str = "•••";

/// Members and parameters whose values are secrets.
const SECRETS: [&str; 14] = [
    "access_token",
    "refresh_token",
    "id_token",
    "client_secret",
    "registration_access_token",
    "code",
    "code_verifier",
    "device_code",
    "assertion",
    "client_assertion",
    "subject_token",
    "actor_token",
    "password",
    "token",
];

/// A URL without the values of its parameters.
pub(super) fn url(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    match text.split_once('?') {
        Some((place, query)) if !query.is_empty() => {
            let names = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
            let names: Vec<_> = names.map(|name| format!("{name}={HIDDEN}")).collect();
            format!("{place}?{}", names.join("&"))
        }
        _ => text.to_owned(),
    }
}

/// Headers whose values are shown: those of HTTP and of the protocol that have no secrets.
const PLAIN: [&str; 10] = [
    "accept",
    "allow",
    "content-length",
    "content-type",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "retry-after",
    "user-agent",
    "www-authenticate",
];

/// Headers, without the values that may be secrets.
pub(super) fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = |name: &HeaderName, value: &HeaderValue| match PLAIN.contains(&name.as_str()) {
        true => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        false => HIDDEN.to_owned(),
    };
    headers.iter().map(|(name, value)| (name.to_string(), shown(name, value))).collect()
}

/// A body without secrets: JSON, or the parameters of a form. Tokens that are JWTs are decoded, without their signature.
pub(super) fn body(bytes: &[u8]) -> Option<Value> {
    if bytes.is_empty() {
        return None;
    }
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return Some(masked(value));
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.contains('=') && !text.contains(['<', '\n', ' ']))?;
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    Some(masked(Value::Object(pairs.map(|(name, value)| (decoded(name), decoded(value).into())).collect())))
}

fn masked(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(members.into_iter().map(member).collect::<Map<_, _>>()),
        Value::Array(items) => Value::Array(items.into_iter().map(masked).collect()),
        other => other,
    }
}

fn member((name, value): (String, Value)) -> (String, Value) {
    let value = match &value {
        Value::String(secret) if SECRETS.contains(&name.as_str()) => token(secret),
        _ => masked(value),
    };
    (name, value)
}

/// What is shown of a token: nothing, or the header and the claims of a JWT.
fn token(text: &str) -> Value {
    let part = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
        serde_json::from_slice::<Map<String, Value>>(&bytes).ok()
    };
    let parts: Vec<_> = text.split('.').collect();
    match parts.as_slice() {
        [header, claims, _] => match (part(header), part(claims)) {
            (Some(header), Some(claims)) => json!({ "header": header, "claims": claims, "signature": HIDDEN }),
            _ => HIDDEN.into(),
        },
        _ => HIDDEN.into(),
    }
}

/// Decodes a part of a form.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => match (hex(rest.next()), hex(rest.next())) {
                (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                _ => bytes.push(b'%'),
            },
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        assert_eq!(url("https://a.example/x?key=secret&b#c"), "https://a.example/x?key=•••&b=•••");
        assert_eq!(url("https://a.example/x"), "https://a.example/x");
        let form = body(b"grant_type=authorization_code&code=s3cret&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fa+b");
        let expected = json!({
            "grant_type": "authorization_code", "code": HIDDEN, "redirect_uri": "http://127.0.0.1:1/a b",
        });
        assert_eq!(form, Some(expected));
        let token =
            format!("{}.{}.sig", URL_SAFE_NO_PAD.encode("{\"alg\":\"x\"}"), URL_SAFE_NO_PAD.encode("{\"sub\":\"u\"}"));
        let answer = json!({ "access_token": token, "refresh_token": "r", "more": [{ "client_secret": "s" }] });
        let expected = json!({
            "access_token": { "header": { "alg": "x" }, "claims": { "sub": "u" }, "signature": HIDDEN },
            "refresh_token": HIDDEN, "more": [{ "client_secret": HIDDEN }],
        });
        assert_eq!(body(answer.to_string().as_bytes()), Some(expected));
        assert_eq!(body(b"<html>a=b</html>"), None);
    }
}
