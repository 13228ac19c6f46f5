//! Paginated lists.

use std::{
    fmt,
    future::{IntoFuture, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
};

use couplet_core::{BoxFuture, Change, Error, ErrorKind};
use couplet_types::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PaginatedParams, Prompt, Request, Resource,
    ResourceTemplate, Tool, code,
};
use futures_core::Stream;

use crate::client::Client;

type Page<T> = (Vec<T>, Option<String>);
type Coming<T> = BoxFuture<'static, Result<Page<T>, Error>>;
/// A function that captures nothing needs no allocation.
type Fetch<T> = Box<dyn Fn(&Client, PaginatedParams, CacheMode) -> Coming<T> + Send>;

/// The pages of a list, as a stream.
///
/// Pages are requested on demand. At most 64 pages and 10,000 entries are read, and a server that returns the same
/// cursor twice is an error, so that a list always ends.
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// let mut pages = client.tool_pages();
/// while let Some(page) = pages.next().await {
///     for tool in page? {
///         tracing::info!("{}", tool.name);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "pages are requested on demand"]
pub struct Pages<T> {
    client: Client,
    fetch: Fetch<T>,
    /// The change that invalidates cached pages.
    change: Option<Change>,
    cache_mode: CacheMode,
    /// The request of the next page, if it is in flight.
    coming: Option<Coming<T>>,
    next: NextPage,
    /// The cursors so far.
    seen: Vec<String>,
    items: usize,
}

/// Whether cached pages are used.
#[derive(Clone, Copy)]
enum CacheMode {
    Cached,
    NoCache,
}

enum NextPage {
    First,
    At(String),
    Over,
}

macro_rules! lists {
    ($($name:ident: $method:ident { $field:ident: $item:ty } $change:ident $(recorded in $incoming:ident)?;)*) => {$(
        impl Pages<$item> {
            pub(crate) fn $name(client: &Client) -> Self {
                Self::listed(client, $method::METHOD, Change::$change, |client, params, cache_mode| {
                    let request = client.request::<$method>(params);
                    let request = match cache_mode {
                        CacheMode::Cached => request,
                        CacheMode::NoCache => request.no_cache(),
                    };
                    let request = request.into_future();
                    $(let $incoming = client.incoming().clone();)?
                    Box::pin(async move {
                        let page = request.await?;
                        $($incoming.output_schemas.record(&page.$field);)?
                        Ok((page.$field, page.next_cursor))
                    })
                })
            }
        }
    )*};
}

lists! {
    tools: ListTools { tools: Tool } Tools recorded in incoming;
    resources: ListResources { resources: Resource } Resources;
    resource_templates: ListResourceTemplates { resource_templates: ResourceTemplate } Resources;
    prompts: ListPrompts { prompts: Prompt } Prompts;
}

impl<T> Pages<T> {
    const MAX_PAGES: usize = 64;
    const MAX_ITEMS: usize = 10_000;

    /// Creates the pages of a list of an extension, from a function that fetches one.
    pub fn new(client: &Client, fetch: impl Fn(&Client, PaginatedParams) -> Coming<T> + Send + 'static) -> Self {
        Self::of(client, None, NextPage::First, Box::new(move |client, params, _| fetch(client, params)))
    }

    fn listed(
        client: &Client,
        method: &str,
        change: Change,
        fetch: fn(&Client, PaginatedParams, CacheMode) -> Coming<T>,
    ) -> Self
    where
        T: 'static,
    {
        let served = client.dialect().check(method, &client.server().capabilities).is_ok();
        let next = if served { NextPage::First } else { NextPage::Over };
        Self::of(client, Some(change), next, Box::new(fetch))
    }

    fn of(client: &Client, change: Option<Change>, next: NextPage, fetch: Fetch<T>) -> Self {
        let (client, cache_mode) = (client.clone(), CacheMode::Cached);
        Self { client, fetch, change, cache_mode, coming: None, next, seen: Vec::new(), items: 0 }
    }

    /// Bypasses the [cache](crate::Cache). The pages replace the cached ones.
    pub fn no_cache(mut self) -> Self {
        self.cache_mode = CacheMode::NoCache;
        self
    }

    /// Waits for the next page; `None` after the last one, and after an error. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Vec<T>, Error>> {
        poll_fn(|cx| self.poll_page(cx)).await
    }

    /// Reads the entries of all remaining pages. If the server does not accept its own cursor any more, the list is
    /// read again from the beginning, once.
    ///
    /// # Errors
    /// If a request fails, or if the list is too long.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let whole = self.seen.is_empty();
        match self.rest().await {
            Err(error) if whole && self.is_expired(&error) => {
                (self.next, self.items) = (NextPage::First, 0);
                self.seen.clear();
                self.rest().await
            }
            rest => rest,
        }
    }

    async fn rest(&mut self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await {
            all.append(&mut page?);
        }
        Ok(all)
    }

    /// Returns whether the server does not accept a cursor that it returned.
    fn is_expired(&self, error: &Error) -> bool {
        !self.seen.is_empty() && error.rpc().is_some_and(|e| e.code == code::INVALID_PARAMS)
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<T>, Error>>> {
        if self.coming.is_none() {
            let mut params = PaginatedParams::new();
            match std::mem::replace(&mut self.next, NextPage::Over) {
                NextPage::First => {}
                NextPage::At(cursor) => params.cursor = Some(cursor),
                NextPage::Over => return Poll::Ready(None),
            }
            self.coming = Some((self.fetch)(&self.client, params, self.cache_mode));
        }
        let Some(coming) = &mut self.coming else { return Poll::Ready(None) };
        let page = ready!(coming.as_mut().poll(cx));
        self.coming = None;
        if let Some(change) = self.change.as_ref().filter(|_| page.as_ref().is_err_and(|error| self.is_expired(error)))
        {
            // The pages so far are outdated, too.
            self.client.incoming().invalidate(change);
        }
        Poll::Ready(Some(page.and_then(|page| self.accept(page))))
    }

    /// Checks a page against the limits, and stores the next cursor. An empty cursor is valid.
    fn accept(&mut self, (items, cursor): Page<T>) -> Result<Vec<T>, Error> {
        self.items += items.len();
        let wrong = |what: String| Err(Error::new(ErrorKind::Protocol, what));
        if self.items > Self::MAX_ITEMS {
            return wrong(format!("the list has more than {} entries", Self::MAX_ITEMS));
        }
        let Some(cursor) = cursor else { return Ok(items) };
        if self.seen.contains(&cursor) {
            return wrong("the list does not end: the server returned the same cursor twice".to_owned());
        }
        self.seen.push(cursor.clone());
        if self.seen.len() >= Self::MAX_PAGES {
            return wrong(format!("the list has more than {} pages", Self::MAX_PAGES));
        }
        self.next = NextPage::At(cursor);
        Ok(items)
    }
}

impl<T> Stream for Pages<T> {
    type Item = Result<Vec<T>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_page(cx)
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("items", &self.items).finish_non_exhaustive()
    }
}
