//! Prompts and resources: their names and texts.

use couplet_core::{Fault, JsonText, Revision, message::Params};

/// The changes to one prompt.
///
/// ```
/// use couplet_transform::PromptTransform;
///
/// let prompt = PromptTransform::new().name("summary").title("Summary").description("Summarizes a text.");
/// # drop(prompt);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptTransform {
    pub(crate) name: Option<String>,
    pub(crate) texts: Texts,
}

/// The changes to one resource or resource template.
///
/// ```
/// use couplet_transform::ResourceTransform;
///
/// let menu = ResourceTransform::new().title("Menu").description("The dishes of this week.");
/// # drop(menu);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTransform {
    pub(crate) texts: Texts,
}

/// A title and a description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    title: Option<String>,
    description: Option<String>,
}

impl PromptTransform {
    /// Creates a transform without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name that callers use.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the title, for revisions that have titles.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.texts.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.texts.description = Some(text.into());
        self
    }
}

impl ResourceTransform {
    /// Creates a transform without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the title, for revisions that have titles.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.texts.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.texts.description = Some(text.into());
        self
    }
}

impl Texts {
    pub(crate) fn definition(&self, mut item: Params, revision: Revision) -> Result<Params, Fault> {
        if let Some(title) = self.title.as_ref().filter(|_| revision.has_titles()) {
            item = item.with("title", &JsonText::string(title))?;
        }
        if let Some(description) = &self.description {
            item = item.with("description", &JsonText::string(description))?;
        }
        Ok(item)
    }
}
