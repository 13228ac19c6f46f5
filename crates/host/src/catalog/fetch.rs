//! Fetching all pages of a server's lists.

use std::{collections::HashSet, time::Duration};

use couplet_client::Client;
use couplet_core::{Error, ErrorKind, Event, JsonText, Outcome, RequestOptions, Revision, message::Params};
use couplet_types::{ServerCapabilities, code};
use tokio::time::{Instant, timeout};

use super::{Definition, List, ListSet, page::Collected};

/// The limits of one fetch.
#[derive(Clone, Debug)]
pub(crate) struct FetchLimits {
    /// The timeout of one page.
    pub(crate) page: Duration,
    /// The timeout of all pages.
    pub(crate) total: Duration,
    pub(crate) pages: usize,
    pub(crate) items: usize,
    /// The size of all pages of a list in bytes.
    pub(crate) bytes: usize,
}

impl FetchLimits {
    pub(crate) fn new(page: Duration) -> Self {
        Self { page, total: page * 4, pages: 256, items: 10_000, bytes: 32 << 20 }
    }
}

/// An attempt to fetch lists.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(super) lists: Vec<(List, Result<Listing, Error>)>,
    pub(super) instructions: Option<String>,
    pub(super) capabilities: ServerCapabilities,
    pub(super) revision: Revision,
    pub(super) at: Instant,
}

/// One list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) definitions: Vec<Definition>,
    pub(super) reports: Vec<String>,
    pub(super) ttl: Option<Duration>,
}

/// Fetches the lists, at the same time.
pub(crate) async fn fetch(client: &Client, wanted: ListSet, limits: &FetchLimits) -> Fetched {
    let one = |list: List| async move {
        match wanted.contains(list) {
            true => Some((list, fetch_list(client, list, limits).await)),
            false => None,
        }
    };
    let [tools, prompts, resources, templates] = List::ALL.map(one);
    let (tools, prompts, resources, templates) = tokio::join!(tools, prompts, resources, templates);
    let server = client.server();
    Fetched {
        lists: [tools, prompts, resources, templates].into_iter().flatten().collect(),
        instructions: server.instructions.clone(),
        capabilities: server.capabilities.clone(),
        revision: client.revision(),
        at: Instant::now(),
    }
}

async fn fetch_list(client: &Client, list: List, limits: &FetchLimits) -> Result<Listing, Error> {
    if !client.serves(list.method()) {
        return Ok(Listing::default());
    }
    let late = |limit: Duration| {
        Error::new(ErrorKind::Timeout, format!("`{}` was not answered within {limit:?}", list.method()))
    };
    let all = async {
        match pages(client, list, limits).await {
            // The list has changed, and the server does not know its old cursor any more.
            Err(Stopped { error, page: 1.. }) if is_expired(&error) => {
                pages(client, list, limits).await.map_err(|stopped| stopped.error)
            }
            pages => pages.map_err(|stopped| stopped.error),
        }
    };
    let collected = timeout(limits.total, all).await.unwrap_or_else(|_| Err(late(limits.total)))?;
    Ok(Listing {
        definitions: collected.definitions,
        reports: collected.reports,
        ttl: collected.ttl_ms.map(Duration::from_millis),
    })
}

/// The page that could not be fetched, counted from zero.
struct Stopped {
    error: Error,
    page: usize,
}

fn is_expired(error: &Error) -> bool {
    error.rpc().is_some_and(|error| error.code == code::INVALID_PARAMS)
}

async fn pages(client: &Client, list: List, limits: &FetchLimits) -> Result<Collected, Stopped> {
    let mut collected = Collected::new(list, client.revision());
    let mut cursors = HashSet::new();
    let mut params = Params::default();
    for page in 0..limits.pages {
        let stopped = |error| Stopped { error, page };
        let result = answer(client, list, &params, limits.page).await.map_err(stopped)?;
        let cursor = collected.add(&result, limits.items).map_err(stopped)?;
        let Some(cursor) = cursor else { return Ok(collected) };
        if collected.entries >= limits.items || collected.bytes >= limits.bytes {
            collected.report(format!("the list is too long: only its first {} entries are used", collected.entries));
            return Ok(collected);
        }
        let text = JsonText::string(&cursor);
        if !cursors.insert(cursor) {
            collected.report("the list does not end: the server returned the same cursor twice".to_owned());
            return Ok(collected);
        }
        params = Params::default().with("cursor", &text).map_err(|fault| stopped(Error::other(fault)))?;
        // A page is work for the processor; other tasks get their turn.
        tokio::task::yield_now().await;
    }
    collected.report(format!("the list has more than {} pages; the others are ignored", limits.pages));
    Ok(collected)
}

/// The result of one page.
async fn answer(client: &Client, list: List, params: &Params, limit: Duration) -> Result<JsonText, Error> {
    let method = list.method();
    let mut exchange = client.forward(method, params, &RequestOptions::default())?;
    let answer = async {
        loop {
            match exchange.next().await {
                Event::Notification { .. } => {}
                Event::Answer(answer) => return answer.map_err(Error::from),
                Event::Failed(error) => return Err(error),
                Event::Ended => return Err(unexpected(method)),
            }
        }
    };
    let late = || Error::new(ErrorKind::Timeout, format!("`{method}` was not answered within {limit:?}"));
    let answer = timeout(limit, answer).await.unwrap_or_else(|_| Err(late()))?;
    match client.outcome(answer)? {
        Outcome::Complete(result) => Ok(result),
        Outcome::InputRequired { .. } | Outcome::Extension { .. } => Err(unexpected(method)),
    }
}

fn unexpected(method: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server did not answer `{method}` with a list"))
}
