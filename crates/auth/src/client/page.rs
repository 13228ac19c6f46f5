//! The authorization request and its response.

use couplet_core::Error;

use super::{
    metadata::ServerMetadata,
    token::told,
    words::{digest, random, same},
};
use crate::{Secret, fetch::failed};

/// A pending authorization request, with the values that its response must match.
#[derive(Debug)]
pub(crate) struct Visit {
    /// The issuer that was asked, as written.
    issuer: String,
    /// Whether its metadata declares the `iss` response parameter.
    says_issuer: bool,
    state: Secret,
    pub(crate) verifier: Secret,
}

/// The parameters of an authorization request.
#[derive(Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) client: &'a str,
    pub(crate) redirect: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) scopes: &'a [String],
}

impl Visit {
    /// `trusted` are the issuers that support PKCE although they say nothing about it.
    pub(crate) fn new(server: &ServerMetadata, trusted: &[String]) -> Result<Self, Error> {
        let is_silent = server.code_challenge_methods_supported.is_none();
        if !(server.knows_pkce() || is_silent && trusted.contains(&server.issuer)) {
            let what = "the authorization server does not declare PKCE with `S256`, without which a login could be intercepted";
            return Err(failed(what));
        }
        Ok(Self {
            issuer: server.issuer.clone(),
            says_issuer: server.authorization_response_iss_parameter_supported,
            state: Secret::new(random()?),
            verifier: Secret::new(random()?),
        })
    }

    /// The URL of the authorization request.
    pub(crate) fn page(&self, server: &ServerMetadata, wish: &Wish<'_>) -> Result<String, Error> {
        let endpoint = server.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| failed("the authorization server has no authorization endpoint"))?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("response_type", "code")
            .append_pair("client_id", wish.client)
            .append_pair("redirect_uri", wish.redirect)
            .append_pair("state", self.state.reveal())
            .append_pair("code_challenge", &digest(self.verifier.reveal()))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", wish.resource);
        if !wish.scopes.is_empty() {
            form.append_pair("scope", &wish.scopes.join(" "));
        }
        if wish.scopes.iter().any(|s| s == "offline_access") {
            // `offline_access` requires it (OpenID Connect, section 11).
            form.append_pair("prompt", "consent");
        }
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{joint}{}", form.finish()))
    }

    /// Whether a response belongs to this request, by its `state`.
    pub(crate) fn is_answer(&self, query: &str) -> bool {
        let states: Vec<_> = pairs(query).filter(|(name, _)| name == "state").map(|(_, value)| value).collect();
        matches!(&*states, [state] if same(state, self.state.reveal()))
    }

    /// The authorization code of a response. Nothing else in it counts, not even an error, before state and issuer are
    /// verified.
    pub(crate) fn code(&self, query: &str) -> Result<Secret, Error> {
        if !self.is_answer(query) {
            return Err(failed("the authorization response belongs to another login: its `state` differs"));
        }
        let [mut iss, mut code, mut error, mut description] = [const { None }; 4];
        for (name, value) in pairs(query) {
            let place = match &*name {
                "iss" => &mut iss,
                "code" => &mut code,
                "error" => &mut error,
                "error_description" => &mut description,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(failed(format!("the authorization response has two of `{name}`")));
            }
        }
        match iss {
            Some(iss) if *iss != *self.issuer => {
                return Err(failed("the authorization response is from another issuer"));
            }
            None if self.says_issuer => {
                return Err(failed(
                    "the authorization response does not name its issuer (`iss`), though the metadata promises it",
                ));
            }
            _ => {}
        }
        match (error, code) {
            (Some(error), _) => Err(failed(format!("the login failed: {}", told(&error, description.as_deref())))),
            (None, Some(code)) if !code.is_empty() => Ok(Secret::new(code)),
            _ => Err(failed("the authorization response has no code")),
        }
    }
}

fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(says_issuer: bool) -> Visit {
        let state = Secret::new("right");
        Visit { issuer: "https://a".to_owned(), says_issuer, state, verifier: Secret::new("v") }
    }

    #[test]
    fn an_answer_has_to_be_from_whom_was_asked() {
        for (query, says_issuer, expected) in [
            ("state=right&code=c", false, Ok("c")),
            ("code=c&state=right&iss=https%3A%2F%2Fa", true, Ok("c")),
            ("code=c&state=right&iss=https%3A%2F%2Fa", false, Ok("c")),
            ("state=right&code=c", true, Err("does not name")),
            ("state=right&code=c&iss=https%3A%2F%2Fa%2F", true, Err("another issuer")),
            ("state=right&code=c&iss=https%3A%2F%2FA", true, Err("another issuer")),
            ("state=right&code=c&iss=https%3A%2F%2Fevil", false, Err("another issuer")),
            ("state=right&error=access_denied&iss=https%3A%2F%2Fevil", false, Err("another issuer")),
            ("state=right&error=access_denied&error_description=no%0Away", false, Err("`access_denied`: noway")),
            ("state=right", false, Err("no code")),
            ("state=right&code=", false, Err("no code")),
            ("state=wrong&code=c", false, Err("another login")),
            ("code=c", false, Err("another login")),
            ("state=right&state=wrong&code=c", false, Err("another login")),
            ("state=right&code=c&code=d", false, Err("two of")),
            ("", false, Err("another login")),
        ] {
            let found = visit(says_issuer).code(query);
            match (found, expected) {
                (Ok(code), Ok(expected)) => assert_eq!(code.reveal(), expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{query}: {error}"),
                (found, _) => panic!("{query}: {found:?}"),
            }
        }
    }
}
