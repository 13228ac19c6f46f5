//! A target that is connected to again when the connection is lost.

mod backoff;
mod channel;
mod drive;
mod restore;

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, IntoTarget, Limits};

pub use backoff::Backoff;

use channel::{Line, Outer};
use drive::Supervisor;

/// A target that is connected to again when the connection is lost: a program that crashed is started again.
///
/// The first connection is made as without it, and fails at once if it fails. Once client and server have agreed on a
/// revision, a lost connection is replaced, after a [delay](Backoff) that grows with each failure:
///
/// * Requests in flight fail with [`ErrorKind::Closed`](couplet_core::ErrorKind::Closed); whether they were carried out
///   is not known. Those that were not sent yet, and those that are made meanwhile, wait for the new connection, as
///   long as their deadline allows (or [fail at once](Reconnecting::fail_fast)).
/// * The handshake is repeated where there is a session, with the log level and the resources that were subscribed to.
///   Subscriptions of [`Client::listen`](crate::Client::listen) go on: they report everything that they are about as
///   changed, because it may be. (What extensions tell in a subscription is not repeated.) When the server ends a subscription, that
///   is reported two seconds later, unless it was because the server itself ends.
/// * The [`Client`](crate::Client) stays the same. [`Client::server`](crate::Client::server) describes the server as it
///   was first met. One that comes back with another revision is given up.
/// * [`Client::closed`](crate::Client::closed) resolves when the client closes the connection, or when the server is
///   given up.
///
/// It needs a tokio runtime with time enabled.
///
/// ```
/// # async fn example(command: impl couplet_core::Connect + 'static) -> Result<(), couplet_core::Error> {
/// use couplet_client::{Backoff, Client, ConnectionState, Reconnecting};
///
/// // `command` is a `Command::new("mcp-server-files")`, for one.
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

/// One connection is opened at a time.
type Target = Arc<tokio::sync::Mutex<Box<dyn Connect>>>;
type OnState = Arc<dyn Fn(&ConnectionState) + Send + Sync>;

/// What became of a [`Reconnecting`] connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionState {
    /// There is a connection again.
    Restored,
    /// The connection was lost, or could not be made again.
    #[non_exhaustive]
    Lost {
        /// Why.
        error: Error,
        /// How many times in a row.
        failures: usize,
        /// When it is tried again.
        delay: Duration,
    },
    /// It is not tried again.
    GivenUp(Error),
}

impl Reconnecting {
    /// Connects to a target, and connects to it again when the connection is lost.
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

    /// Sets the delays between attempts, and how many there are.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Lets requests that are made while there is no connection fail at once, instead of waiting for one.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.fail_fast = true;
        self
    }

    /// Sets a callback for when the connection is lost, restored or given up. It is called where messages are read, so
    /// it must not block.
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
            let line = Arc::new(Line::new(first.channel.clone(), self.fail_fast));
            let supervisor = Supervisor {
                line: line.clone(),
                target: self.target.clone(),
                inbound,
                limits,
                backoff: self.backoff.clone(),
                on_state: self.on_state.clone(),
            };
            Ok(Connected { channel: Arc::new(Outer(line)), driver: Box::pin(supervisor.drive(first.driver)) })
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
