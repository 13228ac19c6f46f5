//! Requests for input, as a revision and a client's capabilities allow them.

use couplet_types::{
    ClientCapabilities, ContentBlock, CreateMessageParams, ElicitMode, ElicitParams, IncludeContext, InputRequest,
    ListRootsParams, RpcError,
};
use serde_json::json;

use super::{Project, project_sampling};
use crate::wire::{
    form,
    revision::{Elicit, Revision},
};

/// A request for input from the client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ask {
    /// Elicitation: a form, or a URL to open.
    Elicit(Box<ElicitParams>),
    /// Sampling.
    Sample(Box<CreateMessageParams>),
    /// The client's roots.
    Roots,
}

impl Ask {
    /// Encodes the request for a client with these capabilities.
    ///
    /// # Errors
    /// If the client lacks the capability, or the request is not valid.
    pub fn render(self, revision: Revision, can: &ClientCapabilities) -> Result<InputRequest, RpcError> {
        match self {
            Self::Elicit(params) => elicit(*params, revision, can),
            Self::Sample(params) => sample(*params, revision, can),
            Self::Roots if can.roots.is_none() => {
                Err(revision.cannot_ask("list its roots", "roots", json!({ "roots": {} })))
            }
            Self::Roots => InputRequest::new::<couplet_types::ListRoots>(&ListRootsParams::default())
                .map_err(|e| RpcError::internal(e.to_string())),
        }
    }
}

fn elicit(mut params: ElicitParams, revision: Revision, can: &ClientCapabilities) -> Result<InputRequest, RpcError> {
    params.task = None;
    if params.is_url() {
        if !revision.can_elicit_url(can) {
            let required = json!({ "elicitation": { "url": {} } });
            return Err(revision.cannot_ask("ask the user to open a page", "URL elicitation", required));
        }
        if !params.url.as_deref().is_some_and(is_web_address) {
            return Err(RpcError::internal("the address to visit must be an absolute `https:` or `http:` URL"));
        }
        params.requested_schema = None;
        match revision.0.elicit {
            Elicit::UrlWithId => params.elicitation_id = Some(params.elicitation_id.map_or_else(random_id, Ok)?),
            _ => params.elicitation_id = None,
        }
    } else {
        if !revision.can_elicit(can) {
            let required = json!({ "elicitation": { "form": {} } });
            return Err(revision.cannot_ask("ask the user", "elicitation", required));
        }
        match params.schema() {
            Ok(Some(_)) => {}
            Ok(None) => return Err(RpcError::internal("the form has no schema")),
            Err(e) => return Err(RpcError::internal(format!("the form is not a flat object of plain fields: {e}"))),
        }
        (params.url, params.elicitation_id) = (None, None);
        if revision.0.elicit == Elicit::Plain {
            params.mode = None;
            params.requested_schema = params.requested_schema.as_ref().map(form::plain).transpose()?;
        } else {
            params.mode = Some(ElicitMode::Form);
        }
    }
    InputRequest::new::<couplet_types::Elicit>(&params).map_err(|e| RpcError::internal(e.to_string()))
}

/// Whether a text is an absolute URL of the web, with a host and without characters that a URL does not have.
pub(super) fn is_web_address(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let plain = url.bytes().all(|b| b.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&b));
    web && plain && !host.is_empty() && !host.starts_with(':') && !host.ends_with('@')
}

fn random_id() -> Result<String, RpcError> {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| RpcError::internal(e.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn sample(
    mut params: CreateMessageParams,
    revision: Revision,
    can: &ClientCapabilities,
) -> Result<InputRequest, RpcError> {
    let Some(sampling) = &can.sampling else {
        return Err(revision.cannot_ask("ask its model", "sampling", json!({ "sampling": {} })));
    };
    let uses_tools = params.tools.is_some() || params.tool_choice.is_some();
    let with_tools = || json!({ "sampling": { "tools": {} } });
    if uses_tools && !revision.can_sample_with_tools(can) {
        return Err(revision.cannot_ask("ask its model", "sampling with tools", with_tools()));
    }
    if let Some(what) = params.unbalanced() {
        return Err(RpcError::invalid_params(format!("sampling messages: {what}")));
    }
    if let Some(what) = params.messages.iter().flat_map(|m| m.content.blocks()).find_map(ContentBlock::fault) {
        return Err(RpcError::internal(format!("sampling messages: {what}")));
    }
    params.task = None;
    // Without the client's capability, no context of servers is requested.
    let context = params.include_context.filter(|c| *c != IncludeContext::None);
    if revision.0.sampling_tools && sampling.context.is_none() && context.is_some() {
        params.include_context = None;
    }
    params.tools.iter_mut().flatten().for_each(|t| t.project(revision));
    for message in &mut params.messages {
        project_sampling(&mut message.content, revision);
        if !revision.0.sampling_tools {
            message.meta = None;
            let blocks = message.content.blocks();
            let tools = blocks.iter().any(|b| matches!(b, ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_)));
            if tools || blocks.len() != 1 {
                let what = "sampling messages with tools or several blocks";
                return Err(revision.cannot_ask("ask its model", what, with_tools()));
            }
        }
    }
    InputRequest::new::<couplet_types::CreateMessage>(&params).map_err(|e| RpcError::internal(e.to_string()))
}
