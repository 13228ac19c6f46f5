//! The authorization page, and its redirects.

use super::{
    misbehaviour::Misbehaviour,
    state::{Grant, State, random},
    web::{Answer, Asked},
};

impl State {
    /// The authorization page. An invalid client or redirect URI is reported here, without a redirect.
    pub(super) fn page(&self, asked: &Asked) -> Answer {
        let Some(client) = asked.get("client_id").and_then(|id| self.known_client(id)) else {
            return Answer::text(400, "the client is not known");
        };
        let redirect = asked.get("redirect_uri").unwrap_or_default();
        if !client.redirects.iter().any(|own| is_same(own, redirect)) {
            return Answer::text(400, "the client has no such address");
        }
        let state = asked.get("state").map(str::to_owned);
        let challenge = asked.get("code_challenge").unwrap_or_default().to_owned();
        let grant = Grant {
            client: client.id.clone(),
            user: self.lock().user.clone(),
            redirect: redirect.to_owned(),
            scope: asked.get("scope").unwrap_or_default().to_owned(),
            resource: asked.get("resource").map(str::to_owned),
            challenge,
            state,
            key: asked.get("dpop_jkt").map(str::to_owned),
        };
        if asked.get("response_type") != Some("code") {
            return self.back(&grant, &[("error", "unsupported_response_type")]);
        }
        if grant.challenge.is_empty() || asked.get("code_challenge_method") != Some("S256") {
            return self
                .back(&grant, &[("error", "invalid_request"), ("error_description", "PKCE with S256 is needed")]);
        }
        let ticket = random();
        let (to, shown) = (format!("{}/decide", self.issuer), escaped(&client.name));
        let (scope, host) = (escaped(&grant.scope), escaped(host(redirect)));
        let page = format!(
            "<!doctype html><title>Log in</title><p>May <b>{shown}</b>, which is at <b>{host}</b>, use <b>{scope}</b>?\
             <form method=\"post\" action=\"{to}\"><input type=\"hidden\" name=\"ticket\" value=\"{ticket}\">\
             <button name=\"decision\" value=\"approve\">Yes</button> <button name=\"decision\" value=\"deny\">No</button></form>"
        );
        self.lock().pages.insert(ticket, grant);
        Answer::page(page)
    }

    /// The decision of the user. A page can be used once.
    pub(super) fn decide(&self, asked: &Asked) -> Answer {
        let Some(grant) = asked.get("ticket").and_then(|ticket| self.lock().pages.remove(ticket)) else {
            return Answer::text(400, "this page is over");
        };
        if asked.get("decision") != Some("approve") {
            return self.back(&grant, &[("error", "access_denied")]);
        }
        if self.does(Misbehaviour::ErrorOfAnother) {
            return self.back(&grant, &[("error", "server_error"), ("error_description", "call 0800 SCAM")]);
        }
        let code = random();
        self.lock().codes.insert(code.clone(), grant.clone());
        self.back(&grant, &[("code", &code)])
    }

    fn back(&self, grant: &Grant, parts: &[(&str, &str)]) -> Answer {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(parts);
        match &grant.state {
            Some(_) if self.does(Misbehaviour::AnotherState) => drop(query.append_pair("state", &random())),
            Some(state) => drop(query.append_pair("state", state)),
            None => {}
        }
        let another = self.does(Misbehaviour::RedirectOfAnother) || self.does(Misbehaviour::ErrorOfAnother);
        if !self.does(Misbehaviour::RedirectWithoutIssuer) {
            query.append_pair("iss", if another { "https://another.example" } else { &self.issuer });
        }
        let mark = if grant.redirect.contains('?') { '&' } else { '?' };
        Answer::redirect(&format!("{}{mark}{}", grant.redirect, query.finish()))
    }
}

/// Redirect URIs are compared as strings, but a native program may use any port (RFC 8252).
fn is_same(own: &str, asked: &str) -> bool {
    let split = |uri: &str| -> Option<(String, String)> {
        let rest = uri.strip_prefix("http://")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let name = match authority.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
            _ => authority,
        };
        matches!(name, "127.0.0.1" | "[::1]" | "localhost").then(|| (name.to_owned(), path.to_owned()))
    };
    !asked.contains('#') && (own == asked || split(own).is_some_and(|own| split(asked) == Some(own)))
}

fn host(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn addresses() {
        for (own, asked, want) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb", "https://a.example/cb/", false),
            ("https://a.example/cb", "https://a.example.evil/cb", false),
            ("https://a.example/cb", "https://a.example/cb?x", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8123/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8123/other", false),
            ("http://[::1]/cb", "http://[::1]:8123/cb", true),
            ("http://127.0.0.1/cb", "http://127.0.0.1.evil:8123/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8123@evil/cb", false),
        ] {
            assert_eq!(is_same(own, asked), want, "{asked}");
        }
    }
}
