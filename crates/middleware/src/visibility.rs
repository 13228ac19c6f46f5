//! What a caller sees, and what a caller may call: one rule for both.

use std::{fmt, sync::Arc};

use couplet_core::{
    BoxFuture, Call, Caller, IntoService, JsonText, Reply, ResultBody, Sender, Service, Wrap, message::Params,
};
use couplet_types::{CompletionReference, RawJson, RequestMethod, RpcError};
use serde_json::Value;

use crate::{
    names::caller,
    tags::Tags,
    templates::{Template, Templates},
};

/// A server whose callers see only a part of it: one rule decides what is listed, and what can be called, read,
/// completed and subscribed to.
///
/// A hidden item does not exist for the caller: a call of it fails like one of an unknown name. A URI that only a hidden
/// template matches is hidden, too; a subscription is decided by the URI alone. Lists that depend on the caller are cached
/// for that caller only.
///
/// A read needs no list where the service [knows](Service::template_of) the template that serves it. Otherwise templates
/// are cached for each caller until the service notifies of a change, and for at most a minute; those of a service that
/// notifies of none are listed for each read.
///
/// It wraps any service: a server of one's own with all that is mounted in it, or a proxy.
///
/// ```
/// use std::sync::Arc;
///
/// use couplet_core::{Caller, Service};
/// use couplet_middleware::{Item, Visibility};
/// use couplet_server::{Server, tool};
///
/// let server: Server = Server::new("app", "1.0.0").tool(tool("read", || "…")).tool(tool("delete_all", || "…"));
/// let rule = |caller: Option<&Caller>, item: Item<'_>| match item {
///     Item::Tool(name) if name.starts_with("delete") => caller.is_some_and(|caller| caller.has_scope("admin")),
///     _ => true,
/// };
/// let service: Arc<dyn Service> = Arc::new(Visibility::new(server, rule));
/// # drop(service);
/// ```
#[derive(Clone)]
pub struct Visibility {
    service: Arc<dyn Service>,
    rule: Rule,
    templates: Arc<Templates>,
}

type CallerRule = dyn Fn(Option<&Caller>, Item<'_>) -> bool + Send + Sync;

/// What decides.
#[derive(Clone)]
enum Rule {
    Caller(Arc<CallerRule>),
    Tags(Arc<Tags>),
}

/// An item of a server, by its name or URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A tool, by its name.
    Tool(&'a str),
    /// A prompt, by its name.
    Prompt(&'a str),
    /// A resource, by its URI, whether it is listed or matches a template.
    Resource(&'a str),
    /// A resource template, by its URI template.
    ResourceTemplate(&'a str),
}

/// The list of a kind of item: the member of the result, and the member that names an item.
type Listing = (&'static str, &'static str, for<'a> fn(&'a str) -> Item<'a>);

const TOOLS: Listing = ("tools", "name", |name| Item::Tool(name));
const PROMPTS: Listing = ("prompts", "name", |name| Item::Prompt(name));
const RESOURCES: Listing = ("resources", "uri", |uri| Item::Resource(uri));
const TEMPLATES: Listing = ("resourceTemplates", "uriTemplate", |template| Item::ResourceTemplate(template));

/// The maximum number of pages of a list that are looked at for one read.
const MAX_PAGES: usize = 100;

impl Visibility {
    /// Wraps a server. The rule is asked for each item of a list and for each call; it must be fast, and must not depend on
    /// anything but the caller and the item.
    #[track_caller]
    pub fn new(
        server: impl IntoService,
        rule: impl Fn(Option<&Caller>, Item<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::of(server.into_service(), Rule::Caller(Arc::new(rule)))
    }

    /// Wraps a server whose items have tags, which sessions enable and disable. Subscriptions are decided by the default of
    /// the tags.
    #[track_caller]
    pub fn by_tags(server: impl IntoService, tags: Tags) -> Self {
        Self::of(server.into_service(), Rule::Tags(Arc::new(tags)))
    }

    fn of(service: Arc<dyn Service>, rule: Rule) -> Self {
        Self { service, rule, templates: Arc::default() }
    }

    fn shows(&self, call: &Call, item: Item<'_>) -> bool {
        match &self.rule {
            Rule::Caller(rule) => rule(call.caller.as_deref(), item),
            Rule::Tags(tags) => tags.shows(call, item),
        }
    }

    /// Returns whether an item is visible to the sender of a request.
    fn shows_to(&self, sender: Sender<'_>, item: Item<'_>) -> bool {
        match &self.rule {
            Rule::Caller(rule) => rule(sender.caller, item),
            Rule::Tags(tags) => tags.shows_to(sender, item),
        }
    }

    /// Returns whether the item of a request is visible to its sender. A URI is one of the template that serves it.
    fn shows_target(&self, method: RequestMethod, params: &Params, sender: Sender<'_>) -> bool {
        let shows_uri = |uri: &str| {
            let template = self.service.template_of(uri);
            self.shows_to(sender, Item::Resource(uri))
                && template.is_none_or(|template| self.shows_to(sender, Item::ResourceTemplate(&template)))
        };
        let read = |key: &str| params.read_str(key).ok().flatten();
        match method {
            RequestMethod::CallTool => read("name").is_none_or(|name| self.shows_to(sender, Item::Tool(&name))),
            RequestMethod::GetPrompt => read("name").is_none_or(|name| self.shows_to(sender, Item::Prompt(&name))),
            RequestMethod::ReadResource => read("uri").is_none_or(|uri| shows_uri(&uri)),
            RequestMethod::Complete => match params.read_opt::<CompletionReference>("ref") {
                Ok(Some(CompletionReference::Prompt(prompt))) => self.shows_to(sender, Item::Prompt(&prompt.name)),
                Ok(Some(CompletionReference::Resource(resource))) => {
                    self.shows_to(sender, Item::ResourceTemplate(&resource.uri))
                        && (resource.uri.contains('{') || shows_uri(&resource.uri))
                }
                _ => true,
            },
            _ => true,
        }
    }

    /// Lists, and removes what is hidden.
    async fn list(self, call: Call, listing: Listing) -> Reply {
        match self.service.call(call.clone()).await {
            Reply::Complete(body) => match self.visible(&call, &body, listing) {
                Some(members) => Reply::Complete(body.with_members(&members).private()),
                None => Reply::Error(RpcError::internal("the list cannot be filtered")),
            },
            reply => reply,
        }
    }

    /// Returns the members of a list without hidden items. All other text stays as it is.
    fn visible(&self, call: &Call, body: &ResultBody, (member, key, item): Listing) -> Option<JsonText> {
        let members = Params::from_text(body.members()).ok()?;
        let items: Vec<RawJson> = members.get(member)?.parse().ok()?;
        let is_shown = |raw: &&RawJson| {
            let value: Option<Value> = raw.parse().ok();
            value.as_ref().and_then(|value| value[key].as_str()).is_some_and(|name| self.shows(call, item(name)))
        };
        let shown: Vec<&str> = items.iter().filter(is_shown).map(RawJson::get).collect();
        let list = JsonText::new(format!("[{}]", shown.join(","))).ok()?;
        Some(members.with(member, &list).ok()?.text().clone())
    }

    /// Reads a resource that is visible.
    async fn read(self, call: Call, uri: String) -> Reply {
        if !self.shows_uri(&call, &uri).await {
            return Reply::Error(call.revision.resource_not_found(&uri));
        }
        self.without_hints(&call, self.service.call(call.clone()).await, RESOURCES)
    }

    /// Returns whether a resource is visible: by its own URI, and by the templates that match it.
    async fn shows_uri(&self, call: &Call, uri: &str) -> bool {
        if !self.shows(call, Item::Resource(uri)) {
            return false;
        }
        let serves = self.service.template_of(uri);
        if serves.is_some_and(|template| self.shows(call, Item::ResourceTemplate(&template))) {
            return true;
        }
        let templates = self.templates(call).await;
        let (shown, hidden): (Vec<_>, Vec<_>) = templates
            .iter()
            .filter(|template| template.matches(uri))
            .partition(|template| self.shows(call, Item::ResourceTemplate(&template.text)));
        if !shown.is_empty() || hidden.is_empty() {
            return true;
        }
        // A listed resource is not one of the template.
        self.all(call, RequestMethod::ListResources, RESOURCES).await.names.iter().any(|listed| listed == uri)
    }

    /// Returns all templates, also hidden ones.
    async fn templates(&self, call: &Call) -> Arc<[Template]> {
        let caller = caller(call);
        let (known, generation) = self.templates.get(&self.service, &caller);
        if let Some(known) = known {
            return known;
        }
        let Names { names, is_private, is_complete } =
            self.all(call, RequestMethod::ListResourceTemplates, TEMPLATES).await;
        let templates = names.into_iter().map(Template::new).collect();
        // Callers without a name may have lists of their own all the same.
        if is_complete && !(is_private && caller.is_empty()) {
            self.templates.store(&self.service, caller, &templates, generation);
        }
        templates
    }

    /// Returns the names of all items of a list, also of hidden ones.
    async fn all(&self, call: &Call, method: RequestMethod, (member, key, _): Listing) -> Names {
        let (mut all, mut cursor) = (Names::default(), None);
        for _ in 0..MAX_PAGES {
            let Some((page, is_private)) = self.page(call, method, cursor.as_ref()).await else { break };
            let items = page[member].as_array().into_iter().flatten();
            all.names.extend(items.filter_map(|item| item[key].as_str()).map(str::to_owned));
            all.is_private |= is_private;
            cursor = page.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
            if cursor.is_none() {
                all.is_complete = true;
                break;
            }
        }
        all
    }

    /// Returns a page of a list, and whether it is one for this caller only.
    async fn page(&self, call: &Call, method: RequestMethod, cursor: Option<&Value>) -> Option<(Value, bool)> {
        let mut list = call.clone();
        list.method = method.as_str().into();
        list.params = match cursor {
            Some(cursor) => Params::default().with("cursor", &JsonText::new(cursor.to_string()).ok()?).ok()?,
            None => Params::default(),
        };
        match self.service.call(list).await {
            Reply::Complete(body) => Some((serde_json::from_str(body.members().as_str()).ok()?, body.is_private())),
            _ => None,
        }
    }

    /// Removes a suggestion that names a hidden item from an error.
    fn without_hints(&self, call: &Call, reply: Reply, (_, _, item): Listing) -> Reply {
        let Reply::Error(mut error) = reply else { return reply };
        if let Some((start, name)) = suggestion(&error.message)
            && !self.shows(call, item(name))
        {
            error.message.truncate(start);
        }
        Reply::Error(error)
    }

    /// Calls what is visible.
    fn named(&self, call: Call, what: &'static str, listing: Listing) -> BoxFuture<'static, Reply> {
        let (_, _, item) = listing;
        let name = call.params.read_str("name").ok().flatten().map(std::borrow::Cow::into_owned);
        if let Some(name) = name.filter(|name| !self.shows(&call, item(name))) {
            let error = RpcError::invalid_params(format!("there is no {what} `{name}`"));
            return Box::pin(std::future::ready(Reply::Error(error)));
        }
        let this = self.clone();
        Box::pin(async move {
            let reply = this.service.call(call.clone()).await;
            this.without_hints(&call, reply, listing)
        })
    }

    /// Completes an argument of a prompt or template that is visible.
    async fn complete(self, call: Call) -> Reply {
        let (is_shown, what, name, listing) = match call.params.read_opt::<CompletionReference>("ref") {
            Ok(Some(CompletionReference::Prompt(prompt))) => {
                (self.shows(&call, Item::Prompt(&prompt.name)), "prompt", prompt.name, PROMPTS)
            }
            Ok(Some(CompletionReference::Resource(resource))) => {
                // Some servers also take the URI of a resource.
                let is_template = resource.uri.contains('{');
                let is_shown = self.shows(&call, Item::ResourceTemplate(&resource.uri))
                    && (is_template || self.shows_uri(&call, &resource.uri).await);
                (is_shown, "resource template", resource.uri, TEMPLATES)
            }
            _ => return self.service.call(call).await,
        };
        if !is_shown {
            return Reply::Error(RpcError::invalid_params(format!("there is no {what} `{name}`")));
        }
        self.without_hints(&call, self.service.call(call.clone()).await, listing)
    }
}

/// The names of the items of a list.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    is_private: bool,
    is_complete: bool,
}

/// Finds a suggestion at the end of a message: where it starts, and the name.
fn suggestion(message: &str) -> Option<(usize, &str)> {
    const START: &str = "; did you mean `";
    let start = message.rfind(START)?;
    let name = message[start + START.len()..].strip_suffix("`?")?;
    Some((start, name))
}

impl Wrap for Visibility {
    fn inner(&self) -> &Arc<dyn Service> {
        &self.service
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        use RequestMethod as M;
        let this = self.clone();
        match call.known() {
            Some(M::ListTools) => Box::pin(this.list(call, TOOLS)),
            Some(M::ListPrompts) => Box::pin(this.list(call, PROMPTS)),
            Some(M::ListResources) => Box::pin(this.list(call, RESOURCES)),
            Some(M::ListResourceTemplates) => Box::pin(this.list(call, TEMPLATES)),
            Some(M::CallTool) => self.named(call, "tool", TOOLS),
            Some(M::GetPrompt) => self.named(call, "prompt", PROMPTS),
            Some(M::Complete) => Box::pin(this.complete(call)),
            Some(M::ReadResource) => match call.params.read_str("uri").ok().flatten() {
                Some(uri) => {
                    let uri = uri.into_owned();
                    Box::pin(this.read(call, uri))
                }
                None => self.service.call(call),
            },
            _ => self.service.call(call),
        }
    }

    fn required_scopes(&self, method: &str, params: &Params, sender: Sender<'_>) -> Option<Arc<[String]>> {
        let is_shown = RequestMethod::from_name(method).is_none_or(|method| self.shows_target(method, params, sender));
        is_shown.then(|| self.service.required_scopes(method, params, sender)).flatten()
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        let is_shown = match &self.rule {
            Rule::Caller(rule) => rule(caller, Item::Resource(uri)),
            Rule::Tags(tags) => tags.shows_by_default(Item::Resource(uri)),
        };
        is_shown && self.service.may_subscribe(uri, caller)
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visibility").field("service", &self.service).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_found() {
        assert_eq!(suggestion("there is no tool `a`; did you mean `b`?"), Some((20, "b")));
        assert_eq!(suggestion("there is no tool `a`"), None);
    }
}
