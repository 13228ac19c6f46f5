//! The messages of a server on their way to a caller of the view.

use std::sync::{Arc, Weak};

use couplet_client::Elicitation;
use couplet_core::{
    BoxFuture, Call, Change, ExtensionEvent, JsonText, Relay, TaskIds, Topic, message::Params, visible,
};
use couplet_proxy::Hooks;
use couplet_types::{
    Elicit, InputRequest, Notification, PromptListChanged, RawJson, Request, ResourceListChanged, ResourceUpdated,
    RpcError, ToolListChanged,
};

use crate::{
    names::ServerId,
    service::{
        ViewInner,
        requested::{Requested, can_ask, refused},
    },
};

/// The member of `_meta` that names the server which sends a request.
pub(crate) const SERVER: &str = "dev.couplet/server";

/// The member of a subscription filter that selects tasks.
const TASKS: &str = "taskIds";

/// The hooks for one server in one view.
pub(crate) struct ServerHooks {
    pub(crate) view: Weak<ViewInner>,
    pub(crate) server: ServerId,
    /// Whether the view decides about requests when the server has ended its round.
    pub(crate) defers: bool,
}

impl Hooks for ServerHooks {
    fn input_request<'a>(
        &'a self,
        call: &'a Call,
        request: InputRequest,
    ) -> BoxFuture<'a, Result<InputRequest, RpcError>> {
        Box::pin(async move {
            let view = self.view.upgrade().ok_or_else(refused)?;
            if !(self.defers && can_ask(call)) {
                let snapshot = view.snapshot();
                Requested { snapshot: &snapshot, server: &self.server, call, request: &request }.permit().await?;
            }
            self.decorated(&view, call, request)
        })
    }

    fn notification(&self, principal: Option<&str>, method: &str, params: JsonText) -> Option<JsonText> {
        let view = self.view.upgrade()?;
        match method {
            // The view notifies of its own lists.
            ToolListChanged::METHOD | PromptListChanged::METHOD | ResourceListChanged::METHOD => None,
            ResourceUpdated::METHOD => {
                let members = Params::from_text(params.clone()).ok()?;
                let uri = members.read_str("uri").ok()??;
                view.owns(&self.server, &uri).then_some(params)
            }
            _ => Some(TaskIds::map_params(params, &|id| view.seals.task(principal, &self.server, id))),
        }
    }
}

impl ServerHooks {
    /// The request with the id of the server that sends it, which the person who answers must be able to see.
    fn decorated(&self, view: &ViewInner, call: &Call, request: InputRequest) -> Result<InputRequest, RpcError> {
        let unreadable = |fault: couplet_core::Fault| RpcError::invalid_params(fault.to_string());
        let text = request.params.as_ref().map_or_else(JsonText::empty_object, JsonText::from);
        let text = TaskIds::map_params(text, &|id| view.seals.task(call.principal(), &self.server, id));
        let mut params = Params::from_text(text).map_err(unreadable)?;
        let meta = params.get("_meta").unwrap_or_else(JsonText::empty_object);
        let meta = Params::from_text(meta).map_err(unreadable)?;
        let meta = meta.with(SERVER, &JsonText::string(self.server.as_str())).map_err(unreadable)?;
        params = params.with("_meta", meta.text()).map_err(unreadable)?;
        if request.method == Elicit::METHOD && view.shows_ids() {
            let message = params.read_str("message")?.unwrap_or_default();
            // Not every client shows the page that opens, and the server writes the text.
            let host = request.parse::<Elicit>().ok().map(Elicitation::new);
            let host = host.as_ref().and_then(Elicitation::url_host).map(|host| format!(" ({})", visible(host)));
            let message = format!("{}{}: {message}", self.server, host.unwrap_or_default());
            let message = JsonText::string(&message);
            params = params.with("message", &message).map_err(unreadable)?;
        }
        let params: RawJson = params.text().to_raw();
        Ok(InputRequest::raw(request.method, params))
    }
}

/// Changes of a server, of which only those of resources that it owns reach clients of the view.
pub(crate) struct Owned {
    pub(crate) view: Weak<ViewInner>,
    pub(crate) server: ServerId,
}

impl Owned {
    fn owns(&self, uri: &str) -> bool {
        self.view.upgrade().is_some_and(|view: Arc<ViewInner>| view.owns(&self.server, uri))
    }
}

impl Owned {
    /// A notification about a task, with the id that its principal knows. That a task requires input is not said: its
    /// caller finds the requests in `tasks/get`, where they pass the rules.
    fn task_changed(&self, event: &ExtensionEvent) -> Option<Change> {
        let view = self.view.upgrade()?;
        let map = |id: &str| view.seals.task(event.principal.as_deref(), &self.server, id);
        let params = TaskIds::map_params(JsonText::from(&event.params), &map);
        let mut params = Params::from_text(params).ok()?;
        if params.has("inputRequests") {
            params = params.without("inputRequests").ok()?.with("status", &JsonText::string("working")).ok()?;
        }
        let sealed = ExtensionEvent::new(TASKS, map(&event.topic.1), event.method.as_str(), params.text().to_raw());
        Some(sealed.for_principal(event.principal.clone()).into())
    }
}

impl Relay for Owned {
    fn outward(&self, change: &Change) -> Option<Change> {
        match change {
            Change::Updated(uri) if self.owns(uri) => Some(change.clone()),
            Change::Extension(event) if event.topic.0 == TASKS => self.task_changed(event),
            _ => None,
        }
    }

    fn inward(&self, uri: &str) -> Option<String> {
        self.owns(uri).then(|| uri.to_owned())
    }

    fn inward_topic(&self, topic: &Topic) -> Option<Topic> {
        let view = self.view.upgrade().filter(|_| topic.member == TASKS)?;
        let task = view.seals.open_task(topic.principal.as_deref(), &topic.key)?;
        let own = Topic::new(TASKS, task.id).for_principal(topic.principal.clone());
        (task.server == self.server.as_str()).then_some(own)
    }
}
