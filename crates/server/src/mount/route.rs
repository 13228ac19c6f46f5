//! Calls for what is mounted.

use std::sync::Arc;

use couplet_core::{BoxFuture, Call, JsonText, Reply, ResultBody, message::Params};
use couplet_types::{Map, RawJson, RpcError, code};
use serde::de::DeserializeOwned;

use super::Mount;
use crate::{dispatch::find_resource, inner::Inner};

/// A JSON object of which only some members are looked at.
pub(super) type Object = Map<RawJson>;

/// Answers a call for a mounted server; `None` if it is for this one.
pub(crate) fn dispatch(inner: &Arc<Inner>, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    match &*call.method {
        "tools/call" => by_name(inner, call, |name| inner.tools.get().find(name).is_some()),
        "prompts/get" => by_name(inner, call, |name| inner.prompts.get().find(name).is_some()),
        "resources/read" => {
            let uri: String = call.params.read("uri").ok()?;
            if find_resource(inner, &uri).is_some() {
                return None;
            }
            let candidates = inner.mounts.iter().filter(|mount| mount.has_resource(&uri));
            in_order(candidates.filter_map(|mount| Routed::new(mount, call, "uri", &text(&mount.uri_inside(&uri)?)?)))
        }
        "completion/complete" => complete(inner, call),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            Some(Box::pin(super::list(inner.clone(), call.clone())))
        }
        method if inner.methods.contains_key(method) => None,
        method => {
            let serves = |mount: &&Mount| mount.service.describe().extra_methods.iter().any(|m| m == method);
            let mount = inner.mounts.iter().find(serves)?;
            Some(mount.service.call(call.clone()))
        }
    }
}

fn by_name(inner: &Inner, call: &Call, is_own: impl Fn(&str) -> bool) -> Option<BoxFuture<'static, Reply>> {
    let name: String = call.params.read("name").ok()?;
    if is_own(&name) {
        return None;
    }
    let (mount, inside) = inner.mounts.iter().find_map(|mount| Some((mount, mount.name_inside(&name)?)))?;
    Some(Routed::new(mount, call, "name", &text(inside)?)?.run())
}

fn complete(inner: &Inner, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    let reference: Object = call.params.read("ref").ok()?;
    let read = |key: &str| reference.get(key)?.parse::<String>().ok();
    let refer = |mount: &Mount, key: &str, inside: &str| {
        let reference = reference.clone().with(key, RawJson::new(inside).ok()?);
        Routed::new(mount, call, "ref", &text(&reference)?)
    };
    match (read("name"), read("uri")) {
        (Some(name), _) if inner.prompts.get().find(&name).is_some() => None,
        (_, Some(uri)) if inner.resources.get().find(&uri).is_some() => None,
        (Some(name), _) => inner.mounts.iter().find_map(|m| refer(m, "name", m.name_inside(&name)?)).map(Routed::run),
        // The address may be a template, which cannot be looked up.
        (None, Some(uri)) => in_order(inner.mounts.iter().filter_map(|m| refer(m, "uri", &m.uri_inside(&uri)?))),
        (None, None) => None,
    }
}

/// The first reply that is no error. An address without a path, such as `urn:isbn:1`, does not name its server, so the
/// mounted servers are asked one after the other; of several errors, the first that says more than "not found" counts.
fn in_order(calls: impl Iterator<Item = Routed>) -> Option<BoxFuture<'static, Reply>> {
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

/// A call for a mounted server.
struct Routed {
    mount: Mount,
    call: Call,
}

impl Routed {
    /// The call with one parameter changed.
    fn new(mount: &Mount, call: &Call, key: &str, value: &JsonText) -> Option<Self> {
        let mut call = call.clone();
        call.params = replaced(&call.params, key, value)?;
        Some(Self { mount: mount.clone(), call })
    }

    fn run(self) -> BoxFuture<'static, Reply> {
        let Self { mount, call } = self;
        let method = call.method.clone();
        let running = mount.service.call(call);
        Box::pin(async move {
            match running.await {
                Reply::Complete(done) => Reply::Complete(renamed(&mount, &method, done)),
                other => other,
            }
        })
    }
}

/// The parameters of a call for a tool that is called something else inside.
pub(crate) fn renamed_params(params: &Params, name: &str) -> Option<Params> {
    replaced(params, "name", &text(name)?)
}

/// The parameters with one of them changed, or added.
pub(super) fn replaced(params: &Params, key: &str, value: &JsonText) -> Option<Params> {
    let mut object: Object = read(params.text())?;
    object.insert(key, value.to_raw());
    Params::from_text(text(&object)?).ok()
}

/// The parameters without one of them.
pub(super) fn without(params: &Params, key: &str) -> Option<Params> {
    if !params.has(key) {
        return Some(params.clone());
    }
    let mut object: Object = read(params.text())?;
    object.remove(key);
    Params::from_text(text(&object)?).ok()
}

/// Resources in a result are called as they are outside, if they are those of the mounted server.
fn renamed(mount: &Mount, method: &str, done: ResultBody) -> ResultBody {
    let rename = || {
        let whole = done.members();
        // Most results have none, and stay as they are.
        has_addresses(whole.as_str()).then_some(())?;
        let mut result: Object = read(&whole)?;
        let (list, part): (_, fn(&Mount, &mut Object) -> Option<()>) = match method {
            "tools/call" => ("content", block),
            "prompts/get" => ("messages", message),
            "resources/read" => ("contents", address),
            _ => return None,
        };
        let mut items: Vec<Object> = result.get(list)?.parse().ok()?;
        for item in &mut items {
            // What cannot be read stays as it is.
            let _ = part(mount, item);
        }
        result.insert(list, RawJson::new(&items).ok()?);
        text(&result)
    };
    match rename() {
        Some(text) => done.with_members(&text),
        None => done,
    }
}

fn has_addresses(text: &str) -> bool {
    text.contains("\"uri\"")
}

fn message(mount: &Mount, message: &mut Object) -> Option<()> {
    let mut content: Object = message.get("content")?.parse().ok()?;
    block(mount, &mut content)?;
    message.insert("content", RawJson::new(&content).ok()?);
    Some(())
}

fn block(mount: &Mount, block: &mut Object) -> Option<()> {
    if block.contains_key("uri") {
        return address(mount, block);
    }
    let mut resource: Object = block.get("resource")?.parse().ok()?;
    address(mount, &mut resource)?;
    block.insert("resource", RawJson::new(&resource).ok()?);
    Some(())
}

fn address(mount: &Mount, part: &mut Object) -> Option<()> {
    let uri: String = part.get("uri")?.parse().ok()?;
    if mount.service.has_resource(&uri) {
        part.insert("uri", RawJson::new(&mount.uri_outside(&uri)).ok()?);
    }
    Some(())
}

pub(super) fn read<T: DeserializeOwned>(text: &JsonText) -> Option<T> {
    text.parse().ok()
}

pub(super) fn text<T: serde::Serialize + ?Sized>(value: &T) -> Option<JsonText> {
    JsonText::new(serde_json::to_vec(value).ok()?).ok()
}

/// What a page could not be made of.
pub(super) fn unreadable() -> RpcError {
    RpcError::internal("a mounted server gave a list that cannot be read")
}
