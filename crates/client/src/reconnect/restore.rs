//! What a new connection has to be told of the one before: the handshake, the log level, subscriptions.

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

use crate::{connect::answer, driver::beside};

/// What was agreed on in a session, request by request.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    initialize: Option<Outgoing>,
    level: Option<Outgoing>,
    /// By the resource, as it was written.
    subscribed: BTreeMap<String, Outgoing>,
}

impl Session {
    /// How long the handshake may take.
    const PATIENCE: Duration = Duration::from_secs(30);

    pub(super) fn remember(&mut self, request: &Outgoing) {
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

    /// Makes a new connection as good as the one before. The outer error may be of the moment; the inner one stays.
    pub(super) async fn restore(
        &self,
        line: &mut Connected,
        dialect: &Dialect,
        ids: impl Fn() -> RequestId,
    ) -> Result<Result<(), Error>, Error> {
        if let Some(initialize) = self.initialize.as_ref().filter(|_| dialect.has_sessions()) {
            if let Err(changed) = greet(line, dialect, renamed(initialize, ids())).await? {
                return Ok(Err(changed));
            }
            line.channel.agree(dialect);
            line.channel.notify(dialect.notification(Initialized::METHOD, &NotificationParams::new()));
            for request in self.level.iter().chain(self.subscribed.values()) {
                // What the client sends next comes after these, so nothing has to wait for the answers.
                let method = request.method;
                let exchange = line.channel.open(renamed(request, ids()));
                exchange.on_end(move |end| {
                    if let Event::Answer(Err(error)) = end {
                        tracing::warn!(%error, method, "the server that came back refuses what it accepted before");
                    }
                });
                exchange.abandon();
            }
        } else {
            line.channel.agree(dialect);
        }
        Ok(Ok(()))
    }

    /// Tells the client that everything may have changed: a session by notifications, otherwise so that nothing is
    /// taken from a cache. Subscriptions without a session are told by themselves.
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

/// The handshake once more. The inner error is a server that became another one.
async fn greet(line: &mut Connected, dialect: &Dialect, request: Outgoing) -> Result<Result<(), Error>, Error> {
    let mut exchange = line.channel.open(request);
    let answered = beside(&mut line.driver, answer(&mut exchange));
    let late = || Error::new(ErrorKind::Timeout, "the server does not answer `initialize`");
    let result = match tokio::time::timeout(Session::PATIENCE, answered).await.map_err(|_| late())?? {
        Event::Answer(result) => result?,
        Event::Failed(error) => return Err(error),
        Event::Notification { .. } | Event::Ended => return Err(late()),
    };
    let unreadable = || Error::new(ErrorKind::Protocol, "the answer to `initialize` cannot be read");
    let result: InitializeResult = from_json(result.as_str()).map_err(|error| unreadable().with_source(error))?;
    let (before, now) = (dialect.revision().version().as_str(), &result.protocol_version);
    if before == now.as_str() {
        return Ok(Ok(()));
    }
    let what = format!("the server came back with revision `{now}` instead of `{before}`; connect again");
    Ok(Err(Error::new(ErrorKind::Version, what)))
}

/// A `subscriptions/listen` that outlives its connection.
pub(super) struct Listening {
    pub(super) request: Outgoing,
    /// What the client reads.
    pub(super) mailbox: Mailbox,
    /// The same on the connection, while there is one.
    pub(super) exchange: Option<Exchange>,
    /// Whether the client knows what is honoured.
    acknowledged: bool,
    /// How the server ended it, and until when that may have been because the server itself ends.
    ended: Option<(Event, Pin<Box<Sleep>>)>,
}

impl Listening {
    /// A server that ends in good order ends its subscriptions first, and is gone after this time.
    const LEAVING: Duration = Duration::from_secs(2);

    pub(super) fn new(exchange: Exchange, request: Outgoing) -> Self {
        Self { request, mailbox: Mailbox::new(), exchange: Some(exchange), acknowledged: false, ended: None }
    }

    pub(super) fn lost(&mut self) {
        (self.exchange, self.ended) = (None, None);
    }

    pub(super) fn restore(&mut self, channel: &dyn Channel) {
        self.exchange = Some(channel.open(self.request.clone()));
    }

    /// Passes on what came, and whether it is made up; false if the subscription is over.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, told: &mut Vec<(Mailbox, Event, bool)>) -> bool {
        while let Some(exchange) = &mut self.exchange {
            let Poll::Ready(event) = exchange.poll_next(cx) else { return true };
            match event {
                Event::Notification { method, params } if method == SubscriptionAcknowledged::METHOD => {
                    if std::mem::replace(&mut self.acknowledged, true) {
                        let changes = changes(&params).into_iter();
                        told.extend(changes.map(|change| (self.mailbox.clone(), change, true)));
                    } else {
                        told.push((self.mailbox.clone(), Event::Notification { method, params }, false));
                    }
                }
                Event::Notification { .. } => told.push((self.mailbox.clone(), event, false)),
                // It goes on with the next connection.
                Event::Failed(error) if error.is_closed() => self.exchange = None,
                Event::Answer(Ok(_)) | Event::Ended => {
                    self.exchange = None;
                    self.ended = Some((event, Box::pin(sleep(Self::LEAVING))));
                }
                end => {
                    told.push((self.mailbox.clone(), end, false));
                    return false;
                }
            }
        }
        let Some((end, leaving)) = &mut self.ended else { return true };
        if leaving.as_mut().poll(cx).is_pending() {
            return true;
        }
        told.push((self.mailbox.clone(), end.clone(), false));
        false
    }
}

/// Everything that a subscription is about, as changed.
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
