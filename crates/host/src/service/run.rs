//! One call at its server.

use std::sync::Arc;

use couplet_core::{Call, ErrorKind, Inputs, JsonText, Reply, TaskIds, clock::unix_seconds};
use couplet_types::RpcError;

use crate::{
    catalog::Definition,
    names::Kind,
    pins::Digest,
    policy::{Door, Effects, Labels},
    service::{
        View,
        gate::{AdmittedCall, End, Stage},
        hidden::RefusalReason,
        item::ViewItem,
        member::Member,
        requested::Round,
        route::absent,
        seals::{RoundTarget, Seals},
        snapshot::Snapshot,
        tasks,
    },
};

/// The target of a call.
pub(crate) struct Goal {
    /// The name or URI that the client used.
    pub(crate) exposed: Arc<str>,
    pub(crate) item: Aim,
    pub(crate) door: Door,
    /// Whether the server's own name replaces the exposed one in the parameters.
    pub(crate) splice: bool,
}

/// The tool, prompt or resource that a call is for.
pub(crate) struct Aim {
    pub(crate) member: usize,
    pub(crate) kind: Kind,
    pub(crate) raw: Arc<str>,
    pub(crate) effects: Effects,
    pub(crate) labels: Labels,
    pub(crate) definition: Option<Definition>,
    /// The template that serves a resource which no server lists.
    pub(crate) template: Option<Arc<str>>,
}

impl From<&ViewItem> for Aim {
    fn from(item: &ViewItem) -> Self {
        let ViewItem { member, kind, raw, effects, labels, definition, .. } = item;
        let definition = Some(definition.clone());
        let (raw, template) = (raw.clone(), None);
        Self { member: *member, kind: *kind, raw, effects: *effects, labels: *labels, definition, template }
    }
}

impl Aim {
    /// The digest of the definition, for records and grants.
    pub(crate) fn digest(&self) -> Option<Digest> {
        Some(self.definition.as_ref()?.fingerprint()?.digest)
    }
}

impl Goal {
    /// A resource, by its URI or its template.
    pub(crate) fn resource(snapshot: &Snapshot, uri: &str, door: Door) -> Option<Self> {
        let item = snapshot.aim(uri)?;
        Some(Self { exposed: uri.into(), item, door, splice: false })
    }

    /// The error for a target that does not exist.
    pub(crate) fn absent(&self, call: &Call) -> Reply {
        match self.item.kind {
            _ if self.door == Door::Task => tasks::unknown(),
            Kind::Tool | Kind::Prompt => absent(self.item.kind, &self.exposed),
            _ => call.revision.resource_not_found(&self.exposed).into(),
        }
    }
}

/// A call on its way. What most calls do not do is boxed, because the future of a call is moved before it runs.
pub(crate) struct Flight<'a> {
    pub(crate) view: &'a View,
    pub(crate) snapshot: &'a Arc<Snapshot>,
    pub(crate) goal: &'a Goal,
}

impl Flight<'_> {
    pub(crate) fn member(&self) -> &Member {
        &self.snapshot.members[self.goal.item.member]
    }

    fn target(&self) -> RoundTarget<'_> {
        RoundTarget { server: self.member().id(), raw: &self.goal.item.raw }
    }

    pub(crate) async fn run(&self, mut call: Call) -> Reply {
        let state = match call.request_state() {
            Ok(state) => state.filter(|state| Seals::is_passed_on(state)),
            Err(error) => return error.into(),
        };
        let Some(sealed) = state else {
            return Inputs::drive(call, &self.member().rounds, unix_seconds, |call| self.decided(call)).await;
        };
        let Some(opened) = self.view.seals().open_state(&call, self.target(), &sealed) else {
            return Box::pin(self.refused(&call, RefusalReason::State, Call::invalid_state().into())).await;
        };
        if let Err(error) = call.set_request_state(opened.state.as_deref()) {
            return error.into();
        }
        // The state was sealed after the call had been admitted, so a person is not asked again.
        match Box::pin(self.check(&call, opened.is_same)).await {
            Ok(admitted) => {
                let reply = Box::pin(self.send(&call, admitted, true)).await;
                Box::pin(self.put_in_round(call, reply)).await
            }
            Err(reply) => reply,
        }
    }

    /// Runs the call, if it may run. The block has the call once, and a function would have it twice: as its parameter, too.
    #[expect(clippy::manual_async_fn, reason = "the future of a call is moved, so its size counts")]
    fn decided(&self, call: Call) -> impl Future<Output = Reply> {
        async move {
            if self.may_resume(&call) {
                return Box::pin(self.resumed(&call)).await;
            }
            let reply = match self.admit(&call).await {
                Ok(admitted) => self.send(&call, admitted, false).await,
                Err(reply) => reply,
            };
            match reply {
                Reply::InputRequired { asks, state } => Box::pin(self.put(&call, Round { asks, state })).await,
                reply => reply,
            }
        }
    }

    /// Sends the call. The requests of a stateless server are as they are: they still have to be decided about.
    pub(crate) async fn send(&self, client: &Call, mut admitted: AdmittedCall, in_round: bool) -> Reply {
        if !admitted.is_recorded().await {
            let error = RpcError::internal("the audit log cannot be written, so no call runs; see the log of the host");
            return Box::pin(admitted.ended(error.into(), End::Refused)).await;
        }
        self.note_flow(client, &admitted);
        let prepared = match self.prepared(client, in_round) {
            Ok(prepared) => prepared,
            Err(error) => return Box::pin(admitted.ended(error.into(), End::Refused)).await,
        };
        let call = prepared.as_ref().unwrap_or(client);
        let mut retries = 1;
        loop {
            admitted.enter(Stage::Queue);
            let running = match self.member().upstream.proxy().await {
                Ok(running) => running,
                Err(error) => {
                    let reply = Reply::Error(error.into());
                    return Box::pin(admitted.ended(reply, End::Unavailable { sent: false })).await;
                }
            };
            let passes_rounds_on = running.proxy().passes_rounds_on(call.revision);
            if in_round && !passes_rounds_on {
                // The server has sessions now, so its state means nothing any more.
                return Box::pin(admitted.ended(Call::invalid_state().into(), End::Refused)).await;
            }
            admitted.enter(Stage::Upstream);
            let link = match passes_rounds_on {
                true => &self.member().link_of_rounds,
                false => &self.member().link,
            };
            let done = running.proxy().forward(call, Some(link)).await;
            let end = match &done {
                Err(error) if error.rpc().is_some() => End::Replied,
                // The connection was lost before the call was sent: its successor can run it.
                Err(error) if error.is_unsent() && error.kind() == ErrorKind::Closed && retries > 0 => {
                    retries -= 1;
                    continue;
                }
                Err(error) if error.is_timeout() => End::Timeout,
                Err(error) => End::Unavailable { sent: !error.is_unsent() },
                Ok(_) => End::Replied,
            };
            admitted.enter(Stage::Host);
            let reply = match running.settle(&client.method, done) {
                reply @ Reply::InputRequired { .. } => reply,
                reply => self.sealed(client, reply),
            };
            self.note_links(client, &reply);
            return admitted.ended(reply, end).await;
        }
    }

    /// The call as the server knows it; `None` if that is the same.
    fn prepared(&self, call: &Call, in_round: bool) -> Result<Option<Call>, RpcError> {
        let mut prepared = None;
        if !in_round && call.request_state()?.is_some() {
            // The state and answers of a round that was not the server's. Answers without a state may be the server's.
            prepared.insert(call.clone()).clear_round()?;
        }
        if self.is_renamed() {
            prepared = Some(self.named(prepared.as_ref().unwrap_or(call))?);
        }
        Ok(prepared)
    }

    fn is_renamed(&self) -> bool {
        self.goal.splice && self.goal.exposed != self.goal.item.raw
    }

    /// The call with the server's own name of the target.
    pub(crate) fn named(&self, call: &Call) -> Result<Call, RpcError> {
        if !self.is_renamed() {
            return Ok(call.clone());
        }
        let params = call.params.with("name", &JsonText::string(&self.goal.item.raw));
        Ok(call.with_params(params.map_err(|fault| RpcError::invalid_params(fault.to_string()))?))
    }

    /// The reply with the ids of the view in place of those of the server.
    pub(crate) fn sealed(&self, call: &Call, reply: Reply) -> Reply {
        let id = self.member().id();
        let map = |task: &str| {
            self.view.inner().tasks.note(id, task, &self.goal.item.raw);
            self.view.seals().task(call.principal(), id, task)
        };
        match reply {
            Reply::InputRequired { asks, state } => {
                match self.view.seals().state(call, self.target(), state.as_deref()) {
                    Ok(state) => Reply::InputRequired { asks, state: Some(state) },
                    Err(error) => error.into(),
                }
            }
            Reply::Extension { kind, done } => Reply::Extension { kind, done: TaskIds::map_result(done, &map) },
            Reply::Complete(done) if self.goal.door == Door::Task || call.params.has("task") => {
                Reply::Complete(TaskIds::map_result(done, &map))
            }
            Reply::Complete(done) => Reply::Complete(self.shared(TaskIds::map_related(done, &map))),
            other => other,
        }
    }

    /// A result that a cache may give to other callers only if the view is the same for all of them.
    fn shared(&self, done: couplet_core::ResultBody) -> couplet_core::ResultBody {
        if self.snapshot.rules.depends_on_principal() { done.private() } else { done }
    }
}
