//! How a request gets to the replica that owns its session.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use couplet_core::{
    Retry,
    clock::unix_seconds,
    http::{accept, headers},
};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use crate::server::{
    endpoint::Endpoint,
    replica::{
        HEADER, Replicas,
        envelope::{Claimed, Envelope, body_digest, digest, forwarded},
        relay::{Relay, RelayBody},
    },
    request::{admit::Admitted, context::HttpRequest, deadline::within},
    response::{self, Reply},
    session::{
        Wants,
        claim::{Found, There},
        elsewhere,
        live::LiveSession,
        misdirected,
        store::{Node, SessionRecord},
        store_timeout::SharedStore,
    },
    stream::{
        body::{Events, Source},
        open_streams::Held,
    },
};

/// What became of a request that was sent to another replica.
enum Sent {
    /// Its response has begun.
    Answered(Response<Incoming>),
    /// It was not handled: it may be sent elsewhere.
    Refused,
    /// It was not handled: another process has the address of the owner, whose process is gone.
    Succeeded,
    /// It may have been handled.
    Unknown,
}

impl Endpoint {
    /// Sends a request to the owner of its session. If the owner is gone, or does not own the session any more, the store is
    /// asked for another one, and then the session is claimed. If it is not known whether the owner has handled the request,
    /// it is repeated only where it may be. What wants no response is left in the store for an owner that cannot be reached.
    ///
    /// # Errors
    /// The response of the owner, or why there is none.
    pub(crate) async fn reach(
        &self,
        mut there: Box<There>,
        body: &Bytes,
        wants: Wants,
        admitted: Admitted,
    ) -> Result<(Arc<LiveSession>, Admitted), Box<Reply>> {
        const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
        /// The session may move while it is looked for.
        const ATTEMPTS: usize = 3;
        if admitted.forwarded.is_some() {
            return Err(misdirected().into());
        }
        let (Some(replicas), Some(shared)) = (&self.config.replicas, &self.config.shared) else {
            return Err(elsewhere().into());
        };
        let Some(request) = admitted.context.clone() else { return Err(elsewhere().into()) };
        for _ in 0..ATTEMPTS {
            let sent = match self.send(replicas, &there.owner, &there.id, &request, body, &admitted).await? {
                // It shuts down, or has no room at the moment.
                Sent::Answered(reply) if wants == Wants::Delivery && reply.status() == UNAVAILABLE => Sent::Refused,
                sent => sent,
            };
            let is_owner = match &sent {
                Sent::Answered(reply) => {
                    // A replica that shuts down closes its connections, and is not the owner for much longer.
                    let closes = reply.headers().get(header::CONNECTION).is_some_and(|value| value == "close");
                    reply.status().is_success() && request.method != Method::DELETE && !closes
                }
                Sent::Refused | Sent::Succeeded | Sent::Unknown => false,
            };
            let is_succeeded = matches!(sent, Sent::Succeeded);
            self.note_owner(&there, admitted.principal(), is_owner);
            match sent {
                Sent::Answered(reply) => {
                    drop(request);
                    return Err(self.relay(reply, admitted).await.into());
                }
                Sent::Unknown if wants == Wants::Response(Retry::Never) => return Err(unknown().into()),
                Sent::Refused | Sent::Succeeded | Sent::Unknown => {}
            }
            let found = match &there.record {
                Some(record) if is_succeeded => self.claim_from(shared, record, &there.owner).await?,
                // One without a URL does not look for messages.
                Some(_) if wants == Wants::Delivery && there.owner.url.is_some() => {
                    let envelope = self.envelope(replicas, &there.owner, &there.id, &request, body, &admitted)?;
                    if self.leave(replicas, shared, &there.owner, &envelope, body).await? {
                        return Err(response::empty(StatusCode::ACCEPTED).into());
                    }
                    self.look_up(shared, &there.id, admitted.principal()).await?
                }
                Some(record) => self.claim_unreachable(shared, record, &there.owner).await?,
                None => self.look_up(shared, &there.id, admitted.principal()).await?,
            };
            match found {
                Found::Here(live) => {
                    drop(request);
                    return Ok((live, admitted));
                }
                Found::There(other) if other.owner == there.owner && there.record.is_some() => break,
                Found::There(other) => there = other,
            }
        }
        Err(elsewhere().into())
    }

    /// Claims a session whose owner cannot be reached. One that shuts down has closed its listener, and releases the session
    /// in a moment.
    async fn claim_unreachable(
        &self,
        shared: &SharedStore,
        record: &SessionRecord,
        owner: &Node,
    ) -> Result<Found, Box<Reply>> {
        const MOMENT: Duration = Duration::from_millis(250);
        match self.claim(shared, record).await? {
            Found::There(other) if other.owner == *owner => {
                tokio::time::sleep(MOMENT).await;
                self.claim(shared, record).await
            }
            found => Ok(found),
        }
    }

    async fn send(
        &self,
        replicas: &Replicas,
        owner: &Node,
        session: &str,
        request: &HttpRequest,
        body: &Bytes,
        admitted: &Admitted,
    ) -> Result<Sent, Box<Reply>> {
        let Some(url) = &owner.url else { return Ok(Sent::Refused) };
        let envelope = self.envelope(replicas, owner, session, request, body, admitted)?;
        let Some(outgoing) = outgoing(replicas, url, request, &envelope, body) else { return Err(unsendable()) };
        let limits = &self.config.limits;
        // A call without a response for that long begins its stream.
        let sent = within(limits.keep_alive + limits.stall, pin!(replicas.client.request(outgoing))).await;
        Ok(match sent {
            Some(Ok(reply)) if reply.status() == StatusCode::MISDIRECTED_REQUEST => {
                let proof = reply.headers().get(HEADER).map(HeaderValue::as_bytes);
                match proof.is_some_and(|proof| replicas.replica.proves_succession(proof, &envelope)) {
                    true => Sent::Succeeded,
                    false => Sent::Refused,
                }
            }
            Some(Ok(reply)) => Sent::Answered(reply),
            Some(Err(error)) if error.is_connect() => {
                tracing::warn!(%error, "the owner of a session cannot be reached");
                Sent::Refused
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "the owner of a session has not answered");
                Sent::Unknown
            }
            None => Sent::Unknown,
        })
    }

    /// The envelope of a request for the owner of its session.
    fn envelope(
        &self,
        replicas: &Replicas,
        owner: &Node,
        session: &str,
        request: &HttpRequest,
        body: &Bytes,
        admitted: &Admitted,
    ) -> Result<Envelope, Box<Reply>> {
        let caller = match &admitted.caller {
            None => None,
            Some(caller) => Some(Claimed::of(caller, &replicas.claims).ok_or_else(unsendable)?),
        };
        let mut nonce = [0; 16];
        let fields = forwarded(&request.headers);
        Ok(Envelope {
            time: unix_seconds(),
            nonce: getrandom::fill(&mut nonce).map(|()| nonce).map_err(|_| Box::new(elsewhere()))?,
            to: owner.id.clone(),
            method: request.method.as_str().to_owned(),
            target: request.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned(),
            session: session.to_owned(),
            fields_digest: digest(&request.headers, &fields),
            fields,
            body_digest: body_digest(body),
            remote: request.remote_addr(),
            client: request.client_ip(),
            caller,
        })
    }

    /// Passes on the response of another replica: a stream as it comes, a message as a whole.
    async fn relay(&self, reply: Response<Incoming>, admitted: Admitted) -> Reply {
        let (parts, body) = reply.into_parts();
        let is_stream = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == accept::EVENTS);
        let mut reply = if is_stream {
            let (body, limits) = (RelayBody::new(body), &self.config.limits);
            let held: Arc<dyn Held> = body.clone();
            let ticket = match self.ticket(&held, admitted.caller.as_ref()) {
                Ok(ticket) => ticket,
                Err(refused) => return *refused,
            };
            let is_get = admitted.context.as_ref().is_some_and(|request| request.method == Method::GET);
            let relay = Relay::new(body, is_get, admitted);
            // The other side sends signs of life; without them it is gone.
            response::events(Events::new(Source::Relay(relay), ticket, limits.keep_alive + limits.stall))
        } else {
            let most = self.config.connection.sent.unwrap_or(self.config.connection.message);
            match within(self.config.limits.stall, pin!(collect(body, most))).await.flatten() {
                Some(text) if text.is_empty() => response::empty(parts.status),
                Some(text) => response::json(parts.status, text),
                None => return unknown(),
            }
        };
        *reply.status_mut() = parts.status;
        for name in [header::CONTENT_TYPE, header::RETRY_AFTER, header::ALLOW, header::WWW_AUTHENTICATE] {
            if let Some(value) = parts.headers.get(&name) {
                reply.headers_mut().insert(name, value.clone());
            }
        }
        if let Some(session) = parts.headers.get(headers::SESSION) {
            reply.headers_mut().insert(headers::SESSION, session.clone());
        }
        reply
    }
}

/// The request as it is sent.
fn outgoing(
    replicas: &Replicas,
    url: &str,
    request: &HttpRequest,
    envelope: &Envelope,
    body: &Bytes,
) -> Option<Request<Full<Bytes>>> {
    let mut outgoing = Request::builder().method(request.method.clone()).uri(url).body(Full::new(body.clone())).ok()?;
    for name in &envelope.fields {
        for value in request.headers.get_all(name) {
            outgoing.headers_mut().append(http::HeaderName::from_bytes(name.as_bytes()).ok()?, value.clone());
        }
    }
    let mut sealed = HeaderValue::try_from(replicas.replica.seal(envelope)?).ok()?;
    sealed.set_sensitive(true);
    outgoing.headers_mut().insert(HEADER, sealed);
    Some(outgoing)
}

/// A whole body; nothing if it broke or is too large.
async fn collect(mut body: Incoming, most: usize) -> Option<Bytes> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        if all.len() + data.len() > most {
            return None;
        }
        all.extend_from_slice(&data);
    }
    Some(all.freeze())
}

/// The owner may have handled the request, and there is no response.
fn unknown() -> Reply {
    let what = "the replica that owns the session has not answered; the outcome of the request is not known";
    response::error(StatusCode::SERVICE_UNAVAILABLE, what)
}

fn unsendable() -> Box<Reply> {
    tracing::error!("a request cannot be forwarded: name the type of the caller's claims with `Replica::claims`");
    Box::new(response::error(StatusCode::INTERNAL_SERVER_ERROR, "the request cannot be forwarded to its session"))
}
