//! The four lists of a server.

use std::ops::BitOr;

use couplet_types::{ListPrompts, ListResourceTemplates, ListResources, ListTools, Request, ServerCapabilities};

/// A list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum List {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources.
    Resources,
    /// Resource templates.
    Templates,
}

impl List {
    /// All lists.
    pub const ALL: [Self; Self::COUNT] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];
    pub(crate) const COUNT: usize = 4;

    /// Returns the position in [`List::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => ListTools::METHOD,
            Self::Prompts => ListPrompts::METHOD,
            Self::Resources => ListResources::METHOD,
            Self::Templates => ListResourceTemplates::METHOD,
        }
    }

    /// The member of the result with the definitions.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of a definition that identifies it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Whether a server with these capabilities notifies of changes.
    pub(super) fn notifies(self, server: &ServerCapabilities) -> bool {
        let declared = match self {
            Self::Tools => server.tools.as_ref().and_then(|tools| tools.list_changed),
            Self::Prompts => server.prompts.as_ref().and_then(|prompts| prompts.list_changed),
            Self::Resources | Self::Templates => server.resources.as_ref().and_then(|resources| resources.list_changed),
        };
        declared == Some(true)
    }

    /// The singular, for reports.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }
}

/// A set of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListSet(u8);

impl ListSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TOOLS: Self = Self(1 << List::Tools.index());
    pub(crate) const PROMPTS: Self = Self(1 << List::Prompts.index());
    /// Both lists change with one notification.
    pub(crate) const RESOURCES: Self = Self(1 << List::Resources.index() | 1 << List::Templates.index());
    pub(crate) const ALL: Self = Self(0b1111);

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, list: List) -> bool {
        self.0 & Self::from(list).0 != 0
    }
}

impl From<List> for ListSet {
    fn from(list: List) -> Self {
        Self(1 << list.index())
    }
}

impl BitOr for ListSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
