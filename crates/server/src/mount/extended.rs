//! Methods of the extensions of mounted servers.
//!
//! Tasks are found by their ids and skills by their URIs. A method of another extension, or one that a server added by
//! itself, goes to the first server that has it: the outer one, then the mounted ones in order.

use std::sync::Arc;

use couplet_core::{BoxFuture, Call, Reply};
use couplet_types::{RawJson, RpcError};

use super::{
    Mount,
    list::{self, Listed},
    route::{Object, Routed, each, in_order, member, text},
    tasks,
};
use crate::{dispatch::find_resource, inner::Inner};

/// Answers a call with a mounted server; `None` if this server answers it.
pub(super) fn dispatch(inner: &Arc<Inner>, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    if inner.methods.contains_key(&*call.method) {
        return None;
    }
    match &*call.method {
        "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => tasks::about(inner, call),
        "tasks/list" => merged(inner, Listed::Tasks, call),
        "skills/list" => merged(inner, Listed::Skills, call),
        "skills/get" => of_skill(inner, call, skill_result),
        "resources/directory/read" => of_skill(inner, call, directory_result),
        _ if has_own(inner, call) => None,
        method => Some(inner.mounts.iter().find(|mount| mount.serves(method))?.service.call(call.clone())),
    }
}

/// Whether an extension of this server has the method.
pub(super) fn has_own(inner: &Inner, call: &Call) -> bool {
    inner.extended.contains_key(&*call.method)
}

/// The lists of this server and of the mounted ones, if one of those has it.
fn merged(inner: &Arc<Inner>, listed: Listed, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    inner.mounts.iter().any(|mount| listed.is_served(mount)).then(|| list::list(inner, listed, call))
}

/// Answers a request about a skill, or a directory of one, of a mounted server.
fn of_skill(inner: &Arc<Inner>, call: &Call, edit: super::route::Edit) -> Option<BoxFuture<'static, Reply>> {
    let uri: String = call.params.read("uri").ok()?;
    if owns(inner, &uri) {
        return None;
    }
    let mounts = || inner.mounts.iter().filter(|mount| mount.serves(&call.method));
    let routed =
        mounts().filter_map(|mount| Routed::new(mount, call, "uri", &text(&mount.uri_inside(&uri)?)?, Some(edit)));
    if let Some(running) = in_order(routed) {
        return Some(running);
    }
    if has_own(inner, call) {
        return None;
    }
    mounts().next()?;
    let error = RpcError::invalid_params(format!("there is no skill with the URI `{uri}`"));
    Some(Box::pin(std::future::ready(Reply::Error(error))))
}

/// Whether a URI is a file of this server, or a directory of one.
fn owns(inner: &Inner, uri: &str) -> bool {
    let folder = format!("{}/", uri.trim_end_matches('/'));
    find_resource(inner, uri).is_some() || inner.resources.get().iter().any(|own| own.spec.uri.starts_with(&folder))
}

/// The entry of a skill.
pub(super) fn skill(mount: &Mount, entry: &mut Object) -> Option<()> {
    rename_uri(mount, entry)?;
    let _ = each(mount, entry, "resources", rename_uri);
    Some(())
}

fn skill_result(mount: &Mount, result: &mut Object) -> Option<()> {
    member(mount, result, "skill", skill)
}

fn directory_result(mount: &Mount, result: &mut Object) -> Option<()> {
    each(mount, result, "resources", rename_uri)
}

fn rename_uri(mount: &Mount, entry: &mut Object) -> Option<()> {
    let uri: String = entry.get("uri")?.parse().ok()?;
    entry.insert("uri", RawJson::new(&mount.uri_outside(&uri)).ok()?);
    Some(())
}

/// The view of a tool: the URI of a resource, in two places.
pub(super) fn view(mount: &Mount, tool: &mut Object) -> Option<()> {
    fn rename(mount: &Mount, place: &mut Object, key: &str) -> Option<()> {
        let uri: String = place.get(key)?.parse().ok()?;
        if mount.service.has_resource(&uri) {
            place.insert(key, RawJson::new(&mount.uri_outside(&uri)).ok()?);
        }
        Some(())
    }
    member(mount, tool, "_meta", |mount, meta| {
        let _ = member(mount, meta, "ui", |mount, ui| rename(mount, ui, "resourceUri"));
        let _ = rename(mount, meta, "ui/resourceUri");
        Some(())
    })
}
