//! The definitions that a client is generated from.

use couplet_types::{Prompt, ResourceTemplate, Tool};

/// The definitions of a server: what it lists.
///
/// ```
/// use couplet_generate::Definitions;
/// use couplet_types::{RawJson, Tool};
///
/// let definitions = Definitions::new()
///     .server("weather")
///     .tools(vec![Tool::new("forecast", RawJson::from_text(r#"{"type":"object"}"#)?)]);
/// assert_eq!(definitions.tools.len(), 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Definitions {
    /// The name that the server reports.
    pub server: Option<String>,
    /// The tools.
    pub tools: Vec<Tool>,
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// The resource templates.
    pub templates: Vec<ResourceTemplate>,
}

impl Definitions {
    /// Creates an empty set of definitions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the server.
    #[must_use]
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn tools(mut self, tools: Vec<Tool>) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the prompts.
    #[must_use]
    pub fn prompts(mut self, prompts: Vec<Prompt>) -> Self {
        self.prompts = prompts;
        self
    }

    /// Sets the resource templates.
    #[must_use]
    pub fn templates(mut self, templates: Vec<ResourceTemplate>) -> Self {
        self.templates = templates;
        self
    }
}
