//! Connection and negotiation of a revision.

use std::{sync::Arc, time::Duration};

use couplet_core::{
    Connect, Connected, Dialect, Error, ErrorKind, Event, Exchange, JsonText, Limits, Negotiation, Outcome, Probe,
    RequestOptions, Step,
};
use couplet_types::{
    ClientCapabilities, Discover, DiscoverParams, DiscoverResult, Implementation, Initialize, InitializeParams,
    InitializeResult, Initialized, Notification, NotificationParams, ProtocolVersion, Request, RequestMethod, RpcError,
    from_json,
};

use crate::{
    cache::Ticket, client::ServerInfo, driver::beside, extension::Extensions, incoming::Incoming, timeout::within,
};

/// The configuration of the negotiation.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) extensions: Arc<Extensions>,
    pub(crate) probe_timeout: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) limits: Limits,
}

/// Opens a connection and negotiates a revision.
pub(crate) async fn open(
    target: &mut dyn Connect,
    incoming: &Arc<Incoming>,
    greeting: &Greeting,
) -> Result<(Connected, ServerInfo), Error> {
    match open_once(target, incoming, greeting).await {
        Err(error) if error.is_outdated() => {
            tracing::debug!(%error, "cached knowledge about the server is outdated; negotiating again");
            open_once(target, incoming, greeting).await
        }
        opened => opened,
    }
}

async fn open_once(
    target: &mut dyn Connect,
    incoming: &Arc<Incoming>,
    greeting: &Greeting,
) -> Result<(Connected, ServerInfo), Error> {
    let (mut negotiation, mut step) = Negotiation::new(greeting.versions.clone())?;
    let mut connection = target.connect(incoming.clone(), greeting.limits.clone()).await?;
    let mut server = None;
    loop {
        step = match step {
            Step::Discover(version) => {
                let dialect = greeting.dialect(version);
                // Without a fallback there is no reason for the shorter timeout.
                let probe = negotiation.has_fallback().then_some(greeting.probe_timeout);
                match discover(&mut connection, &dialect, probe.unwrap_or(greeting.timeout), incoming).await? {
                    Found::Late if probe.is_none() => return Err(unanswered(Discover::METHOD, greeting)),
                    Found::Late => negotiation.probed(&Probe::Silence)?,
                    Found::Server(result, info) => {
                        server = Some(ServerInfo::discovered(version, &result, info));
                        negotiation.probed(&Probe::Answer(result))?
                    }
                    Found::Nothing(probe) => negotiation.probed(&probe)?,
                    Found::Lost(why) => {
                        // Some servers exit at a first message that they do not know.
                        let next = negotiation.probed(&Probe::Silence).map_err(|e| e.with_source(why))?;
                        connection = target.connect(incoming.clone(), greeting.limits.clone()).await?;
                        next
                    }
                }
            }
            Step::Initialize(version) => match initialize(&mut connection, &greeting.dialect(version), greeting).await?
            {
                Ok(result) => {
                    let next = negotiation.initialized(Ok(&result))?;
                    server = Some(ServerInfo::initialized(version, *result));
                    next
                }
                Err(refused) => negotiation.initialized(Err(refused))?,
            },
            Step::Speak(version) => {
                let Some(mut server) = server else {
                    return Err(Error::new(ErrorKind::Protocol, "the server did not describe itself"));
                };
                server.version = version;
                let dialect = greeting.dialect(version);
                connection.channel.agree(&dialect);
                if dialect.has_sessions() {
                    connection.channel.notify(dialect.notification(Initialized::METHOD, &NotificationParams::new()));
                }
                incoming.agree(dialect);
                let _ = incoming.channel.set(Arc::downgrade(&connection.channel));
                return Ok((connection, server));
            }
        };
    }
}

impl Greeting {
    fn dialect(&self, version: ProtocolVersion) -> Dialect {
        Dialect::new(version, self.info.clone(), self.capabilities(version))
    }

    fn capabilities(&self, version: ProtocolVersion) -> ClientCapabilities {
        let mut all = self.capabilities.clone();
        self.extensions.declare(version, &mut all);
        all
    }
}

/// The outcome of the `server/discover` probe.
enum Found {
    Server(Box<DiscoverResult>, Option<Implementation>),
    Nothing(Probe),
    /// The probe timed out.
    Late,
    Lost(Error),
}

async fn discover(
    connection: &mut Connected,
    dialect: &Dialect,
    timeout: Option<Duration>,
    incoming: &Incoming,
) -> Result<Found, Error> {
    let params = DiscoverParams::new();
    let key = dialect.cache_key::<Discover>(&params);
    let ticket = incoming.seat.as_ref().zip(key).map(|(seat, key)| seat.ticket(dialect, RequestMethod::Discover, key));
    if let Some(text) = ticket.as_ref().and_then(Ticket::cached) {
        return Ok(parse_discovered(dialect, text));
    }
    let lead = ticket.map(|ticket| ticket.lead());
    let outgoing = dialect.request::<Discover>(connection.channel.next_id(), params, &RequestOptions::default())?;
    let mut exchange = connection.channel.open(outgoing);
    let channel = connection.channel.clone();
    let answered = within(timeout, &*channel, beside(&mut connection.driver, response(&mut exchange))).await;
    Ok(match answered {
        // A server that does not answer may not understand a cancellation, either.
        None => {
            exchange.abandon();
            Found::Late
        }
        Some(Err(why)) => Found::Lost(why),
        Some(Ok(Event::Failed(why))) if why.kind() == ErrorKind::Closed => Found::Lost(why),
        Some(Ok(Event::Failed(why))) if why.kind() != ErrorKind::Protocol => return Err(why),
        Some(Ok(Event::Answer(Err(refused)))) => Found::Nothing(Probe::Refused(refused)),
        Some(Ok(Event::Answer(Ok(text)))) => {
            let found = parse_discovered(dialect, text.clone());
            if let (Some(lead), Found::Server(..)) = (lead, &found) {
                lead.settle(&text);
            }
            found
        }
        // An invalid response is no reason not to try the handshake.
        Some(Ok(_)) => Found::Nothing(Probe::Silence),
    })
}

fn parse_discovered(dialect: &Dialect, text: JsonText) -> Found {
    let info = dialect.server_info(&text);
    match dialect.outcome(text) {
        Ok(Outcome::Complete(text)) => match from_json(text.as_str()) {
            Ok(result) => Found::Server(Box::new(result), info),
            Err(_) => Found::Nothing(Probe::Silence),
        },
        _ => Found::Nothing(Probe::Silence),
    }
}

/// The inner error is one that the server responded with.
async fn initialize(
    connection: &mut Connected,
    dialect: &Dialect,
    greeting: &Greeting,
) -> Result<Result<Box<InitializeResult>, RpcError>, Error> {
    let version = dialect.revision().version();
    let params = InitializeParams::new(version.as_str(), greeting.capabilities(version), greeting.info.clone());
    let outgoing = dialect.request::<Initialize>(connection.channel.next_id(), params, &RequestOptions::default())?;
    let mut exchange = connection.channel.open(outgoing);
    let channel = connection.channel.clone();
    match within(greeting.timeout, &*channel, beside(&mut connection.driver, response(&mut exchange))).await {
        None => Err(unanswered(Initialize::METHOD, greeting)),
        Some(Err(why)) | Some(Ok(Event::Failed(why))) => Err(why),
        Some(Ok(Event::Answer(Err(refused)))) => Ok(Err(refused)),
        Some(Ok(Event::Answer(Ok(text)))) => from_json(text.as_str()).map(|r| Ok(Box::new(r))).map_err(|e| {
            Error::new(ErrorKind::Protocol, "the response to `initialize` cannot be parsed").with_source(e)
        }),
        Some(Ok(_)) => Err(Error::new(ErrorKind::Protocol, "the server ended `initialize` without a response")),
    }
}

fn unanswered(method: &str, greeting: &Greeting) -> Error {
    let waited = greeting.timeout.unwrap_or_default();
    Error::new(ErrorKind::Timeout, format!("the server did not answer `{method}` within {waited:?}"))
}

/// Waits for the response of an exchange, ignoring notifications.
pub(crate) async fn response(exchange: &mut Exchange) -> Event {
    loop {
        match exchange.next().await {
            Event::Notification { .. } => {}
            end => return end,
        }
    }
}
