//! Lists that come in pages.

use std::{
    fmt,
    future::{IntoFuture, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
};

use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_types::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PaginatedParams, Prompt, Request, Resource,
    ResourceTemplate, Tool,
};
use futures_core::Stream;

use crate::client::Client;

type Page<T> = (Vec<T>, Option<String>);
type Coming<T> = BoxFuture<'static, Result<Page<T>, Error>>;
/// One that captures nothing is no allocation.
type Fetch<T> = Box<dyn Fn(&Client, PaginatedParams) -> Coming<T> + Send>;

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
    /// The page that is under way.
    coming: Option<Coming<T>>,
    next: Next,
    /// Where each page so far began.
    seen: Vec<String>,
    items: usize,
}

enum Next {
    First,
    At(String),
    Over,
}

macro_rules! lists {
    ($($name:ident: $method:ident { $field:ident: $item:ty };)*) => {$(
        impl Pages<$item> {
            pub(crate) fn $name(client: &Client) -> Self {
                let served = client.dialect().check($method::METHOD, &client.server().capabilities).is_ok();
                Self::of(client, served, |client, params| {
                    let request = client.request::<$method>(params).into_future();
                    Box::pin(async move { request.await.map(|page| (page.$field, page.next_cursor)) })
                })
            }
        }
    )*};
}

lists! {
    tools: ListTools { tools: Tool };
    resources: ListResources { resources: Resource };
    resource_templates: ListResourceTemplates { resource_templates: ResourceTemplate };
    prompts: ListPrompts { prompts: Prompt };
}

impl<T> Pages<T> {
    const MOST_PAGES: usize = 64;
    const MOST_ITEMS: usize = 10_000;

    /// The pages of a list that an extension has, each fetched by a function.
    pub fn new(client: &Client, fetch: impl Fn(&Client, PaginatedParams) -> Coming<T> + Send + 'static) -> Self {
        Self::of(client, true, fetch)
    }

    fn of(
        client: &Client,
        served: bool,
        fetch: impl Fn(&Client, PaginatedParams) -> Coming<T> + Send + 'static,
    ) -> Self {
        let next = if served { Next::First } else { Next::Over };
        Self { client: client.clone(), fetch: Box::new(fetch), coming: None, next, seen: Vec::new(), items: 0 }
    }

    /// The next page; `None` after the last one, and after an error.
    pub async fn next(&mut self) -> Option<Result<Vec<T>, Error>> {
        poll_fn(|cx| self.poll_page(cx)).await
    }

    /// All entries of all pages that are left.
    ///
    /// # Errors
    /// When a page cannot be had, or the list is too long.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await {
            all.append(&mut page?);
        }
        Ok(all)
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<T>, Error>>> {
        if self.coming.is_none() {
            let mut params = PaginatedParams::new();
            match std::mem::replace(&mut self.next, Next::Over) {
                Next::First => {}
                Next::At(cursor) => params.cursor = Some(cursor),
                Next::Over => return Poll::Ready(None),
            }
            self.coming = Some((self.fetch)(&self.client, params));
        }
        let Some(coming) = &mut self.coming else { return Poll::Ready(None) };
        let page = ready!(coming.as_mut().poll(cx));
        self.coming = None;
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
