//! The page on which a person allows something, and what comes back from it.

use couplet_core::Error;

use super::{
    metadata::ServerMetadata,
    token::told,
    words::{digest, random, same},
};
use crate::{Secret, fetch::failed};

/// A visit to the page: what has to be the same when somebody comes back from it.
#[derive(Debug)]
pub(crate) struct Visit {
    /// Who was asked, as written.
    issuer: String,
    /// Whether they said that they would say so.
    says_issuer: bool,
    state: Secret,
    pub(crate) verifier: Secret,
}

/// What is asked for on the page.
#[derive(Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) client: &'a str,
    pub(crate) redirect: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) scopes: &'a [String],
}

impl Visit {
    pub(crate) fn new(server: &ServerMetadata) -> Result<Self, Error> {
        if !server.knows_pkce() {
            let what = "the authorization server does not say that it knows PKCE with S256, so a login could be stolen";
            return Err(failed(what));
        }
        Ok(Self {
            issuer: server.issuer.clone(),
            says_issuer: server.authorization_response_iss_parameter_supported,
            state: Secret::new(random()?),
            verifier: Secret::new(random()?),
        })
    }

    /// The address of the page.
    pub(crate) fn page(&self, server: &ServerMetadata, wish: &Wish<'_>) -> Result<String, Error> {
        let endpoint = server.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| failed("the authorization server has no page to log in on"))?;
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
            // Without it this scope does not count (OpenID Connect, section 11).
            form.append_pair("prompt", "consent");
        }
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{joint}{}", form.finish()))
    }

    /// Whether this is the answer to this visit, and not somebody else's.
    pub(crate) fn is_answer(&self, query: &str) -> bool {
        let states: Vec<_> = pairs(query).filter(|(name, _)| name == "state").map(|(_, value)| value).collect();
        matches!(&*states, [state] if same(state, self.state.reveal()))
    }

    /// The code that an answer brings. Nothing of it counts, not even an error, before it is clear who says it.
    pub(crate) fn code(&self, query: &str) -> Result<Secret, Error> {
        if !self.is_answer(query) {
            return Err(failed("what came back from the authorization server belongs to another login"));
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
                return Err(failed(format!("what came back from the authorization server has two of `{name}`")));
            }
        }
        match iss {
            Some(iss) if *iss != *self.issuer => {
                return Err(failed("the login was answered by another authorization server than was asked"));
            }
            None if self.says_issuer => {
                return Err(failed("the answer to the login does not name the authorization server, which it has to"));
            }
            _ => {}
        }
        match (error, code) {
            (Some(error), _) => Err(failed(format!("there is no login: {}", told(&error, description.as_deref())))),
            (None, Some(code)) if !code.is_empty() => Ok(Secret::new(code)),
            _ => Err(failed("the authorization server sends no code")),
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
            ("state=right&code=c&iss=https%3A%2F%2Fa%2F", true, Err("by another")),
            ("state=right&code=c&iss=https%3A%2F%2FA", true, Err("by another")),
            ("state=right&code=c&iss=https%3A%2F%2Fevil", false, Err("by another")),
            ("state=right&error=access_denied&iss=https%3A%2F%2Fevil", false, Err("by another")),
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
