//! Projection of values to what a revision can represent.
//!
//! Members that the peer would not understand are removed, or converted into something that it does understand. Nothing is
//! refused unless the meaning would change.

use couplet_types::{
    Annotations, CallToolParams, CallToolResult, ClientCapabilities, CompleteParams, CompleteResult,
    CompletionReference, ContentBlock, CreateMessageParams, CreateMessageResult, DiscoverParams, DiscoverResult,
    ElicitMode, ElicitParams, ElicitResult, ElicitationCompleteParams, EmptyResult, GetPromptParams, GetPromptResult,
    Implementation, IncludeContext, InitializeParams, InitializeResult, InputRequest, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsParams, ListRootsResult, ListToolsResult, ListenParams,
    LogParams, PaginatedParams, PingParams, ProgressParams, Prompt, PromptArgument, RawJson, ReadResourceParams,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, RpcError, SamplingContent, ServerCapabilities,
    SetLevelParams, SubscribeParams, TextContent, Tool, ToolResultContent, UnsubscribeParams,
};
use serde_json::json;

use super::{
    form,
    revision::{Elicit, Revision, Structured},
};
use crate::service::CacheHint;

/// From this length on, a string is sent from its own buffer, and not copied into the message.
const LONG: usize = 16 << 10;

/// A value that can be projected to a revision.
///
/// [`project`](Project::project) is all that a type needs; [`extension_messages!`](crate::extension_messages) implements it
/// for types that are the same in every revision. The provided methods are optimizations and checks of the protocol's own
/// types.
pub trait Project {
    /// Removes or converts the members that the revision lacks.
    fn project(&mut self, to: Revision);

    /// Removes and returns the cache hints, if the value has them. The default has none.
    fn take_cache(&mut self) -> Option<CacheHint> {
        None
    }

    /// Returns the approximate size of the serialized value in bytes, to allocate once.
    fn size_hint(&self) -> usize {
        128
    }

    /// Removes the first string if it is long, and returns it with the serialized bytes in front of it; an empty string
    /// remains in its place. The default removes none.
    fn take_long(&mut self) -> Option<(String, &'static [u8])> {
        None
    }

    /// Restores the string that [`take_long`](Project::take_long) removed.
    fn put_back(&mut self, text: String) {
        drop(text);
    }

    /// Returns whether the value is the result of a tool that failed. The default is not.
    fn is_failed_tool(&self) -> bool {
        false
    }

    /// Returns the reason why the revision cannot represent the value, if it cannot.
    fn unspeakable(&self, to: Revision) -> Option<&'static str> {
        let _ = to;
        None
    }
}

/// Values that are the same in every revision.
macro_rules! as_is {
    ($($type:ty),* $(,)?) => {$(
        impl Project for $type {
            fn project(&mut self, _: Revision) {}
        }
    )*};
}

as_is!(
    ElicitationCompleteParams,
    PaginatedParams,
    PingParams,
    DiscoverParams,
    ListenParams,
    SetLevelParams,
    SubscribeParams,
    UnsubscribeParams,
    ReadResourceParams,
    GetPromptParams,
    ListRootsParams,
    LogParams,
    RawJson,
    ()
);

/// Results that differ between revisions in their kind alone.
macro_rules! plain_results {
    ($($type:ty),* $(,)?) => {$(
        impl Project for $type {
            fn project(&mut self, _: Revision) {
                self.result_type = None;
            }
        }
    )*};
}

plain_results!(EmptyResult, CompleteResult, ElicitResult);

/// Cacheable results; the elements of `$each` are projected.
macro_rules! cacheable {
    ($($type:ty { $($each:ident)? }),* $(,)?) => {$(
        impl Project for $type {
            fn project(&mut self, to: Revision) {
                let _ = to;
                self.result_type = None;
                $(self.$each.iter_mut().for_each(|e| e.project(to));)?
            }

            fn take_cache(&mut self) -> Option<CacheHint> {
                Some(CacheHint { ttl_ms: self.ttl_ms.take(), scope: self.cache_scope.take() })
            }
        }
    )*};
}

cacheable!(
    ListToolsResult { tools },
    ListPromptsResult { prompts },
    ListResourcesResult { resources },
    ListResourceTemplatesResult { resource_templates },
    ReadResourceResult { contents },
);

impl Project for DiscoverResult {
    fn project(&mut self, to: Revision) {
        self.result_type = None;
        self.capabilities.project(to);
    }

    fn take_cache(&mut self) -> Option<CacheHint> {
        Some(CacheHint { ttl_ms: self.ttl_ms.take(), scope: self.cache_scope.take() })
    }
}

impl Project for InitializeResult {
    fn project(&mut self, to: Revision) {
        self.result_type = None;
        self.capabilities.project(to);
        self.server_info.project(to);
    }
}

impl Project for InitializeParams {
    fn project(&mut self, to: Revision) {
        self.capabilities.project(to);
        self.client_info.project(to);
    }
}

impl Project for Implementation {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            self.title = None;
        }
        if !to.0.icons {
            (self.description, self.icons, self.website_url) = (None, None, None);
        }
    }
}

impl Project for ServerCapabilities {
    fn project(&mut self, to: Revision) {
        if !to.0.completions_capability {
            self.completions = None;
        }
        if !to.0.core_tasks {
            self.tasks = None;
        }
    }
}

impl Project for ClientCapabilities {
    fn project(&mut self, to: Revision) {
        if to.0.elicit == Elicit::Never {
            self.elicitation = None;
        }
        if to.0.elicit == Elicit::Plain {
            // That revision has forms only, which an empty object declares.
            self.elicitation = self.elicitation.take().filter(|e| e.allows_form()).map(|_| Default::default());
        }
        if !to.0.sampling_tools
            && let Some(sampling) = &mut self.sampling
        {
            (sampling.context, sampling.tools) = (None, None);
        }
        if !to.0.codec.has_sessions()
            && let Some(roots) = &mut self.roots
        {
            roots.list_changed = None;
        }
        if !to.0.core_tasks {
            self.tasks = None;
        }
    }
}

impl Project for Tool {
    fn project(&mut self, to: Revision) {
        if !to.0.tool_annotations {
            self.annotations = None;
        }
        if !to.0.titles {
            (self.title, self.meta) = (None, None);
        }
        if !to.0.icons {
            self.icons = None;
        }
        if !to.0.core_tasks {
            self.execution = None;
        }
        let keep = match to.0.structured {
            Structured::Never => false,
            Structured::Objects => self.output_schema.as_ref().is_some_and(is_object_schema),
            Structured::Any => true,
        };
        if !keep {
            self.output_schema = None;
        }
    }
}

fn is_object_schema(schema: &RawJson) -> bool {
    #[derive(serde::Deserialize)]
    struct Root {
        r#type: Option<String>,
    }
    schema.parse::<Root>().is_ok_and(|root| root.r#type.as_deref() == Some("object"))
}

impl Project for Prompt {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            (self.title, self.meta) = (None, None);
        }
        if !to.0.icons {
            self.icons = None;
        }
        self.arguments.iter_mut().flatten().for_each(|a| a.project(to));
    }
}

impl Project for PromptArgument {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            self.title = None;
        }
    }
}

impl Project for Resource {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            (self.title, self.meta) = (None, None);
        }
        if !to.0.icons {
            self.icons = None;
        }
        self.annotations.project(to);
    }
}

impl Project for ResourceTemplate {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            (self.title, self.meta) = (None, None);
        }
        if !to.0.icons {
            self.icons = None;
        }
        self.annotations.project(to);
    }
}

impl Project for Option<Annotations> {
    fn project(&mut self, to: Revision) {
        if let (Some(annotations), false) = (self, to.0.titles) {
            annotations.last_modified = None;
        }
    }
}

impl Project for ResourceContents {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            self.meta = None;
        }
    }
}

impl Project for ContentBlock {
    fn project(&mut self, to: Revision) {
        let titles = to.0.titles;
        match self {
            Self::Text(text) => {
                text.annotations.project(to);
                if !titles {
                    text.meta = None;
                }
            }
            Self::Image(image) => {
                image.annotations.project(to);
                if !titles {
                    image.meta = None;
                }
            }
            Self::Audio(audio) if !to.0.audio => {
                audio.annotations.project(to);
                *self = note(format!("[audio, {}]", audio.mime_type), audio.annotations.take());
            }
            Self::Audio(audio) => {
                audio.annotations.project(to);
                if !titles {
                    audio.meta = None;
                }
            }
            Self::Resource(embedded) => {
                embedded.annotations.project(to);
                embedded.resource.project(to);
                if !titles {
                    embedded.meta = None;
                }
            }
            Self::ResourceLink(link) if !to.0.resource_link => {
                link.annotations.project(to);
                *self = note(format!("[{}]({})", link.display_name(), link.uri), link.annotations.take());
            }
            Self::ResourceLink(link) => link.project(to),
            Self::ToolUse(_) => {}
            Self::ToolResult(ToolResultContent { content, structured_content, .. }) => {
                content.iter_mut().for_each(|b| b.project(to));
                project_structured(structured_content, to);
            }
            _ => {}
        }
    }
}

/// The text for a content block that the peer does not know.
fn note(text: String, annotations: Option<Annotations>) -> ContentBlock {
    let mut note = TextContent::new(text);
    note.annotations = annotations;
    ContentBlock::Text(note)
}

fn project_structured(content: &mut Option<RawJson>, to: Revision) {
    let keep = match to.0.structured {
        Structured::Never => false,
        Structured::Objects => content.as_ref().is_some_and(RawJson::is_object),
        Structured::Any => true,
    };
    if !keep {
        *content = None;
    }
}

impl Project for CallToolResult {
    fn is_failed_tool(&self) -> bool {
        self.is_error == Some(true)
    }

    fn project(&mut self, to: Revision) {
        self.result_type = None;
        if self.content.is_empty() {
            // A value that cannot be structured content becomes text.
            if let Some(data) = &self.structured_content {
                self.content.push(ContentBlock::text(data.get()));
            }
        }
        self.content.iter_mut().for_each(|b| b.project(to));
        project_structured(&mut self.structured_content, to);
    }

    fn take_long(&mut self) -> Option<(String, &'static [u8])> {
        let (text, front): (_, &[u8]) = match self.content.first_mut()? {
            ContentBlock::Text(block) => (&mut block.text, br#"{"content":[{"type":"text","text":""#),
            ContentBlock::Image(block) => (&mut block.data, br#"{"content":[{"type":"image","data":""#),
            ContentBlock::Audio(block) => (&mut block.data, br#"{"content":[{"type":"audio","data":""#),
            _ => return None,
        };
        (text.len() >= LONG).then(|| (std::mem::take(text), front))
    }

    fn put_back(&mut self, text: String) {
        match self.content.first_mut() {
            Some(ContentBlock::Text(block)) => block.text = text,
            Some(ContentBlock::Image(block)) => block.data = text,
            Some(ContentBlock::Audio(block)) => block.data = text,
            _ => {}
        }
    }

    fn size_hint(&self) -> usize {
        let block = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => text.text.len(),
            ContentBlock::Image(image) => image.data.len(),
            ContentBlock::Audio(audio) => audio.data.len(),
            _ => 128,
        };
        let data = self.structured_content.as_ref().map_or(0, |data| data.get().len());
        // Escapes make a text a little longer.
        self.content.iter().map(block).map(|size| 64 + size + size / 16).sum::<usize>() + data + 64
    }
}

impl Project for CallToolParams {
    fn project(&mut self, to: Revision) {
        if !to.0.core_tasks {
            self.task = None;
        }
    }
}

impl Project for GetPromptResult {
    fn project(&mut self, to: Revision) {
        self.result_type = None;
        self.messages.iter_mut().for_each(|m| m.content.project(to));
    }
}

impl Project for CompleteParams {
    fn project(&mut self, to: Revision) {
        if !to.0.titles {
            self.context = None;
            if let CompletionReference::Prompt(prompt) = &mut self.reference {
                prompt.title = None;
            }
        }
    }
}

impl Project for ProgressParams {
    fn project(&mut self, to: Revision) {
        if !to.0.progress_message {
            self.message = None;
        }
    }
}

impl Project for ListRootsResult {
    fn project(&mut self, to: Revision) {
        self.result_type = None;
        if !to.0.titles {
            self.roots.iter_mut().for_each(|r| r.meta = None);
        }
    }
}

impl Project for CreateMessageResult {
    fn project(&mut self, to: Revision) {
        self.result_type = None;
        project_sampling(&mut self.content, to);
    }

    fn unspeakable(&self, to: Revision) -> Option<&'static str> {
        let blocks = self.content.blocks();
        let uses_tool = blocks.iter().any(|b| matches!(b, ContentBlock::ToolUse(_)));
        let plain = to.0.sampling_tools || (blocks.len() == 1 && !uses_tool);
        (!plain).then_some("this revision takes one block of content that uses no tool")
    }
}

fn project_sampling(content: &mut SamplingContent, to: Revision) {
    match content {
        SamplingContent::One(block) => block.project(to),
        SamplingContent::Many(blocks) => blocks.iter_mut().for_each(|b| b.project(to)),
    }
    // One block in a list is the same as one block, and every revision knows that.
    if let (false, SamplingContent::Many(blocks)) = (to.0.sampling_tools, &mut *content)
        && blocks.len() == 1
    {
        *content = SamplingContent::One(blocks.remove(0));
    }
}

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
    pub(crate) fn render(self, revision: Revision, can: &ClientCapabilities) -> Result<InputRequest, RpcError> {
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
fn is_web_address(url: &str) -> bool {
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

#[cfg(test)]
mod tests;
