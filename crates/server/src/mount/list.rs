//! The lists of a server and of the servers mounted in it, merged.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{BoxFuture, Call, Reply, ResultBody};
use couplet_types::{RawJson, RpcError};

use super::{
    Mount, extended,
    route::{Object, parsed, replaced, text, unreadable, without},
    tasks,
};
use crate::{dispatch, inner::Inner, list::List};

/// The most pages that are merged into one, so that an endless list of one server does not block the others.
const PAGES: usize = 64;

/// A list that a server and those mounted in it can have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed {
    /// A list of the protocol.
    Core(List),
    /// The skills.
    Skills,
    /// The tasks, in revisions where they are part of the protocol.
    Tasks,
}

impl Listed {
    /// The tools.
    pub(super) const TOOLS: Self = Self::Core(List::Tools);

    fn member(self) -> &'static str {
        match self {
            Self::Core(list) => list.member(),
            Self::Skills => "skills",
            Self::Tasks => "tasks",
        }
    }

    /// Whether a mounted server has the list.
    pub(super) fn is_served(self, mount: &Mount) -> bool {
        match self {
            Self::Core(list) => list.is_served(&mount.service.describe().capabilities),
            Self::Skills => mount.serves("skills/list"),
            Self::Tasks => tasks::serves(mount, "tasks/list"),
        }
    }

    /// A page of this server.
    async fn own(self, inner: &Arc<Inner>, call: Call) -> Result<ResultBody, RpcError> {
        let Self::Core(list) = self else {
            if !inner.extended.contains_key(&*call.method) {
                return Ok(ResultBody::value(
                    &Object::new().with(self.member(), RawJson::new(&[(); 0]).map_err(|_| unreadable())?),
                ));
            }
            return match dispatch::extended(inner, call)?.await {
                Reply::Complete(done) => Ok(done),
                Reply::Error(error) => Err(error),
                _ => Err(unreadable()),
            };
        };
        list.page(inner, &call)
    }

    /// An empty result with the cache hints of this server.
    fn hints(self, inner: &Inner, call: &Call) -> Result<ResultBody, RpcError> {
        let first = Place { source: 0, cursor: None };
        match self {
            Self::Core(list) => list.page(inner, &first.call(call)?),
            Self::Skills => Ok(ResultBody::empty().cacheable()),
            Self::Tasks => Ok(ResultBody::empty()),
        }
    }

    /// Gives an entry of a mounted server its name outside.
    fn rename(self, mount: &Mount, entry: &mut Object) {
        match self {
            Self::Core(list) => {
                rename(mount, entry, list.key());
                if matches!(list, List::Tools) {
                    let _ = extended::view(mount, entry);
                }
            }
            Self::Skills => drop(extended::skill(mount, entry)),
            Self::Tasks => drop(tasks::name(mount, entry)),
        }
    }
}

/// One page: the entries of this server, then those of the mounted ones, up to the page size.
pub(super) fn list(inner: &Arc<Inner>, listed: Listed, call: &Call) -> BoxFuture<'static, Reply> {
    let (inner, call) = (inner.clone(), call.clone());
    Box::pin(async move { collect(&inner, listed, &call).await.map_or_else(Reply::Error, Reply::Complete) })
}

async fn collect(inner: &Arc<Inner>, listed: Listed, call: &Call) -> Result<ResultBody, RpcError> {
    let mut place = Place::of(call.params.read_opt::<String>("cursor")?.as_deref());
    let mut items: Vec<Object> = Vec::new();
    let mut is_private = false;
    for _ in 0..PAGES {
        let mut page = place.page(inner, call, listed).await?;
        items.append(&mut page.entries);
        is_private |= page.is_private;
        place = match page.next {
            Some(cursor) => Place { cursor: Some(cursor), ..place },
            None => Place { source: place.source + 1, cursor: None },
        };
        if items.len() >= inner.config.page_size || place.source > inner.mounts.len() {
            break;
        }
    }
    let mut result = Object::new().with(listed.member(), RawJson::new(&items).map_err(|_| unreadable())?);
    if place.source <= inner.mounts.len() {
        result.insert("nextCursor", RawJson::new(&place.cursor()).map_err(|_| unreadable())?);
    }
    let done = listed.hints(inner, call)?.with_members(&text(&result).ok_or_else(unreadable)?);
    // A list that a mounted server made for this caller is for this caller.
    Ok(if is_private { done.private() } else { done })
}

/// All pages of a mounted server's list, with the names outside.
///
/// # Errors
/// If a page cannot be read.
pub(super) async fn all(inner: &Arc<Inner>, at: usize, call: &Call, listed: Listed) -> Result<Page, RpcError> {
    let mut all = Page::default();
    let Some(mount) = inner.mounts.get(at).filter(|mount| listed.is_served(mount)) else { return Ok(all) };
    let mut place = Place { source: at + 1, cursor: None };
    for _ in 0..PAGES {
        let mut page = place.mounted(mount, call, listed).await?;
        all.entries.append(&mut page.entries);
        all.is_private |= page.is_private;
        match page.next {
            Some(cursor) => place.cursor = Some(cursor),
            None => break,
        }
    }
    Ok(all)
}

/// A part of a list.
#[derive(Default)]
pub(super) struct Page {
    pub(super) entries: Vec<Object>,
    next: Option<String>,
    pub(super) is_private: bool,
}

impl Page {
    fn of(done: &ResultBody, listed: Listed) -> Result<Self, RpcError> {
        let result: Object = parsed(&done.members()).ok_or_else(unreadable)?;
        let entries = result.get(listed.member()).and_then(|entries| entries.parse().ok()).ok_or_else(unreadable)?;
        let next = result.get("nextCursor").and_then(|cursor| cursor.parse().ok());
        Ok(Self { entries, next, is_private: done.is_private() })
    }
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
    async fn page(&self, inner: &Arc<Inner>, call: &Call, listed: Listed) -> Result<Page, RpcError> {
        let Some(at) = self.source.checked_sub(1) else {
            return Page::of(&listed.own(inner, self.call(call)?).await?, listed);
        };
        let mount = inner.mounts.get(at).ok_or_else(|| RpcError::invalid_params("`cursor` is not one of this list"))?;
        if !listed.is_served(mount) {
            return Ok(Page::default());
        }
        let page = match self.mounted(mount, call, listed).await {
            // A failing server does not hide the others.
            Err(error) if self.cursor.is_none() => {
                tracing::warn!(?mount, %error, "a mounted server is left out of a list");
                mount.set_failure(Some(error.message));
                return Ok(Page::default());
            }
            page => page?,
        };
        mount.set_failure(None);
        Ok(page)
    }

    /// The entries of a mounted server from here on.
    async fn mounted(&self, mount: &Mount, call: &Call, listed: Listed) -> Result<Page, RpcError> {
        let mut page = match mount.service.call(self.call(call)?).await {
            Reply::Complete(done) => Page::of(&done, listed)?,
            Reply::Error(error) => return Err(error),
            _ => return Err(unreadable()),
        };
        page.entries.iter_mut().for_each(|entry| listed.rename(mount, entry));
        Ok(page)
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

fn rename(mount: &Mount, entry: &mut Object, key: &str) {
    let Some(name) = entry.get(key).and_then(|name| name.parse::<String>().ok()) else { return };
    let name = if key == "name" { mount.name_outside(&name) } else { mount.uri_outside(&name) };
    if let Ok(name) = RawJson::new(&name) {
        entry.insert(key, name);
    }
}
