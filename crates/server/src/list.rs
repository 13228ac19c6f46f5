//! The lists of a server: tools, prompts, resources and resource templates.

use couplet_core::{Call, ResultBody};
use couplet_types::{
    CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, RpcError,
    ServerCapabilities,
};

use crate::{inner::Inner, registry::Listing, resource::ResourceDef, tool::ToolDef};

/// A list of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

impl List {
    /// The member of the result that has the entries.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }

    /// The member of an entry that identifies it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        }
    }

    /// Whether a server with these capabilities has the list.
    pub(crate) fn is_served(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::ResourceTemplates => capabilities.resources.is_some(),
        }
    }

    /// One page of the list, without mounted servers.
    ///
    /// # Errors
    /// -32602 if the cursor is not one of this list.
    pub(crate) fn page(self, inner: &Inner, call: &Call) -> Result<ResultBody, RpcError> {
        let cursor: Option<String> = call.params.read_opt("cursor")?;
        let (cursor, size, revision) = (cursor.as_deref(), inner.config.page_size, call.revision);
        match self {
            Self::Tools => list_tools(inner, call, cursor),
            Self::Prompts => inner.prompts.get().page(
                Listing::PROMPTS,
                cursor,
                size,
                revision,
                |p| Some(p.spec.clone()),
                |prompts, next| {
                    let mut result = ListPromptsResult::new(prompts);
                    result.next_cursor = next;
                    revision.done(result)
                },
            ),
            Self::Resources => inner.resources.get().page(
                Listing::RESOURCES,
                cursor,
                size,
                revision,
                ResourceDef::listed,
                |resources, next| {
                    let mut result = ListResourcesResult::new(resources);
                    result.next_cursor = next;
                    revision.done(result)
                },
            ),
            Self::ResourceTemplates => inner.resources.get().page(
                Listing::TEMPLATES,
                cursor,
                size,
                revision,
                ResourceDef::listed_template,
                |templates, next| {
                    let mut result = ListResourceTemplatesResult::new(templates);
                    result.next_cursor = next;
                    revision.done(result)
                },
            ),
        }
    }
}

/// The tools; without those that the caller may not call, where the server hides them.
fn list_tools(inner: &Inner, call: &Call, cursor: Option<&str>) -> Result<ResultBody, RpcError> {
    let (size, revision, tools) = (inner.config.page_size, call.revision, inner.tools.get());
    let done = |tools, next, scope| {
        let mut result = ListToolsResult::new(tools);
        (result.next_cursor, result.cache_scope) = (next, scope);
        revision.done(result)
    };
    if !inner.hides_tools() {
        let encode = |tools, next| done(tools, next, None);
        return tools.page(Listing::TOOLS, cursor, size, revision, |t| Some(t.spec.clone()), encode);
    }
    let shown = |tool: &ToolDef<()>| inner.shows(tool, call).then(|| tool.spec.clone());
    // The list depends on the caller.
    let encode = |tools, next| done(tools, next, Some(CacheScope::Private));
    tools.page_for_caller(Listing::TOOLS, cursor, size, shown, encode)
}
