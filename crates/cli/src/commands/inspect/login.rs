//! The steps of a login, for the page.

use std::sync::Mutex;

use couplet::core::sync::lock;
use couplet_inspector::{Login, LoginStep};
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::mask;

/// What has been requested for a login.
#[derive(Debug, Default)]
pub(super) struct LoginLog(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    login: Login,
    /// Whether the next page is opened in the browser.
    opens: bool,
    /// Whether the last request to the server had a token.
    has_token: bool,
}

impl LoginLog {
    /// The number of steps that are stored: the latest.
    const STEPS: usize = 50;

    pub(super) fn login(&self) -> Login {
        lock(&self.0).login.clone()
    }

    /// Returns whether the last request to the server had a token.
    pub(super) fn has_token(&self) -> bool {
        lock(&self.0).has_token
    }

    /// Records whether a request to the server has a token.
    pub(super) fn sends(&self, authorization: Option<&HeaderValue>) {
        lock(&self.0).has_token = authorization.is_some();
    }

    /// Adds a request.
    pub(super) fn add(&self, step: LoginStep) {
        let steps = &mut lock(&self.0).login.steps;
        steps.push(step);
        if steps.len() > Self::STEPS {
            steps.remove(0);
        }
    }

    /// Records that the login waits for the user at a page. Returns whether to open it.
    pub(super) fn waits_at(&self, page: &str) -> bool {
        let mut log = lock(&self.0);
        log.login.authorize_url = Some(page.to_owned());
        let sent = page.split_once('?').and_then(|(_, query)| mask::body(query.as_bytes()));
        log.login.steps.push(LoginStep {
            title: "Authorization request".to_owned(),
            url: mask::url(page),
            sent,
            note: "the user logs in on this page; the redirect leads back to this machine".to_owned(),
            ..LoginStep::default()
        });
        std::mem::take(&mut log.opens)
    }

    /// Records that a token was issued, or that the login is over.
    pub(super) fn is_over(&self) {
        lock(&self.0).login.authorize_url = None;
    }

    /// Begins anew, and opens the next page in the browser.
    pub(super) fn restart(&self) {
        *lock(&self.0) = Progress { opens: true, ..Progress::default() };
    }
}

/// The title and the explanation of a request, by its path and its parameters.
pub(super) fn about(path: &str, sent: Option<&Value>) -> (&'static str, &'static str) {
    let has = |name: &str| sent.is_some_and(|sent| sent.get(name).is_some());
    match path {
        _ if path.contains("oauth-protected-resource") => {
            ("Protected resource metadata", "names the authorization servers of this server (RFC 9728)")
        }
        _ if path.contains("oauth-authorization-server") || path.contains("openid-configuration") => {
            ("Authorization server metadata", "names the endpoints of the authorization server (RFC 8414)")
        }
        _ if has("redirect_uris") => {
            ("Client registration", "registers this client at the authorization server (RFC 7591)")
        }
        _ if has("grant_type") => ("Token request", "exchanges the code, or a refresh token, for an access token"),
        _ if path.contains("revo") => ("Token revocation", "revokes a token (RFC 7009)"),
        _ => ("Request", ""),
    }
}

/// The step for a response that requires a login, or more rights.
pub(super) fn challenge<T>(url: &str, response: &Response<T>) -> Option<LoginStep> {
    let status = response.status();
    let note = match status {
        StatusCode::UNAUTHORIZED => "the server requires a token; the header says where its metadata is",
        StatusCode::FORBIDDEN => "the token lacks a scope, which the header names",
        _ => return None,
    };
    let challenge = response.headers().get(header::WWW_AUTHENTICATE);
    let challenge = challenge.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Some(LoginStep {
        title: "Challenge".to_owned(),
        url: url.to_owned(),
        status: Some(status.as_u16()),
        body: Some(json!({ "WWW-Authenticate": challenge })),
        note: note.to_owned(),
        ..LoginStep::default()
    })
}

/// The step before a token request that has a code: the browser has come back with it.
pub(super) fn redirect(sent: &Value) -> Option<LoginStep> {
    let url = sent.get("redirect_uri").filter(|_| sent["grant_type"] == "authorization_code")?.as_str()?;
    Some(LoginStep {
        title: "Redirect".to_owned(),
        url: mask::url(url),
        body: Some(json!({ "code": sent["code"] })),
        note: "the authorization server sent the browser back to this machine, with a code".to_owned(),
        ..LoginStep::default()
    })
}
