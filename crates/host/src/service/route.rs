//! Which server a call goes to.

use std::sync::Arc;

use couplet_core::{BoxFuture, Call, JsonText, Reply, message::Params};
use couplet_types::RpcError;

use crate::{
    names::Kind,
    policy::{Door, Effects, Labels},
    service::{
        View,
        hidden::RefusalReason,
        run::{Aim, Flight, Goal},
        snapshot::Snapshot,
    },
};

impl View {
    pub(crate) fn listed(self, call: Call, kind: Kind) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            self.await_catalogs().await;
            self.report_blocked(&call, kind).await;
            self.list(&call, kind)
        })
    }

    /// A call of a tool, or a request for a prompt.
    pub(crate) async fn named(self, mut call: Call, kind: Kind) -> Reply {
        let name = match call.params.read_str("name") {
            Ok(Some(name)) => name,
            Ok(None) => return RpcError::invalid_params("`name` is missing").into(),
            Err(error) => return error.into(),
        };
        let door = if kind == Kind::Prompt { Door::Get } else { Door::Call };
        let (current, settled);
        current = self.snapshot();
        let (snapshot, entry) = match current.named(kind, &name) {
            Some(entry) => (&current, entry),
            None => {
                settled = Box::pin(self.settled()).await;
                match settled.named(kind, &name) {
                    Some(entry) => (&settled, entry),
                    None => return Box::pin(self.unknown(&settled, &call, door, (kind, &name))).await,
                }
            }
        };
        let item = &entry.value;
        let goal = Goal { exposed: entry.name.clone(), item: item.into(), door, splice: true };
        let flight = Flight { view: &self, snapshot, goal: &goal };
        if let Some(changes) = &item.changes {
            match changes.arguments(&call) {
                Ok(Some(params)) => call.params = params,
                Ok(None) => {}
                Err(what) => {
                    let reply = Reply::wrong_arguments(&call, what);
                    return Box::pin(flight.refused(&call, RefusalReason::Profile, reply)).await;
                }
            }
        }
        let reply = flight.run(call).await;
        match &item.changes {
            Some(changes) => changes.reply(reply),
            None => reply,
        }
    }

    pub(crate) async fn read(self, call: Call) -> Reply {
        let uri = match call.params.read::<String>("uri") {
            Ok(uri) => uri,
            Err(error) => return error.into(),
        };
        let mut snapshot = self.snapshot();
        if snapshot.owner(&uri).is_none() {
            snapshot = Box::pin(self.settled()).await;
        }
        let door = self.read_door(&snapshot, &call, &uri);
        let Some(goal) = Goal::resource(&snapshot, &uri, door) else {
            return Box::pin(self.not_found(&snapshot, &call, door, &uri)).await;
        };
        Flight { view: &self, snapshot: &snapshot, goal: &goal }.run(call).await
    }

    /// A completion, which goes to the server of the prompt or template.
    pub(crate) async fn complete(self, mut call: Call) -> Reply {
        let target = match call.params.read_opt::<Reference>("ref") {
            Ok(Some(target)) => target,
            Ok(None) => return RpcError::invalid_params("`ref` is missing").into(),
            Err(error) => return error.into(),
        };
        let mut snapshot = self.snapshot();
        if target.goal(&snapshot).is_none() {
            snapshot = Box::pin(self.settled()).await;
        }
        let Some(goal) = target.goal(&snapshot) else {
            return match target {
                Reference { name: Some(name), .. } => {
                    self.unknown(&snapshot, &call, Door::Complete, (Kind::Prompt, &name)).await
                }
                Reference { uri: Some(uri), .. } => self.not_found(&snapshot, &call, Door::Complete, &uri).await,
                Reference { .. } => RpcError::invalid_params("`ref` needs a `name` or a `uri`").into(),
            };
        };
        if goal.item.kind == Kind::Prompt
            && let Some(params) = renamed(&call.params, &goal.item.raw)
        {
            call.params = params;
        }
        Flight { view: &self, snapshot: &snapshot, goal: &goal }.run(call).await
    }

    /// A request of an extension: about a task, or to the only server.
    pub(crate) async fn extension(self, call: Call) -> Reply {
        if call.method.starts_with("tasks/") {
            return self.task(call).await;
        }
        let snapshot = self.snapshot();
        if snapshot.members.len() != 1 {
            return RpcError::method_not_found(&call.method).into();
        }
        let raw: Arc<str> = (&*call.method).into();
        let exposed = raw.clone();
        let (effects, labels) = (Effects::STRICTEST, Labels::NONE);
        let item = Aim { member: 0, kind: Kind::Tool, raw, effects, labels, definition: None, template: None };
        let goal = Goal { exposed, item, door: Door::Call, splice: false };
        Flight { view: &self, snapshot: &snapshot, goal: &goal }.run(call).await
    }

    /// The tables of the view with what each server has: one that was never listed is waited for, once.
    async fn settled(&self) -> Arc<Snapshot> {
        self.await_catalogs().await;
        self.snapshot()
    }

    /// The error for a name that does not exist, which is also the error for one that the caller may not use.
    async fn unknown(&self, snapshot: &Snapshot, call: &Call, door: Door, (kind, name): (Kind, &str)) -> Reply {
        self.report_call_of_blocked(snapshot, call, kind, name).await;
        self.hidden(snapshot, call, door, (kind, name), absent(kind, name)).await
    }

    /// The same for a URI.
    async fn not_found(&self, snapshot: &Snapshot, call: &Call, door: Door, uri: &str) -> Reply {
        let reply = call.revision.resource_not_found(uri).into();
        self.hidden(snapshot, call, door, (Kind::Resource, uri), reply).await
    }
}

/// The error for a tool or prompt that does not exist.
pub(crate) fn absent(kind: Kind, name: &str) -> Reply {
    let name: String = name.chars().take(200).collect();
    RpcError::invalid_params(format!("there is no {} `{name}`", kind.as_str())).into()
}

/// The target of a completion.
#[derive(serde::Deserialize)]
struct Reference {
    name: Option<String>,
    uri: Option<String>,
}

impl Reference {
    /// The prompt, the template, or else the resource.
    fn goal(&self, snapshot: &Snapshot) -> Option<Goal> {
        if let Some(name) = &self.name {
            let entry = snapshot.prompts.get(name)?;
            let (exposed, item) = (entry.name.clone(), (&entry.value).into());
            return Some(Goal { exposed, item, door: Door::Complete, splice: false });
        }
        let uri = self.uri.as_deref()?;
        match snapshot.templates.iter().find(|template| &*template.raw == uri) {
            Some(template) => {
                let (exposed, item) = (template.raw.clone(), template.into());
                Some(Goal { exposed, item, door: Door::Complete, splice: false })
            }
            None => Goal::resource(snapshot, uri, Door::Complete),
        }
    }
}

/// The parameters of a completion with the server's own name of the prompt.
fn renamed(params: &Params, raw: &str) -> Option<Params> {
    let target = Params::from_text(params.get("ref")?).ok()?;
    let target = target.with("name", &JsonText::string(raw)).ok()?;
    params.with("ref", target.text()).ok()
}
