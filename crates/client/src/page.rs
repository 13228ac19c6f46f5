//! Lists that come in pages.

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
/// One that captures nothing is no allocation.
type Fetch<T> = Box<dyn Fn(&Client, PaginatedParams, Freshness) -> Coming<T> + Send>;

/// The pages of a list, one after the other: a stream.
///
/// The next page is asked for when it is wanted. At most 64 pages and 10,000 entries are read, and a server that
/// hands out the same page again is an error: lists are made by others.
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
#[must_use = "pages are asked for when they are wanted"]
pub struct Pages<T> {
    client: Client,
    fetch: Fetch<T>,
    /// What tells that pages are old, if they are kept.
    change: Option<Change>,
    freshness: Freshness,
    /// The page that is under way.
    coming: Option<Coming<T>>,
    next: Next,
    /// Where each page so far began.
    seen: Vec<String>,
    items: usize,
}

/// Whether pages that are kept will do.
#[derive(Clone, Copy)]
enum Freshness {
    Kept,
    Fresh,
}

enum Next {
    First,
    At(String),
    Over,
}

macro_rules! lists {
    ($($name:ident: $method:ident { $field:ident: $item:ty } $change:ident $(kept in $inbox:ident)?;)*) => {$(
        impl Pages<$item> {
            pub(crate) fn $name(client: &Client) -> Self {
                Self::listed(client, $method::METHOD, Change::$change, |client, params, freshness| {
                    let request = client.request::<$method>(params);
                    let request = match freshness {
                        Freshness::Kept => request,
                        Freshness::Fresh => request.no_cache(),
                    };
                    let request = request.into_future();
                    $(let $inbox = client.inbox().clone();)?
                    Box::pin(async move {
                        let page = request.await?;
                        $($inbox.outputs.listed(&page.$field);)?
                        Ok((page.$field, page.next_cursor))
                    })
                })
            }
        }
    )*};
}

lists! {
    tools: ListTools { tools: Tool } Tools kept in inbox;
    resources: ListResources { resources: Resource } Resources;
    resource_templates: ListResourceTemplates { resource_templates: ResourceTemplate } Resources;
    prompts: ListPrompts { prompts: Prompt } Prompts;
}

impl<T> Pages<T> {
    const MOST_PAGES: usize = 64;
    const MOST_ITEMS: usize = 10_000;

    /// The pages of a list that an extension has, each fetched by a function.
    pub fn new(client: &Client, fetch: impl Fn(&Client, PaginatedParams) -> Coming<T> + Send + 'static) -> Self {
        Self::of(client, None, Next::First, Box::new(move |client, params, _| fetch(client, params)))
    }

    fn listed(
        client: &Client,
        method: &str,
        change: Change,
        fetch: fn(&Client, PaginatedParams, Freshness) -> Coming<T>,
    ) -> Self
    where
        T: 'static,
    {
        let served = client.dialect().check(method, &client.server().capabilities).is_ok();
        let next = if served { Next::First } else { Next::Over };
        Self::of(client, Some(change), next, Box::new(fetch))
    }

    fn of(client: &Client, change: Option<Change>, next: Next, fetch: Fetch<T>) -> Self {
        let (client, freshness) = (client.clone(), Freshness::Kept);
        Self { client, fetch, change, freshness, coming: None, next, seen: Vec::new(), items: 0 }
    }

    /// Asks the server for each page, even if one is [kept](crate::Cache) that is still good.
    pub fn no_cache(mut self) -> Self {
        self.freshness = Freshness::Fresh;
        self
    }

    /// The next page; `None` after the last one, and after an error.
    pub async fn next(&mut self) -> Option<Result<Vec<T>, Error>> {
        poll_fn(|cx| self.poll_page(cx)).await
    }

    /// All entries of all pages that are left. If the server does not know any more where the next page begins, the
    /// list is read once more from its beginning.
    ///
    /// # Errors
    /// When a page cannot be had, or the list is too long.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let whole = self.seen.is_empty();
        match self.rest().await {
            Err(error) if whole && self.is_lost(&error) => {
                (self.next, self.items) = (Next::First, 0);
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

    /// Whether the server does not know a cursor that it gave.
    fn is_lost(&self, error: &Error) -> bool {
        !self.seen.is_empty() && error.rpc().is_some_and(|e| e.code == code::INVALID_PARAMS)
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<T>, Error>>> {
        if self.coming.is_none() {
            let mut params = PaginatedParams::new();
            match std::mem::replace(&mut self.next, Next::Over) {
                Next::First => {}
                Next::At(cursor) => params.cursor = Some(cursor),
                Next::Over => return Poll::Ready(None),
            }
            self.coming = Some((self.fetch)(&self.client, params, self.freshness));
        }
        let Some(coming) = &mut self.coming else { return Poll::Ready(None) };
        let page = ready!(coming.as_mut().poll(cx));
        self.coming = None;
        if let Some(change) = self.change.as_ref().filter(|_| page.as_ref().is_err_and(|error| self.is_lost(error))) {
            // The pages before are of a list that is no more.
            self.client.inbox().changed(change);
        }
        Poll::Ready(Some(page.and_then(|page| self.turn(page))))
    }

    /// Takes a page and notes where the next one begins. An empty cursor is one like any other.
    fn turn(&mut self, (items, cursor): Page<T>) -> Result<Vec<T>, Error> {
        self.items += items.len();
        let wrong = |what: String| Err(Error::new(ErrorKind::Protocol, what));
        if self.items > Self::MOST_ITEMS {
            return wrong(format!("the list has more than {} entries", Self::MOST_ITEMS));
        }
        let Some(cursor) = cursor else { return Ok(items) };
        if self.seen.contains(&cursor) {
            return wrong("the list goes round in circles: the same cursor came twice".to_owned());
        }
        self.seen.push(cursor.clone());
        if self.seen.len() >= Self::MOST_PAGES {
            return wrong(format!("the list has more than {} pages", Self::MOST_PAGES));
        }
        self.next = Next::At(cursor);
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
