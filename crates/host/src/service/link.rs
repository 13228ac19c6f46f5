//! The messages of a server on their way to a caller of the view.

use std::sync::{Arc, Weak};

use couplet_core::{BoxFuture, Call, Change, ExtensionEvent, JsonText, Relay, TaskIds, Topic, message::Params};
use couplet_proxy::Hooks;
use couplet_types::{
    CreateMessage, Elicit, InputRequest, ListRoots, Notification, PromptListChanged, RawJson, Request,
    ResourceListChanged, ResourceUpdated, RpcError, ToolListChanged,
};

use crate::{names::ServerId, policy::Door, service::ViewInner};

/// The member of `_meta` that names the server which sends a request.
pub(crate) const SERVER: &str = "dev.couplet/server";

/// The member of a subscription filter that selects tasks.
const TASKS: &str = "taskIds";

/// The hooks for one server in one view.
pub(crate) struct ServerHooks {
    pub(crate) view: Weak<ViewInner>,
    pub(crate) server: ServerId,
}

impl Hooks for ServerHooks {
    fn input_request<'a>(
        &'a self,
        call: &'a Call,
        request: InputRequest,
    ) -> BoxFuture<'a, Result<InputRequest, RpcError>> {
        Box::pin(async move {
            let view = self.view.upgrade().ok_or_else(refused)?;
            let door = match &*request.method {
                Elicit::METHOD => Door::Elicitation,
                CreateMessage::METHOD => Door::Sampling,
                ListRoots::METHOD => Door::Roots,
                method => return Err(RpcError::method_not_found(method)),
            };
            if !view.permits_request(&self.server, call, door) {
                return Err(refused());
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
            let message = JsonText::string(&format!("{}: {message}", self.server));
            params = params.with("message", &message).map_err(unreadable)?;
        }
        let params: RawJson = params.text().to_raw();
        Ok(InputRequest::raw(request.method, params))
    }
}

fn refused() -> RpcError {
    RpcError::new(couplet_types::code::METHOD_NOT_FOUND, "the client does not accept this request")
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
