//! Several services of one.

use std::{collections::BTreeMap, fmt, sync::Arc};

use couplet_core::{IntoService, Service};

use crate::transform::Transform;

/// A service whose tools, prompts and resources have tags. Each tag becomes a service of its own.
///
/// Items are named by patterns, in which `*` stands for any characters; resources by URIs, URI templates or patterns of
/// them. An item may have several tags.
///
/// ```
/// use couplet_server::{Server, tool};
/// use couplet_transform::Split;
///
/// let server: Server = Server::new("shop", "1.0.0")
///     .tool(tool("find", || "…"))
///     .tool(tool("order_add", || "…"))
///     .tool(tool("admin_purge", || "…"));
/// let shop = Split::new(server).tools("customers", ["find", "order_*"]).tools("staff", ["find", "admin_*"]);
/// let (customers, staff) = (shop.part("customers"), shop.part("staff"));
/// # drop((customers, staff));
/// ```
#[derive(Clone)]
pub struct Split {
    service: Arc<dyn Service>,
    tags: BTreeMap<String, Tagged>,
}

/// The patterns of a tag.
#[derive(Clone, Default)]
struct Tagged {
    tools: Vec<String>,
    prompts: Vec<String>,
    resources: Vec<String>,
}

impl Split {
    /// Wraps a service whose items have no tags yet.
    #[track_caller]
    pub fn new(service: impl IntoService) -> Self {
        Self { service: service.into_service(), tags: BTreeMap::new() }
    }

    /// Gives tools a tag.
    #[must_use]
    pub fn tools(mut self, tag: &str, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tag(tag).tools.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Gives prompts a tag.
    #[must_use]
    pub fn prompts(mut self, tag: &str, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tag(tag).prompts.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Gives resources and resource templates a tag.
    #[must_use]
    pub fn resources(mut self, tag: &str, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tag(tag).resources.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Returns the service with the items of a tag. It can be transformed further.
    ///
    /// # Panics
    /// If there is no such tag, or if a pattern of it is empty.
    #[track_caller]
    pub fn part(&self, tag: &str) -> Transform {
        let Some(items) = self.tags.get(tag) else { panic!("there is no tag `{tag}`") };
        Transform::new(self.service.clone())
            .only_tools(items.tools.iter().map(String::as_str))
            .only_prompts(items.prompts.iter().map(String::as_str))
            .only_resources(items.resources.iter().map(String::as_str))
    }

    /// Returns the service with the items that have no tag.
    ///
    /// # Panics
    /// If a pattern of a tag is empty.
    #[track_caller]
    pub fn rest(&self) -> Transform {
        let mut rest = Transform::new(self.service.clone());
        for items in self.tags.values() {
            rest = items.tools.iter().fold(rest, |rest, pattern| rest.hide_tools(pattern));
            rest = items.prompts.iter().fold(rest, |rest, pattern| rest.hide_prompts(pattern));
            rest = items.resources.iter().fold(rest, |rest, pattern| rest.hide_resources(pattern));
        }
        rest
    }

    fn tag(&mut self, tag: &str) -> &mut Tagged {
        self.tags.entry(tag.to_owned()).or_default()
    }
}

impl fmt::Debug for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags: Vec<_> = self.tags.keys().collect();
        f.debug_struct("Split").field("service", &self.service).field("tags", &tags).finish_non_exhaustive()
    }
}
