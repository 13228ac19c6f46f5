//! The lists of a server: tools, prompts, resources and resource templates.

use couplet_core::{Call, ResultBody};
use couplet_types::{
    CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, RpcError,
    ServerCapabilities,
};

use crate::{
    definition::Definition,
    inner::Inner,
    prompt::PromptDef,
    registry::{Listing, Set},
    resource::ResourceDef,
    tool::ToolDef,
};

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
        let (cursor, revision) = (cursor.as_deref(), call.revision);
        match self {
            Self::Tools => {
                let (tools, item) = (inner.tools.get(), |t: &ToolDef<()>| Some(t.spec.clone()));
                page(inner, call, Listing::TOOLS, cursor, &tools, item, |tools, next, scope| {
                    let mut result = ListToolsResult::new(tools);
                    (result.next_cursor, result.cache_scope) = (next, scope);
                    revision.encode(result)
                })
            }
            Self::Prompts => {
                let (prompts, item) = (inner.prompts.get(), |p: &PromptDef<()>| Some(p.spec.clone()));
                page(inner, call, Listing::PROMPTS, cursor, &prompts, item, |prompts, next, scope| {
                    let mut result = ListPromptsResult::new(prompts);
                    (result.next_cursor, result.cache_scope) = (next, scope);
                    revision.encode(result)
                })
            }
            Self::Resources => {
                let (resources, item) = (inner.resources.get(), ResourceDef::listed);
                page(inner, call, Listing::RESOURCES, cursor, &resources, item, |resources, next, scope| {
                    let mut result = ListResourcesResult::new(resources);
                    (result.next_cursor, result.cache_scope) = (next, scope);
                    revision.encode(result)
                })
            }
            Self::ResourceTemplates => {
                let (resources, item) = (inner.resources.get(), ResourceDef::listed_template);
                page(inner, call, Listing::TEMPLATES, cursor, &resources, item, |templates, next, scope| {
                    let mut result = ListResourceTemplatesResult::new(templates);
                    (result.next_cursor, result.cache_scope) = (next, scope);
                    revision.encode(result)
                })
            }
        }
    }
}

/// One page of a list. Where the server hides definitions from callers that lack their scopes, the page is made for this
/// caller, and clients may cache it for this caller only.
fn page<D: Definition, T>(
    inner: &Inner,
    call: &Call,
    listing: Listing,
    cursor: Option<&str>,
    set: &Set<D>,
    item: impl Fn(&D) -> Option<T>,
    result: impl Fn(Vec<T>, Option<String>, Option<CacheScope>) -> ResultBody,
) -> Result<ResultBody, RpcError> {
    let size = inner.config.page_size;
    if !inner.hides_some(set) {
        return set.page(listing, cursor, size, call.revision, item, |items, next| result(items, next, None));
    }
    let shown = |definition: &D| inner.shows(definition, call).then(|| item(definition)).flatten();
    set.page_for_caller(listing, cursor, size, shown, |items, next| result(items, next, Some(CacheScope::Private)))
}
