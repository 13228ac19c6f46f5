//! Subscriptions to changes: one stream, in sessions and without.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use couplet_core::{Change, Error, ErrorKind, Event, Exchange, ExtensionEvent, Filter, RequestOptions};
use couplet_types::{
    Listen, ListenParams, Request, ServerCapabilities, Subscribe, SubscribeParams, SubscriptionAcknowledged,
    SubscriptionFilter, Unsubscribe, UnsubscribeParams,
};
use futures_core::Stream;

use crate::{client::Client, notify::Notice, queue::Queue, timeout::RequestTimer};

/// A subscription to changes: a stream, made by [`Client::listen`]. Dropping it ends the subscription, and notifies the
/// server.
///
/// While it is not polled, equal changes are merged, and the oldest are dropped if there are too many.
#[derive(Debug)]
pub struct Changes {
    source: Source,
    honoured: Filter,
    ended: Option<Ended>,
    client: Client,
}

/// The reason why a subscription ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The server ended it regularly, for example at its graceful shutdown. Subscribe again to continue.
    ByServer,
    /// It failed: the server reported an error, or the connection was closed.
    Failed(Error),
}

#[derive(Debug)]
enum Source {
    /// A request that lasts as long as the subscription (2026-07-28).
    Request(Exchange),
    /// Notifications of the session, and the resources to unsubscribe from.
    Session(Arc<Queue<Change>>, BTreeSet<String>),
}

impl Client {
    /// Subscribes to changes of lists and resources. Several subscriptions can be open at the same time.
    ///
    /// The server may honour only a part of the filter: see [`Changes::honoured`].
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use couplet_client::{Change, Filter};
    ///
    /// let mut changes = client.listen(Filter::new().tools().resource("file:///a")).await?;
    /// while let Some(change) = changes.next().await {
    ///     match change {
    ///         Change::Tools => tracing::info!("{} tools", client.tools().await?.len()),
    ///         Change::Updated(uri) => tracing::info!("{:?}", client.read(uri).await?),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the server refuses, or does not answer in time.
    pub async fn listen(&self, filter: Filter) -> Result<Changes, Error> {
        if self.dialect().has_sessions() {
            self.listen_in_session(filter).await
        } else {
            self.listen_stateless(filter).await
        }
    }

    /// Returns the part of a filter that the server declares to notify of: `listChanged` of its lists, `subscribe` of
    /// its resources. Nothing is left for a server that declares neither, and such a server need not serve
    /// [`Client::listen`] at all.
    pub fn declared_changes(&self, mut filter: Filter) -> Filter {
        honour(&mut filter, &self.server().capabilities);
        filter
    }

    async fn listen_stateless(&self, filter: Filter) -> Result<Changes, Error> {
        let params = ListenParams::new(to_wire(&filter));
        let outgoing =
            self.dialect().request::<Listen>(self.channel().next_id(), params, &RequestOptions::default())?;
        let mut timer = RequestTimer::new(self.timeouts(), self.incoming().callbacks.activity.clone());
        timer.begin();
        let mut exchange = self.channel().open(outgoing);
        exchange.merge_notifications(filter.uris.len() + filter.topics.len());
        loop {
            match timer.wait(Listen::METHOD, self.channel(), exchange.next()).await? {
                Event::Notification { method, params } => {
                    let notice = Notice { method, params };
                    if let Some(acknowledged) = notice.read::<SubscriptionAcknowledged>() {
                        let honoured = from_wire(acknowledged.notifications);
                        return Ok(Changes::new(self, Source::Request(exchange), honoured));
                    }
                    tracing::debug!(
                        method = notice.method,
                        "a notification came before the acknowledgement of the subscription"
                    );
                }
                Event::Answer(Err(refused)) => return Err(refused.into()),
                Event::Failed(error) => return Err(error),
                Event::Answer(Ok(_)) | Event::Ended => {
                    let what = format!("the server ended `{}` before it acknowledged the subscription", Listen::METHOD);
                    return Err(Error::new(ErrorKind::Protocol, what));
                }
            }
        }
    }

    async fn listen_in_session(&self, filter: Filter) -> Result<Changes, Error> {
        let filter = self.declared_changes(filter);
        let uris = filter.uris.clone();
        let source = Source::Session(self.incoming().read_changes(filter.clone()), uris.clone());
        // From here on, dropping this future unsubscribes.
        let changes = Changes::new(self, source, filter);
        for uri in uris {
            self.request::<Subscribe>(SubscribeParams::new(uri)).await?;
        }
        Ok(changes)
    }
}

impl Changes {
    fn new(client: &Client, source: Source, honoured: Filter) -> Self {
        Self { source, honoured, ended: None, client: client.clone() }
    }

    /// Waits for the next change; `None` when the subscription has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Change> {
        poll_fn(|cx| self.poll_change(cx)).await
    }

    /// Returns the filter that the server honours: the requested one, or a part of it.
    pub fn honoured(&self) -> &Filter {
        &self.honoured
    }

    /// Returns why the subscription ended, if it has.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        if self.ended.is_some() {
            return Poll::Ready(None);
        }
        let ended = match &mut self.source {
            Source::Session(queue, _) => match queue.poll_next(cx) {
                Poll::Ready(None) => Ended::Failed(self.client.incoming().end_reason()),
                change => return change,
            },
            Source::Request(exchange) => loop {
                // The future has no state between two polls, so each poll can create it.
                let Poll::Ready(event) = pin!(exchange.next()).poll(cx) else { return Poll::Pending };
                match event {
                    Event::Notification { method, params } => {
                        let Some(notice) = self.client.incoming().admit(Notice { method, params }) else { continue };
                        let change = notice.change().or_else(|| extension_event(&notice, &self.honoured));
                        if change == Some(Change::Tools) {
                            self.client.incoming().output_schemas.clear();
                        }
                        if change.is_some() {
                            return Poll::Ready(change);
                        }
                    }
                    Event::Answer(Ok(_)) | Event::Ended => break Ended::ByServer,
                    Event::Answer(Err(error)) => break Ended::Failed(error.into()),
                    Event::Failed(error) => break Ended::Failed(error),
                }
            },
        };
        self.ended = Some(ended);
        Poll::Ready(None)
    }
}

impl Stream for Changes {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        self.get_mut().poll_change(cx)
    }
}

/// Unsubscribes from resources, without waiting. A request is cancelled when its exchange is dropped.
impl Drop for Changes {
    fn drop(&mut self) {
        let Source::Session(_, uris) = &self.source else { return };
        let (channel, dialect) = (self.client.channel(), self.client.dialect());
        for uri in uris {
            self.client.incoming().unsubscribe(uri, || {
                let params = UnsubscribeParams::new(uri.as_str());
                match dialect.request::<Unsubscribe>(channel.next_id(), params, &RequestOptions::default()) {
                    Ok(request) => channel.open(request).abandon(),
                    Err(error) => tracing::debug!(%error, "the client cannot unsubscribe from a resource"),
                }
            });
        }
    }
}

/// Removes the changes that the server does not notify of.
fn honour(filter: &mut Filter, server: &ServerCapabilities) {
    let resources = server.resources.clone().unwrap_or_default();
    filter.tools &= server.tools.as_ref().is_some_and(|t| t.list_changed == Some(true));
    filter.prompts &= server.prompts.as_ref().is_some_and(|p| p.list_changed == Some(true));
    filter.resources &= resources.list_changed == Some(true);
    if resources.subscribe != Some(true) {
        filter.uris.clear();
    }
}

/// Returns the event of an extension, if the subscription includes any.
fn extension_event(notice: &Notice, honoured: &Filter) -> Option<Change> {
    (!honoured.topics.is_empty())
        .then(|| ExtensionEvent::new("", "", notice.method.as_str(), notice.params.text().to_raw()).into())
}

fn to_wire(filter: &Filter) -> SubscriptionFilter {
    let mut wire = SubscriptionFilter::new();
    wire.tools_list_changed = filter.tools.then_some(true);
    wire.prompts_list_changed = filter.prompts.then_some(true);
    wire.resources_list_changed = filter.resources.then_some(true);
    wire.resource_subscriptions = (!filter.uris.is_empty()).then(|| filter.uris.iter().cloned().collect());
    let mut topics = BTreeMap::<&str, Vec<&str>>::new();
    filter.topics.iter().for_each(|(member, key)| topics.entry(member).or_default().push(key));
    wire.others = topics.into_iter().map(|(member, keys)| (member, serde_json::json!(keys).into())).collect();
    wire
}

fn from_wire(wire: SubscriptionFilter) -> Filter {
    let mut filter = Filter::new();
    filter.tools = wire.tools_list_changed == Some(true);
    filter.prompts = wire.prompts_list_changed == Some(true);
    filter.resources = wire.resources_list_changed == Some(true);
    filter.uris = wire.resource_subscriptions.into_iter().flatten().collect();
    for (member, keys) in wire.others {
        let keys: Vec<String> = keys.parse().unwrap_or_default();
        filter.topics.extend(keys.into_iter().map(|key| (member.clone(), key)));
    }
    filter
}
