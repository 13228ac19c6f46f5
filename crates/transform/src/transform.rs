//! A service under other names, with other texts, or in part.

mod calls;

use std::{collections::HashMap, fmt, sync::Arc};

use couplet_core::{IntoService, Service};

use crate::{
    glob::Glob,
    items::{PromptTransform, ResourceTransform, Texts},
    names::Names,
    tool::ToolTransform,
    uris::Uris,
};

/// A service whose tools, prompts and resources have other names and texts, or are hidden.
///
/// Lists, calls, reads, completions, subscriptions, required scopes and mirrored headers all follow the same rules. An item
/// that is hidden does not exist: a call of it fails like one of an unknown name. A renamed item is known by its new name
/// only, and hides an item of the service that has that name. Errors contain the names that the caller knows.
///
/// The rules are about the names of the wrapped service. They are functions of names alone, so no call waits for a list.
/// URIs are not changed.
///
/// ```
/// use couplet_core::IntoService;
/// use couplet_server::{Server, tool};
/// use couplet_transform::{ToolTransform, Transform};
/// use couplet_types::ToolAnnotations;
/// # couplet_testing::block_on(async {
///
/// let server: Server = Server::new("shop", "1.0.0")
///     .tool(tool("q", || "3 books"))
///     .tool(tool("delete_all", || "gone"));
/// let books = ToolTransform::new()
///     .name("find_books")
///     .description("Searches the catalog.")
///     .annotations(ToolAnnotations::new().read_only_hint(true));
/// let shop = Transform::new(server).tool("q", books).hide_tools("delete_*").into_service();
///
/// let client = couplet_client::Client::new("test", "1.0.0").connect(shop).await?;
/// assert_eq!(client.call("find_books", ()).await?.text(), "3 books");
/// assert!(client.call("q", ()).await.is_err() && client.call("delete_all", ()).await.is_err());
/// # Ok::<(), couplet_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Transform {
    service: Arc<dyn Service>,
    rules: Arc<Rules>,
}

/// What is changed.
#[derive(Clone, Default)]
struct Rules {
    tools: Names,
    /// By the names inside.
    tool_changes: HashMap<String, Arc<ToolTransform>>,
    prompts: Names,
    prompt_texts: HashMap<String, Texts>,
    uris: Uris,
    uri_texts: HashMap<String, Texts>,
}

impl Transform {
    /// Wraps a service, without changes.
    #[track_caller]
    pub fn new(service: impl IntoService) -> Self {
        Self { service: service.into_service(), rules: Arc::default() }
    }

    /// Changes a tool, by the service's name of it.
    ///
    /// # Panics
    /// If another tool has the same new name, or if the new name is empty.
    #[must_use]
    #[track_caller]
    pub fn tool(self, tool: impl Into<String>, change: ToolTransform) -> Self {
        let tool = tool.into();
        self.with(|rules| {
            if let Some(name) = &change.name {
                rules.tools.rename(&tool, name);
            }
            rules.tool_changes.insert(tool, Arc::new(change));
        })
    }

    /// Changes a prompt, by the service's name of it.
    ///
    /// # Panics
    /// If another prompt has the same new name, or if the new name is empty.
    #[must_use]
    #[track_caller]
    pub fn prompt(self, prompt: impl Into<String>, change: PromptTransform) -> Self {
        let prompt = prompt.into();
        self.with(|rules| {
            if let Some(name) = &change.name {
                rules.prompts.rename(&prompt, name);
            }
            rules.prompt_texts.insert(prompt, change.texts);
        })
    }

    /// Changes a resource or a resource template, by its URI or its URI template.
    #[must_use]
    pub fn resource(self, uri: impl Into<String>, change: ResourceTransform) -> Self {
        self.with(|rules| drop(rules.uri_texts.insert(uri.into(), change.texts)))
    }

    /// Hides the tools whose name at the service matches a pattern, in which `*` stands for any characters.
    ///
    /// # Panics
    /// If the pattern is empty or [too long](Glob::LONGEST).
    #[must_use]
    #[track_caller]
    pub fn hide_tools(self, pattern: &str) -> Self {
        let pattern = glob(pattern);
        self.with(|rules| rules.tools.hide(pattern))
    }

    /// Hides the prompts whose name at the service matches a pattern.
    ///
    /// # Panics
    /// If the pattern is empty or [too long](Glob::LONGEST).
    #[must_use]
    #[track_caller]
    pub fn hide_prompts(self, pattern: &str) -> Self {
        let pattern = glob(pattern);
        self.with(|rules| rules.prompts.hide(pattern))
    }

    /// Hides the resources and resource templates whose URI or URI template matches a pattern. A pattern that is a URI
    /// template also hides all resources that the template stands for.
    ///
    /// # Panics
    /// If the pattern is empty or [too long](Glob::LONGEST).
    #[must_use]
    #[track_caller]
    pub fn hide_resources(self, pattern: &str) -> Self {
        let pattern = glob(pattern);
        self.with(|rules| rules.uris.hide(pattern))
    }

    /// Hides all tools but those that match a pattern here. With no pattern, it hides all.
    ///
    /// # Panics
    /// If a pattern is empty or [too long](Glob::LONGEST).
    #[must_use]
    #[track_caller]
    pub fn only_tools<'p>(self, patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let patterns = globs(patterns);
        self.with(|rules| rules.tools.only(patterns))
    }

    /// Hides all prompts but those that match a pattern here. With no pattern, it hides all.
    ///
    /// # Panics
    /// If a pattern is empty or [too long](Glob::LONGEST).
    #[must_use]
    #[track_caller]
    pub fn only_prompts<'p>(self, patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let patterns = globs(patterns);
        self.with(|rules| rules.prompts.only(patterns))
    }

    /// Hides all resources and resource templates but those that match a pattern here: see
    /// [`Transform::hide_resources`]. With no pattern, it hides all.
    ///
    /// # Panics
    /// If a pattern is empty or [too long](Glob::LONGEST).
    #[must_use]
    #[track_caller]
    pub fn only_resources<'p>(self, patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let patterns = globs(patterns);
        self.with(|rules| rules.uris.only(patterns))
    }

    #[track_caller]
    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(&mut self.rules));
        self
    }
}

#[track_caller]
fn glob(pattern: &str) -> Glob {
    Glob::new(pattern).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn globs<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Vec<Glob> {
    let mut globs = Vec::new();
    for pattern in patterns {
        globs.push(glob(pattern));
    }
    globs
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform").field("service", &self.service).finish_non_exhaustive()
    }
}
