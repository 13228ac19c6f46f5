//! Requests that another replica has forwarded.

use std::sync::{Arc, atomic::Ordering};

use couplet_core::clock::unix_seconds;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::server::{
    endpoint::Endpoint,
    lock,
    replica::{
        HEADER, Replicas,
        envelope::{Envelope, body_digest},
        nonces::Nonce,
    },
    request::{access_log::Access, context::HttpRequest, text_of},
    response::{self, Reply},
    session::{misdirected, store::Node, store_timeout::SharedStore},
};

/// The digest of the body of a forwarded request.
#[derive(Clone, Debug)]
pub(crate) struct Forwarded(Box<[u8; 32]>);

impl Forwarded {
    /// Whether the body is the one that was forwarded.
    pub(crate) fn is_of(&self, body: &[u8]) -> bool {
        body_digest(body) == *self.0
    }
}

impl Endpoint {
    /// Returns the state of forwarding, if the request says that another replica has forwarded it.
    pub(crate) fn forwards(&self, headers: &HeaderMap) -> Option<&Arc<Replicas>> {
        self.config.replicas.as_ref().filter(|_| headers.contains_key(HEADER))
    }

    /// Answers a request that another replica has forwarded: it has checked the host and authorized the caller.
    pub(crate) async fn answer_forwarded<B>(&self, replicas: &Replicas, request: Arc<HttpRequest>, body: B) -> Reply
    where
        B: http_body::Body,
    {
        let mut access = Access::begin(&request.method, &request.uri, request.client_ip());
        let mut reply = match self.verify(replicas, &request) {
            Ok(envelope) => self.respond_forwarded(replicas, envelope, &request, body, &mut access).await,
            Err(refused) => *refused,
        };
        self.hold(&mut reply, request.version);
        if let Some(access) = access {
            access.ends_with(&mut reply);
        }
        reply
    }

    fn verify(&self, replicas: &Replicas, request: &HttpRequest) -> Result<Envelope, Box<Reply>> {
        let refuse = |why: &str| {
            tracing::warn!(why, "a request that claims to be of another replica is refused");
            Box::new(response::error(StatusCode::FORBIDDEN, "the request is not one of another replica"))
        };
        let (mut values, now) = (request.headers.get_all(HEADER).iter(), unix_seconds());
        let (Some(value), None) = (values.next(), values.next()) else { return Err(refuse("repeated")) };
        let envelope = replicas.replica.open(value.as_bytes(), now).map_err(|why| refuse(&format!("{why:?}")))?;
        let session = text_of(&request.headers, couplet_core::http::headers::SESSION);
        if !envelope.is_of(&request.method, session, &request.headers) {
            return Err(refuse("another request"));
        }
        // The sender may have meant an earlier process at this address.
        if self.config.shared.as_ref().is_none_or(|shared| shared.node.id != envelope.to) {
            return Err(Box::new(self.addressed_to_another(replicas, &envelope)));
        }
        match lock(&replicas.nonces).take(envelope.nonce, now) {
            Nonce::Fresh => Ok(envelope),
            Nonce::Used => Err(refuse("replayed")),
            Nonce::Full => {
                let what = "there are too many forwarded requests";
                Err(Box::new(response::busy(StatusCode::SERVICE_UNAVAILABLE, what)))
            }
        }
    }

    /// Answers a request for another process at this address.
    fn addressed_to_another(&self, replicas: &Replicas, envelope: &Envelope) -> Reply {
        let mut reply = misdirected();
        if !replicas.has_predecessor(self.config.limits.session_lease) {
            let url = &*replicas.replica.url;
            tracing::warn!(
                url,
                "another process owns sessions with the URL of this replica: each needs one of its own"
            );
        } else if let Some(Ok(proof)) = replicas.replica.prove_succession(envelope).map(HeaderValue::try_from) {
            reply.headers_mut().insert(HEADER, proof);
        }
        reply
    }

    /// Whether this replica has taken the place of the owner of a session, whose process is gone.
    pub(crate) fn succeeds(&self, shared: &SharedStore, owner: &Node) -> bool {
        let has_predecessor = |replicas: &Arc<Replicas>| replicas.has_predecessor(self.config.limits.session_lease);
        self.config.replicas.as_ref().is_some_and(has_predecessor) && owner.url == shared.node.url
    }

    /// Whether this replica shuts down, and does not own a session any more.
    fn has_left(&self, session: &str) -> bool {
        self.state.closing.load(Ordering::Acquire) && self.state.sessions.get(session).is_none()
    }

    async fn respond_forwarded<B>(
        &self,
        replicas: &Replicas,
        envelope: Envelope,
        request: &HttpRequest,
        body: B,
        access: &mut Option<Box<Access>>,
    ) -> Reply
    where
        B: http_body::Body,
    {
        let slot = match self.enter(&request.method) {
            Ok(slot) => slot,
            // The sender remembers who the owner was, and this replica has released the session meanwhile.
            Err(_) if self.has_left(&envelope.session) => return misdirected(),
            Err(refused) => return *refused,
        };
        let caller = match envelope.caller {
            None => None,
            Some(claimed) => match claimed.caller(&replicas.claims) {
                Some(caller) => Some(Arc::new(caller)),
                None => {
                    tracing::error!(
                        "the claims of a forwarded caller have a type that neither the authorizer nor `Replica::claims` names"
                    );
                    return response::error(StatusCode::INTERNAL_SERVER_ERROR, "the caller is not understood here");
                }
            },
        };
        if let Some(access) = access {
            access.by(caller.as_ref().map(|caller| caller.principal()));
        }
        let Some(request) = request.forwarded(&envelope.target, &envelope.fields, (envelope.remote, envelope.client))
        else {
            return response::error(StatusCode::BAD_REQUEST, "the target of the forwarded request is malformed");
        };
        // The replica that the client has reached counts it for the client's address.
        match self.admit(slot, caller, None) {
            Ok(mut admitted) => {
                admitted.forwarded = Some(Forwarded(Box::new(envelope.body_digest)));
                self.dispatch(Arc::new(request), body, admitted, access).await
            }
            Err(refused) => *refused,
        }
    }
}
