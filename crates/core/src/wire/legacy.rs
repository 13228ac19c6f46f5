//! The session era: a handshake opens a session, and both sides send requests.

use std::sync::Arc;

use couplet_types::{InitializeParams, InitializeResult, InputRequest, Meta, ProgressToken, ProtocolVersion, RpcError};
use serde_json::json;

use super::{
    Codec, Outcome,
    modern::{Identity, PeerCache, append_unreserved},
    revision::Revision,
};
use crate::{
    message::{Params, scan::JsonText},
    server::hub::Change,
    service::{Description, Peer, ResultBody},
};

#[derive(Debug)]
pub(crate) struct Legacy;

impl Codec for Legacy {
    fn has_sessions(&self) -> bool {
        true
    }

    fn begin(&self, out: &mut Vec<u8>, done: &ResultBody, _: &Description) {
        out.push(b'{');
        if let Some(meta) = done.meta.as_ref().filter(|m| !m.is_empty()) {
            out.extend_from_slice(br#""_meta":"#);
            super::write_json(out, meta);
        }
    }

    fn begin_as(&self, _: &str, _: &mut Vec<u8>, _: &ResultBody, _: &Description) -> Result<(), RpcError> {
        Err(RpcError::internal("in this revision all results are of one kind"))
    }

    fn input_required(
        &self,
        _: &mut Vec<u8>,
        _: &[(String, InputRequest)],
        _: Option<&str>,
        _: &Description,
    ) -> Result<(), RpcError> {
        Err(RpcError::internal("this revision asks the client directly; a result cannot ask"))
    }

    fn request_meta(&self, out: &mut Vec<u8>, meta: Option<&Meta>, token: Option<&ProgressToken>, _: &Identity) {
        if token.is_none() && meta.is_none_or(Meta::is_empty) {
            return;
        }
        let mut all = meta.cloned().unwrap_or_default();
        if let Some(token) = token {
            all.insert("progressToken", json!(token).into());
        }
        super::separate(out);
        out.extend_from_slice(br#""_meta":"#);
        super::write_json(out, &all);
    }

    fn forwarded_meta(&self, out: &mut Vec<u8>, meta: Option<&Params>, token: Option<&ProgressToken>, _: &Identity) {
        let start = out.len();
        super::separate(out);
        out.extend_from_slice(br#""_meta":{"#);
        let empty = out.len();
        if let Some(token) = token {
            out.extend_from_slice(br#""progressToken":"#);
            super::write_json(out, token);
        }
        append_unreserved(out, meta);
        match out.len() {
            length if length == empty => out.truncate(start),
            _ => out.push(b'}'),
        }
    }

    fn outcome(&self, result: JsonText, _: Option<&Params>) -> Result<Outcome, String> {
        Ok(Outcome::Complete(result))
    }
}

/// Negotiates a session, and returns the result of `initialize`.
pub(crate) fn initialize(
    params: &Params,
    about: &Description,
    memo: &PeerCache,
) -> Result<(Revision, Arc<Peer>, ResultBody), RpcError> {
    let asked: InitializeParams = params.parse()?;
    let revision = choose(&asked.protocol_version, about)?;
    let mut capabilities = about.capabilities.clone();
    if let Some(extensions) = &mut capabilities.extensions {
        about.extensions.iter().filter(|e| !e.exists_in(revision)).for_each(|e| drop(extensions.remove(&e.id)));
    }
    capabilities.extensions.take_if(|e| e.is_empty());
    let mut result = InitializeResult::new(revision.version().as_str(), capabilities, about.info.clone());
    result.instructions.clone_from(&about.instructions);
    let peer = match params.get("capabilities") {
        Some(capabilities) => memo.peer(revision.version(), &capabilities, params.get("clientInfo").as_ref())?,
        None => Arc::new(Peer {
            version: revision.version(),
            info: Some(asked.client_info),
            capabilities: asked.capabilities,
        }),
    };
    Ok((revision, peer, revision.encode(result)))
}

/// Returns the requested revision if it is supported, or else the latest one with sessions.
fn choose(requested: &str, about: &Description) -> Result<Revision, RpcError> {
    let mut spoken = about.versions.iter().copied().map(Revision::of).filter(|s| s.0.codec.has_sessions());
    let exact = requested.parse::<ProtocolVersion>().ok().and_then(|v| spoken.clone().find(|s| s.version() == v));
    exact.or_else(|| spoken.next()).ok_or_else(|| {
        let names = about.version_names();
        let message = format!("this server supports {} only, without `initialize`", names.join(", "));
        RpcError::invalid_params(message).with_data(json!({ "supported": names, "requested": requested }))
    })
}

/// Returns the progress token of a request in a session.
pub(crate) fn progress_token(params: &Params) -> Result<Option<ProgressToken>, RpcError> {
    let meta = params.meta().map_err(|e| RpcError::invalid_params(format!("`_meta`: {e}")))?;
    meta.map_or(Ok(None), |meta| meta.read_opt("progressToken"))
}

/// Returns the method of the notification for a change.
pub(crate) fn change_method(change: &Change) -> &str {
    match change {
        Change::Tools => "notifications/tools/list_changed",
        Change::Prompts => "notifications/prompts/list_changed",
        Change::Resources => "notifications/resources/list_changed",
        Change::Updated(_) => "notifications/resources/updated",
        Change::Extension(news) => &news.method,
    }
}

/// Returns the notification of a change for a session.
pub(crate) fn change(change: &Change) -> (&str, Vec<u8>) {
    let params = match change {
        Change::Updated(uri) => super::to_json(&json!({ "uri": uri })),
        Change::Extension(news) => news.params.get().into(),
        _ => b"{}".to_vec(),
    };
    (change_method(change), params)
}
