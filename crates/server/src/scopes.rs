//! The OAuth scopes of tools, resources and prompts: which ones a request requires, and how a caller without them is
//! refused.

use std::sync::Arc;

use couplet_core::{Call, Sender, message::Params};
use couplet_types::{Map, RawJson, RequestMethod, RpcError};

use crate::{definition::Definition, dispatch::find_resource, inner::Inner, mount};

/// The scopes that a caller must have; `None` where there are none.
pub(crate) type Scopes = Option<Arc<[String]>>;

/// Adds scopes.
///
/// # Panics
/// If a scope is empty, or has a character that RFC 6749 does not allow.
#[track_caller]
pub(crate) fn add(scopes: &mut Scopes, more: impl IntoIterator<Item = impl Into<String>>) {
    let mut all: Vec<String> = scopes.iter().flat_map(|scopes| scopes.iter().cloned()).collect();
    for scope in more.into_iter().map(Into::into) {
        let allowed = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
        assert!(!scope.is_empty() && scope.chars().all(allowed), "{scope:?} is not a scope: it is one word");
        all.push(scope);
    }
    *scopes = (!all.is_empty()).then(|| all.into());
}

/// Refuses a call whose caller lacks a scope. Over HTTP the endpoint has answered such a request with 403 already.
pub(crate) fn permit<D: Definition>(call: &Call, definition: &D) -> Result<(), RpcError> {
    let Some(scopes) = definition.scopes() else { return Ok(()) };
    let what = match &call.caller {
        Some(caller) if caller.has_scopes(&**scopes) => return Ok(()),
        Some(_) => "needs a caller with more scopes",
        None => "needs an authenticated caller",
    };
    let (kind, name) = (D::WHAT, definition.key());
    let error = RpcError::invalid_request(format!("the {kind} `{name}` {what}: `{}`", scopes.join("`, `")));
    Err(error.with_data(serde_json::json!({ "scopes": **scopes })))
}

/// The scopes that a request requires, of this server or of one that is mounted in it.
pub(crate) fn required(inner: &Inner, method: &str, params: &Params, sender: Sender<'_>) -> Scopes {
    match RequestMethod::from_name(method)? {
        RequestMethod::CallTool => {
            named(inner, method, params, sender, |name| Some(inner.tools.get().find(name)?.scopes.clone()))
        }
        RequestMethod::GetPrompt => {
            named(inner, method, params, sender, |name| Some(inner.prompts.get().find(name)?.scopes.clone()))
        }
        RequestMethod::ReadResource => {
            let uri: String = params.read("uri").ok()?;
            if let Some((own, _)) = find_resource(inner, &uri) {
                return own.scopes.clone();
            }
            let mount = inner.mounts.iter().find(|mount| mount.has_resource(&uri))?;
            let inside = mount::with_param(params, "uri", &mount.uri_inside(&uri)?)?;
            mount.service.required_scopes(method, &inside, sender)
        }
        RequestMethod::Complete => completed(inner, method, params, sender),
        // The others reach no tool, no prompt and no resource.
        _ => None,
    }
}

fn named(
    inner: &Inner,
    method: &str,
    params: &Params,
    sender: Sender<'_>,
    own: impl Fn(&str) -> Option<Scopes>,
) -> Scopes {
    let name = params.read_str("name").ok()??;
    if let Some(scopes) = own(&name) {
        return scopes;
    }
    let (mount, inside) = inner.mounts.iter().find_map(|m| Some((m, m.name_inside(&name)?)))?;
    let inside = mount::with_param(params, "name", inside)?;
    mount.service.required_scopes(method, &inside, sender)
}

/// A completion requires the scopes of the prompt or the template whose argument is completed.
fn completed(inner: &Inner, method: &str, params: &Params, sender: Sender<'_>) -> Scopes {
    let reference: Map<RawJson> = params.read("ref").ok()?;
    let read = |key: &str| reference.get(key)?.parse::<String>().ok();
    let inside = |mount: &mount::Mount, key: &str, inside: &str| {
        let reference = reference.clone().with(key, RawJson::new(inside).ok()?);
        mount.service.required_scopes(method, &mount::with_param(params, "ref", &reference)?, sender)
    };
    match (read("name"), read("uri")) {
        (Some(name), _) => match inner.prompts.get().find(&name) {
            Some(own) => own.scopes.clone(),
            None => inner.mounts.iter().find_map(|m| inside(m, "name", m.name_inside(&name)?)),
        },
        (None, Some(uri)) => match inner.resources.get().find(&uri) {
            Some(own) => own.scopes.clone(),
            None => inner.mounts.iter().find_map(|m| inside(m, "uri", &m.uri_inside(&uri)?)),
        },
        (None, None) => None,
    }
}
