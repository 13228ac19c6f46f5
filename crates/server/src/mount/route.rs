//! Calls of mounted servers.

use std::{borrow::Cow, sync::Arc};

use couplet_core::{BoxFuture, Call, JsonText, Reply, ResultBody, idempotency, message::Params};
use couplet_types::{Map, RawJson, RequestMethod, RpcError, code};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Mount, extended,
    list::{self, Listed},
    tasks,
};
use crate::{dispatch::find_resource, inner::Inner, list::List};

/// A JSON object of which only some members are parsed.
pub(super) type Object = Map<RawJson>;

/// Answers a call with a mounted server; `None` if this server answers it.
pub(crate) fn dispatch(inner: &Arc<Inner>, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    use RequestMethod as M;
    let Some(method) = call.known() else { return extended::dispatch(inner, call) };
    let list = |list: List| Some(list::list(inner, Listed::Core(list), call));
    match method {
        M::CallTool => {
            let own = |name: &str| inner.tools.get().find(name).is_some();
            by_name(inner, &without_key(inner, call), Some(tool_result), own)
        }
        M::GetPrompt => by_name(inner, call, Some(prompt_result), |name| inner.prompts.get().find(name).is_some()),
        M::ReadResource => read(inner, call),
        M::Complete => complete(inner, call),
        M::ListTools => list(List::Tools),
        M::ListPrompts => list(List::Prompts),
        M::ListResources => list(List::Resources),
        M::ListResourceTemplates => list(List::ResourceTemplates),
        M::GetTask | M::GetTaskPayload | M::ListTasks | M::CancelTask => extended::dispatch(inner, call),
        // The connection answers these.
        M::Initialize | M::Ping | M::SetLevel | M::Subscribe | M::Unsubscribe | M::Discover | M::Listen => {
            extended::dispatch(inner, call)
        }
        // Only servers send these.
        M::CreateMessage | M::ListRoots | M::Elicit => extended::dispatch(inner, call),
    }
}

fn read(inner: &Inner, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    let uri: String = call.params.read("uri").ok()?;
    if find_resource(inner, &uri).is_some() {
        return None;
    }
    let candidates = inner.mounts.iter().filter(|mount| mount.has_resource(&uri));
    in_order(
        candidates.filter_map(|mount| {
            Routed::new(mount, call, "uri", &text(&mount.uri_inside(&uri)?)?, Some(resource_result))
        }),
    )
}

fn by_name(
    inner: &Inner,
    call: &Call,
    edit: Option<Edit>,
    is_own: impl Fn(&str) -> bool,
) -> Option<BoxFuture<'static, Reply>> {
    let name: String = call.params.read("name").ok()?;
    if is_own(&name) {
        return None;
    }
    let (mount, inside) = inner.mounts.iter().find_map(|mount| Some((mount, mount.name_inside(&name)?)))?;
    Some(Routed::new(mount, call, "name", &text(inside)?, edit)?.run())
}

fn complete(inner: &Inner, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    let reference: Object = call.params.read("ref").ok()?;
    let read = |key: &str| reference.get(key)?.parse::<String>().ok();
    let refer = |mount: &Mount, key: &str, inside: &str| {
        let reference = reference.clone().with(key, RawJson::new(inside).ok()?);
        Routed::new(mount, call, "ref", &text(&reference)?, None)
    };
    match (read("name"), read("uri")) {
        (Some(name), _) if inner.prompts.get().find(&name).is_some() => None,
        (_, Some(uri)) if inner.resources.get().find(&uri).is_some() => None,
        (Some(name), _) => inner.mounts.iter().find_map(|m| refer(m, "name", m.name_inside(&name)?)).map(Routed::run),
        // The URI may be a template, which cannot be looked up.
        (None, Some(uri)) => in_order(inner.mounts.iter().filter_map(|m| refer(m, "uri", &m.uri_inside(&uri)?))),
        (None, None) => None,
    }
}

/// The first reply that is not an error. A URI without a path, such as `urn:isbn:1`, does not name its server, so the
/// mounted servers are tried in order; of several errors, the first that is not "not found" is returned.
pub(super) fn in_order(calls: impl Iterator<Item = Routed>) -> Option<BoxFuture<'static, Reply>> {
    let mut calls: Vec<_> = calls.collect();
    if calls.len() < 2 {
        return calls.pop().map(Routed::run);
    }
    Some(Box::pin(async move {
        let mut failed: Option<RpcError> = None;
        for call in calls {
            match call.run().await {
                Reply::Error(error) if failed.as_ref().is_none_or(is_not_found) => failed = Some(error),
                Reply::Error(_) => {}
                reply => return reply,
            }
        }
        failed.unwrap_or_else(unreadable).into()
    }))
}

fn is_not_found(error: &RpcError) -> bool {
    matches!(error.code, code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS)
}

/// Gives the names in a result the outside form. Parts that cannot be parsed stay as they are.
pub(super) type Edit = fn(&Mount, &mut Object) -> Option<()>;

/// A call for a mounted server.
pub(super) struct Routed {
    mount: Mount,
    call: Call,
    edit: Option<Edit>,
}

impl Routed {
    /// The call with one parameter changed.
    pub(super) fn new(mount: &Mount, call: &Call, key: &str, value: &JsonText, edit: Option<Edit>) -> Option<Self> {
        let mut call = call.clone();
        call.params = replaced(&call.params, key, value)?;
        Some(Self { mount: mount.clone(), call: tasks::connected(mount, call), edit })
    }

    pub(super) fn run(self) -> BoxFuture<'static, Reply> {
        let Self { mount, call, edit } = self;
        let running = mount.service.call(call);
        Box::pin(async move {
            match (running.await, edit) {
                (Reply::Complete(done), Some(edit)) => Reply::Complete(renamed(&mount, edit, done)),
                (Reply::Extension { kind, done }, Some(edit)) => {
                    Reply::Extension { kind, done: renamed(&mount, edit, done) }
                }
                (other, _) => other,
            }
        })
    }
}

/// The call without its idempotency key, if this server honours it: the mounted one may share the store.
fn without_key<'c>(inner: &Inner, call: &'c Call) -> Cow<'c, Call> {
    let stripped = || {
        inner.config.outcomes.as_ref()?;
        let mut meta: Object = call.params.read_opt("_meta").ok()??;
        meta.remove(idempotency::META_KEY)?;
        let mut stripped = call.clone();
        stripped.params = replaced(&call.params, "_meta", &text(&meta)?)?;
        Some(stripped)
    };
    stripped().map_or(Cow::Borrowed(call), Cow::Owned)
}

/// The parameters with one of them changed, or added.
pub(crate) fn with_param(params: &Params, key: &str, value: &(impl Serialize + ?Sized)) -> Option<Params> {
    replaced(params, key, &text(value)?)
}

/// The parameters with one of them changed, or added.
pub(super) fn replaced(params: &Params, key: &str, value: &JsonText) -> Option<Params> {
    let mut object: Object = parsed(params.text())?;
    object.insert(key, value.to_raw());
    Params::from_text(text(&object)?).ok()
}

/// The parameters without one of them.
pub(super) fn without(params: &Params, key: &str) -> Option<Params> {
    if !params.has(key) {
        return Some(params.clone());
    }
    let mut object: Object = parsed(params.text())?;
    object.remove(key);
    Params::from_text(text(&object)?).ok()
}

/// The result with the outside names of what the mounted server has.
fn renamed(mount: &Mount, edit: Edit, done: ResultBody) -> ResultBody {
    let rename = || {
        let whole = done.members();
        // Most results have none.
        let text_of = whole.as_str();
        (text_of.contains("\"uri\"") || text_of.contains(tasks::ID)).then_some(())?;
        let mut result: Object = parsed(&whole)?;
        let _ = edit(mount, &mut result);
        text(&result)
    };
    match rename() {
        Some(text) => done.with_members(&text),
        None => done,
    }
}

/// Edits each entry of a list in a result.
pub(super) fn each(mount: &Mount, result: &mut Object, list: &str, edit: Edit) -> Option<()> {
    let mut items: Vec<Object> = result.get(list)?.parse().ok()?;
    for item in &mut items {
        // An entry that cannot be parsed is passed on as it is.
        let _ = edit(mount, item);
    }
    result.insert(list, RawJson::new(&items).ok()?);
    Some(())
}

/// Edits one member of a result.
pub(super) fn member(mount: &Mount, result: &mut Object, key: &str, edit: Edit) -> Option<()> {
    let mut value: Object = result.get(key)?.parse().ok()?;
    edit(mount, &mut value)?;
    result.insert(key, RawJson::new(&value).ok()?);
    Some(())
}

/// The result of a tool: its content, or the task that the call became.
pub(super) fn tool_result(mount: &Mount, result: &mut Object) -> Option<()> {
    if result.contains_key("content") {
        return each(mount, result, "content", block);
    }
    tasks::result(mount, result)
}

fn prompt_result(mount: &Mount, result: &mut Object) -> Option<()> {
    each(mount, result, "messages", message)
}

fn resource_result(mount: &Mount, result: &mut Object) -> Option<()> {
    each(mount, result, "contents", address)
}

fn message(mount: &Mount, message: &mut Object) -> Option<()> {
    member(mount, message, "content", block)
}

pub(super) fn block(mount: &Mount, block: &mut Object) -> Option<()> {
    if block.contains_key("uri") {
        return address(mount, block);
    }
    member(mount, block, "resource", address)
}

fn address(mount: &Mount, part: &mut Object) -> Option<()> {
    let uri: String = part.get("uri")?.parse().ok()?;
    if mount.service.has_resource(&uri) {
        part.insert("uri", RawJson::new(&mount.uri_outside(&uri)).ok()?);
    }
    Some(())
}

pub(super) fn parsed<T: DeserializeOwned>(text: &JsonText) -> Option<T> {
    text.parse().ok()
}

pub(super) fn text<T: Serialize + ?Sized>(value: &T) -> Option<JsonText> {
    JsonText::new(serde_json::to_vec(value).ok()?).ok()
}

/// The error for a list of a mounted server that cannot be parsed.
pub(super) fn unreadable() -> RpcError {
    RpcError::internal("a mounted server gave a list that cannot be read")
}
