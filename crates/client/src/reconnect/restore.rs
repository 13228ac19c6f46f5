//! The state to restore on a new connection: handshake, log level, subscriptions.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use couplet_core::{
    Channel, Connected, Dialect, Error, ErrorKind, Event, Exchange, Inbound, JsonText, Mailbox, Outgoing,
    message::Params,
};
use couplet_types::{
    Initialize, InitializeResult, Initialized, Notification, NotificationParams, PromptListChanged, Request, RequestId,
    ResourceListChanged, ResourceUpdated, SetLevel, Subscribe, SubscriptionAckParams, SubscriptionAcknowledged,
    ToolListChanged, Unsubscribe, from_json,
};
use serde_json::json;
use tokio::time::{Sleep, sleep};

use crate::{connect::response, driver::beside};

/// The requests that set up a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    initialize: Option<Outgoing>,
    level: Option<Outgoing>,
    /// By URI, as it was written.
    subscribed: BTreeMap<String, Outgoing>,
}

impl Session {
    /// The timeout of the handshake.
    const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

    /// Records a request, if it sets up the session.
    pub(super) fn record(&mut self, request: &Outgoing) {
        match request.method {
            Initialize::METHOD => self.initialize = Some(request.clone()),
            SetLevel::METHOD => self.level = Some(request.clone()),
            Subscribe::METHOD => {
                if let Some(uri) = uri(request) {
                    self.subscribed.insert(uri, request.clone());
                }
            }
            Unsubscribe::METHOD => {
                if let Some(uri) = uri(request) {
                    self.subscribed.remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// Restores the session on a new connection. The outer error may be temporary, the inner one is permanent.
    pub(super) async fn restore(
        &self,
        connection: &mut Connected,
        dialect: &Dialect,
        ids: impl Fn() -> RequestId,
    ) -> Result<Result<(), Error>, Error> {
        if let Some(request) = self.initialize.as_ref().filter(|_| dialect.has_sessions()) {
            if let Err(changed) = initialize(connection, dialect, renamed(request, ids())).await? {
                return Ok(Err(changed));
            }
            connection.channel.agree(dialect);
            connection.channel.notify(dialect.notification(Initialized::METHOD, &NotificationParams::new()));
            for request in self.level.iter().chain(self.subscribed.values()) {
                // Later requests follow these in order, so they need not wait for the responses.
                let method = request.method;
                let exchange = connection.channel.open(renamed(request, ids()));
                exchange.on_end(move |end| {
                    if let Event::Answer(Err(error)) = end {
                        tracing::warn!(%error, method, "the server refuses after the reconnection");
                    }
                });
                exchange.abandon();
            }
        } else {
            connection.channel.agree(dialect);
        }
        Ok(Ok(()))
    }

    /// Reports everything as changed: with notifications in a session, otherwise by invalidating the cache.
    /// Subscriptions without a session do so themselves.
    pub(super) fn announce(&self, dialect: &Dialect, inbound: &dyn Inbound) {
        let lists = [ToolListChanged::METHOD, PromptListChanged::METHOD, ResourceListChanged::METHOD];
        if !dialect.has_sessions() {
            return lists.iter().for_each(|method| inbound.overhear(method, &Params::default()));
        }
        lists.iter().for_each(|method| inbound.notification(method, Params::default()));
        for uri in self.subscribed.keys() {
            if let Some(params) = updated(uri) {
                inbound.notification(ResourceUpdated::METHOD, params);
            }
        }
    }
}

fn renamed(request: &Outgoing, id: RequestId) -> Outgoing {
    let mut request = request.clone();
    request.id = id;
    request
}

fn uri(request: &Outgoing) -> Option<String> {
    request.param("uri")?.parse().ok()
}

/// Repeats the handshake. The inner error is a server that negotiates another revision.
async fn initialize(
    connection: &mut Connected,
    dialect: &Dialect,
    request: Outgoing,
) -> Result<Result<(), Error>, Error> {
    let mut exchange = connection.channel.open(request);
    let answered = beside(&mut connection.driver, response(&mut exchange));
    let late = || Error::new(ErrorKind::Timeout, "the server does not answer `initialize`");
    let result = match tokio::time::timeout(Session::HANDSHAKE_TIMEOUT, answered).await.map_err(|_| late())?? {
        Event::Answer(result) => result?,
        Event::Failed(error) => return Err(error),
        Event::Notification { .. } | Event::Ended => return Err(late()),
    };
    let unreadable = || Error::new(ErrorKind::Protocol, "the response to `initialize` cannot be parsed");
    let result: InitializeResult = from_json(result.as_str()).map_err(|error| unreadable().with_source(error))?;
    let (before, now) = (dialect.revision().version().as_str(), &result.protocol_version);
    if before == now.as_str() {
        return Ok(Ok(()));
    }
    let what =
        format!("after the reconnection the server negotiated revision `{now}` instead of `{before}`; connect again");
    Ok(Err(Error::new(ErrorKind::Version, what)))
}

/// A `subscriptions/listen` request that outlives its connection.
pub(super) struct Subscription {
    pub(super) request: Outgoing,
    /// The mailbox that the client reads.
    pub(super) mailbox: Mailbox,
    /// The exchange on the current connection, while there is one.
    pub(super) exchange: Option<Exchange>,
    /// Whether the client has received an acknowledgement.
    acknowledged: bool,
    /// The end of the subscription, which is reported after a delay unless the server shuts down meanwhile.
    ended: Option<(Event, Pin<Box<Sleep>>)>,
}

impl Subscription {
    /// A server that shuts down gracefully ends its subscriptions first, and the connection within this time.
    const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

    pub(super) fn new(exchange: Exchange, request: Outgoing) -> Self {
        Self { request, mailbox: Mailbox::new(), exchange: Some(exchange), acknowledged: false, ended: None }
    }

    pub(super) fn lost(&mut self) {
        (self.exchange, self.ended) = (None, None);
    }

    pub(super) fn restore(&mut self, channel: &dyn Channel) {
        self.exchange = Some(channel.open(self.request.clone()));
    }

    /// Collects events, each with whether it is synthetic. Returns `false` if the subscription has ended.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<(Mailbox, Event, bool)>) -> bool {
        while let Some(exchange) = &mut self.exchange {
            let Poll::Ready(event) = exchange.poll_next(cx) else { return true };
            match event {
                Event::Notification { method, params } if method == SubscriptionAcknowledged::METHOD => {
                    if std::mem::replace(&mut self.acknowledged, true) {
                        let changes = changes(&params).into_iter();
                        events.extend(changes.map(|change| (self.mailbox.clone(), change, true)));
                    } else {
                        events.push((self.mailbox.clone(), Event::Notification { method, params }, false));
                    }
                }
                Event::Notification { .. } => events.push((self.mailbox.clone(), event, false)),
                // The next connection continues it.
                Event::Failed(error) if error.is_closed() => self.exchange = None,
                Event::Answer(Ok(_)) | Event::Ended => {
                    self.exchange = None;
                    self.ended = Some((event, Box::pin(sleep(Self::SHUTDOWN_GRACE))));
                }
                end => {
                    events.push((self.mailbox.clone(), end, false));
                    return false;
                }
            }
        }
        let Some((end, delay)) = &mut self.ended else { return true };
        if delay.as_mut().poll(cx).is_pending() {
            return true;
        }
        events.push((self.mailbox.clone(), end.clone(), false));
        false
    }
}

/// Returns a change for everything in the acknowledged filter.
fn changes(acknowledged: &Params) -> Vec<Event> {
    let Ok(acknowledged) = acknowledged.parse::<SubscriptionAckParams>() else { return Vec::new() };
    let honoured = acknowledged.notifications;
    let lists = [
        (honoured.tools_list_changed, ToolListChanged::METHOD),
        (honoured.prompts_list_changed, PromptListChanged::METHOD),
        (honoured.resources_list_changed, ResourceListChanged::METHOD),
    ];
    let lists = lists.into_iter().filter(|(wanted, _)| *wanted == Some(true));
    let lists = lists.map(|(_, method)| (method, Some(Params::default())));
    let uris = honoured.resource_subscriptions.into_iter().flatten();
    let uris = uris.map(|uri| (ResourceUpdated::METHOD, updated(&uri)));
    lists
        .chain(uris)
        .filter_map(|(method, params)| Some(Event::Notification { method: method.to_owned(), params: params? }))
        .collect()
}

fn updated(uri: &str) -> Option<Params> {
    let text = JsonText::new(json!({ "uri": uri }).to_string()).ok()?;
    Params::from_text(text).ok()
}
