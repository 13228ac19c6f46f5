//! Lists: their items, unparsed, and all pages of one.

use std::sync::Arc;

use couplet_core::{Call, JsonText, Reply, ResultBody, Service, message::Params};
use couplet_types::{RawJson, RequestMethod, RpcError};

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// A kind of list: the method, the member with the items, and the member that names an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    pub(crate) method: RequestMethod,
    pub(crate) member: &'static str,
    pub(crate) key: &'static str,
}

pub(crate) const TOOLS: Listing = Listing { method: RequestMethod::ListTools, member: "tools", key: "name" };
pub(crate) const PROMPTS: Listing = Listing { method: RequestMethod::ListPrompts, member: "prompts", key: "name" };
pub(crate) const RESOURCES: Listing = Listing { method: RequestMethod::ListResources, member: "resources", key: "uri" };
pub(crate) const TEMPLATES: Listing =
    Listing { method: RequestMethod::ListResourceTemplates, member: "resourceTemplates", key: "uriTemplate" };

/// Requests a page, and maps its items. An item that is mapped to `None` is left out; a cursor stays as it is.
pub(crate) async fn map(
    service: Arc<dyn Service>,
    call: Call,
    listing: Listing,
    item: impl Fn(&str, Params) -> Option<Params>,
) -> Reply {
    match service.call(call).await {
        Reply::Complete(body) => match mapped(&body, listing, item) {
            Some(members) => Reply::Complete(body.with_members(&members)),
            None => unreadable(listing).into(),
        },
        reply => reply,
    }
}

fn mapped(body: &ResultBody, listing: Listing, item: impl Fn(&str, Params) -> Option<Params>) -> Option<JsonText> {
    let page = Params::from_text(body.members()).ok()?;
    let items: Vec<RawJson> = page.get(listing.member)?.parse().ok()?;
    let mut shown = Vec::with_capacity(items.len());
    for raw in items {
        // An item without a name cannot be called.
        let Ok(params) = Params::from_text(JsonText::from(&raw)) else { continue };
        let Ok(Some(name)) = params.read_str(listing.key) else { continue };
        if let Some(new) = item(&name, params.clone()) {
            shown.push(if new.text() == params.text() { raw } else { new.text().to_raw() });
        }
    }
    let list = JsonText::from(&RawJson::new(&shown).ok()?);
    Some(page.with(listing.member, &list).ok()?.text().clone())
}

/// One page: its items, and the next cursor.
pub(crate) struct Page {
    pub(crate) items: Vec<RawJson>,
    pub(crate) next: Option<String>,
}

/// Requests one page for the caller of a call.
///
/// # Errors
/// The reply of the service, if it is not a list.
pub(crate) async fn page(
    service: &Arc<dyn Service>,
    call: &Call,
    listing: Listing,
    cursor: Option<&str>,
) -> Result<Page, Reply> {
    let mut list = call.clone();
    list.method = listing.method.as_str().into();
    list.params = match cursor {
        Some(cursor) => Params::default().with("cursor", &JsonText::string(cursor)).unwrap_or_default(),
        None => Params::default(),
    };
    let body = match service.call(list).await {
        Reply::Complete(body) => body,
        reply => return Err(reply),
    };
    let parsed = || {
        let page = Params::from_text(body.members()).ok()?;
        let next = page.read_str("nextCursor").ok()?.map(std::borrow::Cow::into_owned);
        Some(Page { items: page.get(listing.member)?.parse().ok()?, next })
    };
    parsed().ok_or_else(|| unreadable(listing).into())
}

/// Requests all pages for the caller of a call.
///
/// # Errors
/// The reply of the service, if it is not a list.
pub(crate) async fn all(service: &Arc<dyn Service>, call: &Call, listing: Listing) -> Result<Vec<RawJson>, Reply> {
    let (mut items, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = page(service, call, listing, cursor.as_deref()).await?;
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(items)
}

fn unreadable(listing: Listing) -> RpcError {
    RpcError::internal(format!("the list of `{}` cannot be read", listing.member))
}
