//! The lists of a server and of the servers mounted in it, merged.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{Call, JsonText, Reply, ResultBody};
use couplet_types::{RawJson, RpcError};

use super::{
    Mount,
    route::{Object, parsed, replaced, text, unreadable, without},
};
use crate::{inner::Inner, list::List};

/// The most pages that are merged into one, so that an endless list of one server does not block the others.
const PAGES: usize = 64;

/// One page: the entries of this server, then those of the mounted ones, up to the page size.
pub(crate) async fn list(inner: Arc<Inner>, list: List, call: Call) -> Reply {
    collect(&inner, list, &call).await.map_or_else(Reply::Error, Reply::Complete)
}

async fn collect(inner: &Inner, list: List, call: &Call) -> Result<ResultBody, RpcError> {
    let mut place = Place::of(call.params.read_opt::<String>("cursor")?.as_deref());
    let mut items: Vec<Object> = Vec::new();
    for _ in 0..PAGES {
        let (mut page, next) = place.page(inner, call, list).await?;
        items.append(&mut page);
        place = match next {
            Some(cursor) => Place { cursor: Some(cursor), ..place },
            None => Place { source: place.source + 1, cursor: None },
        };
        if items.len() >= inner.config.page_size || place.source > inner.mounts.len() {
            break;
        }
    }
    let mut result = Object::new().with(list.member(), RawJson::new(&items).map_err(|_| unreadable())?);
    if place.source <= inner.mounts.len() {
        result.insert("nextCursor", RawJson::new(&place.cursor()).map_err(|_| unreadable())?);
    }
    // The cache hints are those of this server.
    let own = Place { source: 0, cursor: None };
    Ok(list.page(inner, &own.call(call)?)?.with_members(&text(&result).ok_or_else(unreadable)?))
}

/// The start of a page: this server or a mounted one, and a cursor there.
struct Place {
    source: usize,
    cursor: Option<String>,
}

impl Place {
    /// A cursor that does not name a mounted server is one of this server.
    fn of(cursor: Option<&str>) -> Self {
        let mounted = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor?).ok()?).ok()?;
            let (source, cursor) = text.strip_prefix("mount:")?.split_once(':')?;
            let cursor = (!cursor.is_empty()).then(|| cursor.to_owned());
            Some(Self { source: source.parse().ok()?, cursor })
        };
        mounted().unwrap_or_else(|| Self { source: 0, cursor: cursor.map(str::to_owned) })
    }

    fn cursor(&self) -> String {
        let cursor = self.cursor.as_deref().unwrap_or_default();
        match self.source {
            0 => cursor.to_owned(),
            source => URL_SAFE_NO_PAD.encode(format!("mount:{source}:{cursor}")),
        }
    }

    /// The entries from here on, with their outside names, and the next cursor.
    async fn page(&self, inner: &Inner, call: &Call, list: List) -> Result<(Vec<Object>, Option<String>), RpcError> {
        let call = self.call(call)?;
        let Some(at) = self.source.checked_sub(1) else {
            return entries(&list.page(inner, &call)?.members(), list);
        };
        let mount = inner.mounts.get(at).ok_or_else(|| RpcError::invalid_params("`cursor` is not one of this list"))?;
        if !list.is_served(&mount.service.describe().capabilities) {
            return Ok((Vec::new(), None));
        }
        let page = match mount.service.call(call).await {
            Reply::Complete(done) => entries(&done.members(), list),
            Reply::Error(error) => Err(error),
            _ => Err(unreadable()),
        };
        let (mut page, next) = match page {
            // A failing server does not hide the others.
            Err(error) if self.cursor.is_none() => {
                tracing::warn!(?mount, %error, "a mounted server is left out of a list");
                mount.set_failure(Some(error.message));
                return Ok((Vec::new(), None));
            }
            page => page?,
        };
        mount.set_failure(None);
        page.iter_mut().for_each(|entry| rename(mount, entry, list.key()));
        Ok((page, next))
    }

    fn call(&self, call: &Call) -> Result<Call, RpcError> {
        let mut call = call.clone();
        // The first page has no cursor: `null` is not a string, and some servers refuse it.
        call.params = match &self.cursor {
            Some(cursor) => text(cursor).and_then(|cursor| replaced(&call.params, "cursor", &cursor)),
            None => without(&call.params, "cursor"),
        }
        .ok_or_else(unreadable)?;
        Ok(call)
    }
}

fn entries(result: &JsonText, list: List) -> Result<(Vec<Object>, Option<String>), RpcError> {
    let result: Object = parsed(result).ok_or_else(unreadable)?;
    let entries = result.get(list.member()).and_then(|entries| entries.parse().ok()).ok_or_else(unreadable)?;
    Ok((entries, result.get("nextCursor").and_then(|cursor| cursor.parse().ok())))
}

fn rename(mount: &Mount, entry: &mut Object, key: &str) {
    let Some(name) = entry.get(key).and_then(|name| name.parse::<String>().ok()) else { return };
    let name = if key == "name" { mount.name_outside(&name) } else { mount.uri_outside(&name) };
    if let Ok(name) = RawJson::new(&name) {
        entry.insert(key, name);
    }
}
