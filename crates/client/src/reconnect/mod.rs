//! Targets with automatic reconnection.

mod backoff;
mod channel;
mod drive;
mod restore;

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, IntoTarget, Limits};

pub use backoff::Backoff;

use channel::{ReconnectingChannel, Slot};
use drive::Supervisor;

/// A target with automatic reconnection: a program that crashed is started again.
///
/// If the first connection fails, `connect` fails at once. Once client and server have negotiated a revision, a lost
/// connection is replaced, after a [delay](Backoff) that grows with each failure:
///
/// * Requests in flight fail with [`ErrorKind::Closed`](couplet_core::ErrorKind::Closed); they may have been executed.
///   Requests that were not sent yet, and new ones, wait for the new connection, as long as their timeout allows (or
///   [fail at once](Reconnecting::fail_fast)).
/// * In a session the handshake is repeated, with the log level and the subscriptions to resources. Subscriptions of
///   [`Client::listen`](crate::Client::listen) continue: they report everything in their filter as changed, because it
///   may have. (Events of extensions are not repeated.) When the server ends a subscription, that is reported two
///   seconds later, unless the server shuts down.
/// * The [`Client`](crate::Client) stays the same. [`Client::server`](crate::Client::server) describes the server as it
///   at first. If it negotiates another revision later, the client gives up.
/// * [`Client::closed`](crate::Client::closed) resolves when the client closes the connection or gives up.
///
/// It needs a tokio runtime with time enabled.
///
/// ```
/// # async fn example(command: impl couplet_core::Connect + 'static) -> Result<(), couplet_core::Error> {
/// use couplet_client::{Backoff, Client, ConnectionState, Reconnecting};
///
/// // `command` is, for example, `Command::new("mcp-server-files")`.
/// let files = Reconnecting::new(command).backoff(Backoff::new().attempts(5)).on_state(|state| {
///     if let ConnectionState::Lost { error, delay, .. } = state {
///         tracing::warn!(%error, ?delay, "the server is restarted");
///     }
/// });
/// let client = Client::new("demo", "1.0.0").connect(files).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
pub struct Reconnecting {
    target: Target,
    server: Option<String>,
    backoff: Backoff,
    fail_fast: bool,
    on_state: Option<OnState>,
}

/// The mutex serializes connection attempts.
type Target = Arc<tokio::sync::Mutex<Box<dyn Connect>>>;
type OnState = Arc<dyn Fn(&ConnectionState) + Send + Sync>;

/// A change of state of a [`Reconnecting`] connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionState {
    /// The connection was restored.
    Restored,
    /// The connection was lost, or an attempt to reconnect failed.
    #[non_exhaustive]
    Lost {
        /// The reason.
        error: Error,
        /// The number of failures in a row.
        failures: usize,
        /// The delay before the next attempt.
        delay: Duration,
    },
    /// The client gave up: there are no more attempts.
    GivenUp(Error),
}

impl Reconnecting {
    /// Wraps a target.
    pub fn new<Kind>(target: impl IntoTarget<Kind, Target: 'static>) -> Self {
        let target = target.into_target();
        Self {
            server: target.server(),
            target: Arc::new(tokio::sync::Mutex::new(Box::new(target))),
            backoff: Backoff::new(),
            fail_fast: false,
            on_state: None,
        }
    }

    /// Sets the delays between attempts, and their number.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Makes requests fail at once while there is no connection, instead of waiting for one.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.fail_fast = true;
        self
    }

    /// Sets a callback for changes of state. It is called by the task that reads messages, so it must not block.
    #[must_use]
    pub fn on_state(mut self, callback: impl Fn(&ConnectionState) + Send + Sync + 'static) -> Self {
        self.on_state = Some(Arc::new(callback));
        self
    }
}

impl Connect for Reconnecting {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let first = self.target.lock().await.connect(inbound.clone(), limits.clone()).await?;
            let slot = Arc::new(Slot::new(first.channel.clone(), self.fail_fast));
            let supervisor = Supervisor {
                slot: slot.clone(),
                target: self.target.clone(),
                inbound,
                limits,
                backoff: self.backoff.clone(),
                on_state: self.on_state.clone(),
            };
            Ok(Connected {
                channel: Arc::new(ReconnectingChannel(slot)),
                driver: Box::pin(supervisor.drive(first.driver)),
            })
        })
    }

    fn server(&self) -> Option<String> {
        self.server.clone()
    }
}

impl fmt::Debug for Reconnecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnecting")
            .field("server", &self.server)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}
