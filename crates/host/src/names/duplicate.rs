//! URIs that more than one server lists.

use std::{fmt, sync::Arc};

use super::{Kind, ServerId};

/// A resource or resource template that more than one server of a view lists. The first server of the configuration owns it,
/// and the view does not show those of the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Duplicate {
    /// Whether it is a resource or a template.
    pub kind: Kind,
    /// The URI or the URI template.
    pub uri: Arc<str>,
    /// The server that owns it.
    pub owner: ServerId,
    /// The other servers that list it, in the order of the view.
    pub others: Vec<ServerId>,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<_> = self.others.iter().map(|server| format!("`{server}`")).collect();
        let Self { kind, owner, .. } = self;
        let (uri, others) = (couplet_core::visible(&self.uri), others.join(", "));
        write!(
            f,
            "the {kind} `{uri}` of `{owner}` is listed by {others}, too: `{owner}` serves it, as the first of them"
        )
    }
}
