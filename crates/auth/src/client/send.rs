//! Requests with tokens.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind, http::headers::PROTOCOL_VERSION};
use couplet_http::client::{Body, HttpClient};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header::AUTHORIZATION};

use super::{
    challenge::Challenge,
    dpop,
    login::Login,
    session::{Cause, How, Session},
};
use crate::{Secret, fetch::same_origin};

/// An HTTP client that logs in on a challenge.
#[derive(Clone)]
pub(crate) struct Authorized {
    pub(crate) session: Arc<Session>,
    pub(crate) client: Arc<dyn HttpClient>,
}

impl HttpClient for Authorized {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        // A token is sent to the origin that it was issued for, and to no other.
        if !same_origin(request.uri(), &self.session.uri) {
            return self.client.send(request);
        }
        let this = self.clone();
        Box::pin(async move { this.deliver(request).await })
    }

    fn is_held_up(&self) -> bool {
        self.session.is_held_up() || self.client.is_held_up()
    }
}

impl Authorized {
    /// The number of tokens obtained for one request: refreshed, granted, and granted with more scopes.
    const MOST: usize = 3;

    async fn deliver(&self, request: Request<Bytes>) -> Result<Response<Body>, Error> {
        let (head, body) = request.into_parts();
        let (mut tokens, mut granted, mut nonces) = (0, false, 0);
        loop {
            let (number, login) = self.session.current().await?;
            let mut attempt = Request::from_parts(head.clone(), body.clone());
            if let Some(login) = &login {
                self.sign(&mut attempt, login)?;
            }
            let response = self.client.send(attempt).await?;
            self.session.nonces.note(&head.uri, response.headers());
            let step_up = match response.status() {
                StatusCode::UNAUTHORIZED => false,
                StatusCode::FORBIDDEN => true,
                _ => return Ok(response),
            };
            let challenge = Challenge::read(response.headers());
            let bound = login.as_ref().is_some_and(|l| l.key.is_some());
            if !step_up && bound && challenge.wants_nonce() && nonces < 2 {
                nonces += 1;
                continue;
            }
            let helps = if step_up { wants_more(&challenge, login.as_deref()) } else { !granted && !challenge.foreign };
            // The end of a session is not worth a login.
            if !helps || tokens == Self::MOST || head.method == Method::DELETE {
                return Ok(response);
            }
            drop(response);
            tokens += 1;
            let may_refresh = !step_up && tokens == 1;
            let cause = Cause::Refused { challenge, headers: spoken(&head.headers), may_refresh };
            granted |= self.session.renew(number, cause).await? == How::Granted && !step_up;
        }
    }

    fn sign(&self, request: &mut Request<Bytes>, login: &Login) -> Result<(), Error> {
        let scheme = match &login.key {
            None => "Bearer",
            Some(bound) => {
                let token = Some(login.access.reveal());
                let proof = self.session.nonces.proof(&bound.key, request.method(), request.uri(), token)?;
                request.headers_mut().insert(dpop::PROOF, proof);
                "DPoP"
            }
        };
        let text = Secret::new(format!("{scheme} {}", login.access.reveal()));
        let value = HeaderValue::from_str(text.reveal());
        let mut value = value.map_err(|_| Error::new(ErrorKind::Auth, "the token cannot be sent as a header"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(())
    }
}

/// Whether a token with more scopes may help: not if they were requested before.
fn wants_more(challenge: &Challenge, login: Option<&Login>) -> bool {
    let asked = |scope| login.is_some_and(|login| login.asked.contains(scope));
    challenge.wants_more_scope() && !challenge.scope.iter().all(asked)
}

/// The headers for discovery requests: the protocol version.
fn spoken(headers: &HeaderMap) -> HeaderMap {
    let name = HeaderName::from_static(PROTOCOL_VERSION);
    headers.get(&name).cloned().map(|value| (name, value)).into_iter().collect()
}
