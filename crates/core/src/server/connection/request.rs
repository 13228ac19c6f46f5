//! From a request to the call of the service, in either era.

use std::{borrow::Cow, sync::Arc};

use couplet_types::{ProgressToken, RequestId, RequestMethod, RpcError};

use super::{CallJob, ServerConnection};
use crate::{
    message::{Malformed, Params},
    server::{
        backchannel::Back,
        batch::Batch,
        input::Inputs,
        outbox::{LogGate, Outbox},
        running::BoxFuture,
        session::{Answer, Session},
    },
    service::{Call, Description, Peer, Reply, ResultBody},
    wire::{
        legacy, method,
        modern::{self, Checked, Lifted},
        revision::Revision,
    },
};

/// A request as it was received.
pub(super) struct Incoming {
    pub(super) id: RequestId,
    pub(super) method: Cow<'static, str>,
    pub(super) params: Params,
}

/// What a request leads to.
enum Next {
    /// An answer from the connection itself.
    Answer(Revision, ResultBody),
    /// An answer from the service, without a call.
    Later(Revision, BoxFuture<'static, Reply>),
    /// A subscription, which is open now.
    Listening,
    /// A call of the service.
    Call(Origin),
}

/// What the service must know of a request beyond the request itself.
struct Origin {
    revision: Revision,
    peer: Arc<Peer>,
    token: Option<ProgressToken>,
    level: LogGate,
    inputs: Inputs,
    asks: bool,
}

impl ServerConnection {
    pub(super) fn request(&mut self, request: Incoming, batch: Option<Batch>, checked: Option<Checked>) {
        let id = &request.id;
        if self.requests.contains_key(id) {
            // An answer to this id would be taken for the answer to the request that runs.
            let error = RpcError::invalid_request(format!("request id `{id}` is already in use"));
            return self.reject(&Malformed::new(None, error), batch.as_ref());
        }
        if let Some(batch) = &batch {
            batch.includes(id);
        }
        let about = self.service.describe();
        let next = match modern::marked(&request.params) {
            Some(meta) => self.stateless(&request, meta, &about, checked),
            None => self.in_session(&request, &about),
        };
        match next {
            Ok(Next::Call(origin)) => self.call(request, origin, batch),
            Ok(Next::Answer(revision, body)) => {
                self.answer(revision, request.id, &Reply::Complete(body), batch.as_ref());
            }
            Ok(Next::Later(revision, work)) => {
                let outbox = Outbox::new(self.queue.clone(), request.id.clone(), revision, None, LogGate::Closed);
                self.work(CallJob { id: request.id, revision, outbox, batch, asks: false }, work);
            }
            Ok(Next::Listening) => {}
            Err(error) => self.refuse(request.id, &error, batch.as_ref()),
        }
    }

    /// Decides about a request that names its revision itself; `checked` if the transport has checked it already.
    #[inline]
    fn stateless(
        &mut self,
        request: &Incoming,
        meta: &Params,
        about: &Description,
        checked: Option<Checked>,
    ) -> Result<Next, RpcError> {
        let checked = match checked {
            Some(checked) => checked,
            None => Checked::new(&modern::required(Some(meta))?, &request.method, about)?,
        };
        let revision = checked.revision;
        let Lifted { peer, token, log_level, replay } = modern::lift(revision, &request.params, meta, &self.memo)?;
        match checked.request() {
            Some(RequestMethod::Discover) => Ok(Next::Answer(revision, modern::discover(revision, about))),
            Some(RequestMethod::Listen) => {
                self.listen(&request.id, revision, &request.params, &peer, about)?;
                Ok(Next::Listening)
            }
            _ => {
                let logs = about.capabilities.logging.is_some();
                let level = log_level.filter(|_| logs).map_or(LogGate::Closed, LogGate::From);
                let asks = checked.method.is_some_and(|method| method.may_ask);
                let inputs = if asks { Inputs::replay(replay) } else { Inputs::closed() };
                Ok(Next::Call(Origin { revision, peer, token, level, inputs, asks }))
            }
        }
    }

    /// Decides about a request that does not name its revision: the session does.
    #[inline]
    fn in_session(&mut self, request: &Incoming, about: &Description) -> Result<Next, RpcError> {
        let Incoming { id, method, params } = request;
        let known = RequestMethod::from_name(method);
        let session = match (known, &mut self.session) {
            (Some(RequestMethod::Initialize), None) => return self.initialize(params, about),
            (Some(RequestMethod::Initialize), Some(_)) => {
                return Err(RpcError::invalid_request("the session is already initialized"));
            }
            (Some(RequestMethod::Ping), session) => {
                let revision = session.as_ref().map_or_else(Revision::oldest, |s| s.revision);
                return Ok(Next::Answer(revision, ResultBody::empty()));
            }
            (_, None) => return Err(modern::unmarked(method, about)),
            (_, Some(session)) => session,
        };
        let revision = session.revision;
        if let Some(known) = method::served(method, known, revision, about)?
            && let Some(answer) =
                session.answer(known.request, params, &*self.service, self.asker.0.as_deref(), &self.limits)?
        {
            return Ok(match answer {
                Answer::Now(body) => Next::Answer(revision, body),
                Answer::Later(work) => Next::Later(revision, work),
            });
        }
        let back = Back::new(self.queue.clone(), self.questions.clone(), id.clone(), self.limits.questions);
        Ok(Next::Call(Origin {
            revision,
            peer: session.peer.clone(),
            token: legacy::progress_token(params)?,
            level: session.log_gate(about),
            inputs: Inputs::session(back),
            asks: false,
        }))
    }

    fn initialize(&mut self, params: &Params, about: &Description) -> Result<Next, RpcError> {
        let (revision, peer, body) = legacy::initialize(params, about, &self.memo)?;
        self.session = Some(Session::new(revision, peer, self.service.hub()));
        Ok(Next::Answer(revision, body))
    }

    /// Calls the service, in either era.
    #[inline]
    fn call(&mut self, Incoming { id, method, params }: Incoming, origin: Origin, batch: Option<Batch>) {
        let Origin { revision, peer, token, level, inputs, asks } = origin;
        let outbox = Outbox::new(self.queue.clone(), id.clone(), revision, token, level);
        let call = Call::new(method, params, peer, revision, outbox.clone(), inputs, self.asker.clone());
        self.start(CallJob { id, revision, outbox, batch, asks }, call);
    }
}
