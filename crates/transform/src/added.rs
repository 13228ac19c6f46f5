//! Tools that are added to a service, and answered with its other methods.

use std::{
    borrow::Cow,
    future::ready,
    sync::{Arc, Mutex},
};

use couplet_core::{
    BoxFuture, Call, Description, IntoService, JsonText, Reply, ResultBody, Sender, Service,
    http::headers::ParamHeader, message::Params, sync::lock,
};
use couplet_types::{
    CallToolResult, ListToolsResult, RawJson, RequestMethod, RpcError, Tool, ToolAnnotations, ToolsCapability, code,
};
use serde_json::json;

use crate::list::{self, TOOLS};

/// A wrapper that adds tools.
pub(crate) trait Added: Clone + Send + Sync + 'static {
    fn base(&self) -> &Base;

    /// The names of the added tools.
    fn names(&self) -> &'static [&'static str];

    /// The added tools.
    fn tools(&self) -> Vec<Tool>;

    /// Whether the tools are added to a service with this description.
    fn is_active(&self, about: &Description) -> bool;

    /// Runs an added tool. The call is none that runs as a task.
    fn run(self, tool: &str, call: Call) -> BoxFuture<'static, Reply>;

    /// The request to the service that a call of an added tool leads to, and that may require scopes.
    fn target(&self, tool: &str, params: &Params) -> Option<(RequestMethod, Params)>;

    /// Lists the tools.
    fn list(self, call: Call) -> BoxFuture<'static, Reply> {
        Box::pin(listed(self, call))
    }
}

/// The service that tools are added to.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) service: Arc<dyn Service>,
    /// The description with the added tools, for as long as that of the service is the same.
    about: Arc<Mutex<Option<Both>>>,
}

impl Base {
    #[track_caller]
    pub(crate) fn new(service: impl IntoService) -> Self {
        Self { service: service.into_service(), about: Arc::default() }
    }
}

struct Both {
    inner: Arc<Description>,
    outer: Arc<Description>,
}

/// Implements [`Wrap`](couplet_core::Wrap) and [`Debug`](std::fmt::Debug) for an [`Added`]: the trait is one of another
/// crate, so all of them cannot have it at once.
macro_rules! wrap_added {
    ($name:ident) => {
        impl ::couplet_core::Wrap for $name {
            fn inner(&self) -> &::std::sync::Arc<dyn ::couplet_core::Service> {
                &$crate::added::Added::base(self).service
            }

            fn describe(&self) -> ::std::sync::Arc<::couplet_core::Description> {
                $crate::added::describe(self)
            }

            fn call(&self, call: ::couplet_core::Call) -> ::couplet_core::BoxFuture<'static, ::couplet_core::Reply> {
                $crate::added::call(self, call)
            }

            fn header_params(
                &self,
                tool: &str,
            ) -> Option<::std::sync::Arc<[::couplet_core::http::headers::ParamHeader]>> {
                $crate::added::header_params(self, tool)
            }

            fn required_scopes(
                &self,
                method: &str,
                params: &::couplet_core::message::Params,
                sender: ::couplet_core::Sender<'_>,
            ) -> Option<::std::sync::Arc<[String]>> {
                $crate::added::required_scopes(self, method, params, sender)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let service = &$crate::added::Added::base(self).service;
                f.debug_struct(stringify!($name)).field("service", service).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use wrap_added;

pub(crate) fn describe(added: &impl Added) -> Arc<Description> {
    let Base { service, about } = added.base();
    let inner = service.describe();
    if let Some(both) = lock(about).as_ref().filter(|both| Arc::ptr_eq(&both.inner, &inner)) {
        return both.outer.clone();
    }
    let outer = Arc::new(with_tools(&inner, added.is_active(&inner)));
    *lock(about) = Some(Both { inner, outer: outer.clone() });
    outer
}

fn with_tools(inner: &Description, has_tools: bool) -> Description {
    let mut capabilities = inner.capabilities.clone();
    if has_tools {
        capabilities.tools.get_or_insert_with(ToolsCapability::new);
    }
    let mut outer = Description::new(inner.info.clone(), capabilities);
    outer.versions.clone_from(&inner.versions);
    outer.instructions.clone_from(&inner.instructions);
    outer.cache = inner.cache.clone();
    outer.extra_methods.clone_from(&inner.extra_methods);
    outer.extensions.clone_from(&inner.extensions);
    outer.show_info = inner.show_info;
    outer
}

pub(crate) fn call<A: Added>(added: &A, call: Call) -> BoxFuture<'static, Reply> {
    match call.known() {
        Some(RequestMethod::ListTools) => added.clone().list(call),
        Some(RequestMethod::CallTool) => match call.tool_name().and_then(|name| find(added, &name)) {
            Some(tool) => match refuse_task(&call, tool) {
                Some(refused) => Box::pin(ready(refused)),
                None => added.clone().run(tool, call),
            },
            None => added.base().service.call(call),
        },
        _ => added.base().service.call(call),
    }
}

pub(crate) fn required_scopes(
    added: &impl Added,
    method: &str,
    params: &Params,
    sender: Sender<'_>,
) -> Option<Arc<[String]>> {
    if RequestMethod::from_name(method) == Some(RequestMethod::CallTool)
        && let Some(tool) = params.read_str("name").ok()?.and_then(|name| find(added, &name))
    {
        let (method, params) = added.target(tool, params)?;
        return added.base().service.required_scopes(method.as_str(), &params, sender);
    }
    added.base().service.required_scopes(method, params, sender)
}

pub(crate) fn header_params(added: &impl Added, tool: &str) -> Option<Arc<[ParamHeader]>> {
    match find(added, tool) {
        Some(_) => None,
        None => added.base().service.header_params(tool),
    }
}

/// The added tool of a name.
fn find(added: &impl Added, name: &str) -> Option<&'static str> {
    let tool = added.names().iter().find(|tool| **tool == name)?;
    added.is_active(&added.base().service.describe()).then_some(tool)
}

/// The tools of the service, with the added ones in front. A tool of the service with the name of an added one is hidden.
async fn listed<A: Added>(added: A, call: Call) -> Reply {
    let about = added.base().service.describe();
    if !added.is_active(&about) {
        return added.base().service.call(call).await;
    }
    let own = added.tools();
    if about.capabilities.tools.is_none() {
        return Reply::Complete(encoded(&call, own, Vec::new()));
    }
    let is_first = matches!(call.params.read_str("cursor"), Ok(None));
    let names = added.names();
    let shown = |name: &str, tool: Params| (!names.contains(&name)).then_some(tool);
    let reply = list::map(added.base().service.clone(), call.clone(), TOOLS, shown).await;
    match reply {
        Reply::Complete(body) if is_first => Reply::Complete(in_front(&call, own, body)),
        reply => reply,
    }
}

fn in_front(call: &Call, own: Vec<Tool>, body: ResultBody) -> ResultBody {
    let merged = || {
        let page = Params::from_text(body.members()).ok()?;
        let items: Vec<RawJson> = page.get(TOOLS.member)?.parse().ok()?;
        let all = Params::from_text(encoded(call, own, items).members()).ok()?.get(TOOLS.member)?;
        Some(page.with(TOOLS.member, &all).ok()?.text().clone())
    };
    match merged() {
        Some(members) => body.with_members(&members),
        None => body,
    }
}

/// A list of tools in the revision of a call, and of definitions that are in it already.
pub(crate) fn encoded(call: &Call, tools: Vec<Tool>, more: Vec<RawJson>) -> ResultBody {
    let body = call.revision.encode(ListToolsResult::new(tools)).cacheable();
    let merged = || {
        let page = Params::from_text(body.members()).ok()?;
        let mut items: Vec<RawJson> = page.get(TOOLS.member)?.parse().ok()?;
        items.extend(more);
        let items = JsonText::from(&RawJson::new(&items).ok()?);
        Some(page.with(TOOLS.member, &items).ok()?.text().clone())
    };
    match merged() {
        Some(members) => body.with_members(&members),
        None => body,
    }
}

/// The arguments of an added tool.
///
/// # Errors
/// If they are not an object.
pub(crate) fn arguments(call: &Call) -> Result<Params, String> {
    Params::from_text(call.arguments()).map_err(|fault| format!("`arguments`: {fault}"))
}

/// A string among the arguments.
///
/// # Errors
/// If it is missing or something else.
pub(crate) fn required<'a>(arguments: &'a Params, key: &str) -> Result<Cow<'a, str>, String> {
    optional(arguments, key)?.ok_or_else(|| format!("argument `{key}` is missing (required)"))
}

/// A string among the arguments, if it is there.
///
/// # Errors
/// If it is something else.
pub(crate) fn optional<'a>(arguments: &'a Params, key: &str) -> Result<Option<Cow<'a, str>>, String> {
    arguments.read_str(key).map_err(|_| format!("argument `{key}`: expected a string"))
}

/// The call of the service that a call of an added tool leads to.
///
/// # Errors
/// If the argument that names the target is missing, or the arguments cannot be read.
pub(crate) fn request(added: &impl Added, tool: &str, key: &str, call: &Call) -> Result<Call, String> {
    required(&arguments(call)?, key)?;
    let (method, params) = added.target(tool, &call.params).ok_or("`arguments` cannot be read")?;
    let mut inside = call.with_params(params);
    inside.method = method.as_str().into();
    Ok(inside)
}

/// The parameters of a request that an added tool leads to: those of the call, with other members in place of the name and
/// the arguments. So metadata, answers and the state of earlier rounds are passed on.
pub(crate) fn inside<const N: usize>(params: &Params, members: [(&str, Option<JsonText>); N]) -> Option<Params> {
    let mut inside = params.without("name").ok()?.without("arguments").ok()?;
    for (key, value) in members {
        if let Some(value) = value {
            inside = inside.with(key, &value).ok()?;
        }
    }
    Some(inside)
}

/// The request for the item that the arguments name, with the arguments that are for it.
pub(crate) fn named(method: RequestMethod, params: &Params) -> Option<(RequestMethod, Params)> {
    let arguments = Params::from_text(params.get("arguments")?).ok()?;
    let name = JsonText::string(&arguments.read_str("name").ok()??);
    let members = [("name", Some(name)), ("arguments", arguments.get("arguments"))];
    Some((method, inside(params, members)?))
}

/// An added tool that lists something in pages.
pub(crate) fn lists(name: &'static str, title: &str, description: &str) -> Tool {
    let cursor = json!({ "type": "string", "description": "The `nextCursor` of the page before, if there is one." });
    Tool::new(name, json!({ "type": "object", "properties": { "cursor": cursor } }))
        .title(title)
        .description(description)
        .annotations(reads().open_world_hint(false))
}

/// The annotations of an added tool that only reads.
pub(crate) fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only_hint(true).idempotent_hint(true)
}

/// The reply of an added tool: an error that the model can correct is a failed tool.
pub(crate) fn reply(call: &Call, reply: Reply, result: impl FnOnce(&JsonText) -> Option<CallToolResult>) -> Reply {
    match reply {
        Reply::Complete(body) => match result(&body.text()) {
            Some(result) => Reply::Complete(call.revision.encode(result)),
            None => RpcError::internal("the result of the server cannot be read").into(),
        },
        other => for_model(call, other),
    }
}

/// The reply with an error that the model can correct as a failed tool.
pub(crate) fn for_model(call: &Call, reply: Reply) -> Reply {
    match reply {
        Reply::Error(error) if matches!(error.code, code::INVALID_PARAMS | code::RESOURCE_NOT_FOUND) => {
            Reply::tool_error(call, error.message)
        }
        other => other,
    }
}

/// Whether a call is to run as a task, which added tools do not.
fn refuse_task(call: &Call, tool: &str) -> Option<Reply> {
    let refused = || RpcError::new(code::METHOD_NOT_FOUND, format!("the tool `{tool}` cannot run as a task")).into();
    (call.revision.has_core_tasks() && call.params.has("task")).then(refused)
}
