//! Projection of values to what a revision can represent.
//!
//! Members that the peer would not understand are removed, or converted into something that it does understand. Nothing is
//! refused unless the meaning would change.

mod ask;

use couplet_types::{
    Annotations, CallToolParams, CallToolResult, ClientCapabilities, CompleteParams, CompleteResult,
    CompletionReference, ContentBlock, CreateMessageResult, DiscoverParams, DiscoverResult, ElicitResult,
    ElicitationCompleteParams, EmptyResult, GetPromptParams, GetPromptResult, Implementation, InitializeParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsParams,
    ListRootsResult, ListToolsResult, ListenParams, LogParams, PaginatedParams, PingParams, ProgressParams, Prompt,
    PromptArgument, RawJson, ReadResourceParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    SamplingContent, ServerCapabilities, SetLevelParams, SubscribeParams, TextContent, Tool, ToolResultContent,
    UnsubscribeParams,
};

pub use self::ask::Ask;
use super::revision::{Elicit, Revision, Structured};
use crate::{message::Params, service::CacheHint};

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

impl Revision {
    /// Returns whether the tool result with these members is the same in this revision, whichever it was made for, so that
    /// it can be relayed without being parsed.
    pub fn relays_tool_result(self, result: &Params) -> bool {
        let (content, data) = (result.get("content"), result.get("structuredContent"));
        self.relays_content(
            content.as_ref().map(|text| &**text.as_bytes()),
            data.as_ref().map(|text| &**text.as_bytes()),
        )
    }

    /// The same with the members of the result that differ between revisions.
    pub(crate) fn relays_content(self, content: Option<&[u8]>, data: Option<&[u8]>) -> bool {
        let revision = self.0;
        if !(revision.titles && revision.icons && revision.audio && revision.resource_link) {
            return false;
        }
        let Some(blocks) = content.and_then(|content| content.strip_prefix(b"[")) else { return false };
        let is_empty = || blocks.trim_ascii_start().starts_with(b"]");
        match data {
            None => true,
            // Without content it becomes text.
            Some(data) => !is_empty() && is_structured(revision.structured, data),
        }
    }
}

fn is_structured(structured: Structured, data: &[u8]) -> bool {
    match structured {
        Structured::Never => false,
        Structured::Objects => data.starts_with(b"{"),
        Structured::Any => data != b"null",
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

#[cfg(test)]
mod tests;
