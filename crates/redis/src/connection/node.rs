//! One connection for all operations of a server: opened when it is needed, replaced when it breaks.
//!
//! Every operation has one deadline, for everything: waiting for its turn, connecting, and the answer. An operation that
//! is late makes the connection suspect, and the next one opens another.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use couplet_core::{Error, Outage, OutageChange, sync::lock};
use redis::{AsyncConnectionConfig, ErrorKind as Kind, RedisError, RedisResult, ServerErrorKind as Server, Value};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};

use super::{
    Repeat,
    target::{Connection, Target},
};
use crate::error::{failed, is_refusal, late};

/// A server with its shared connection.
pub(crate) struct Node {
    target: Target,
    timeout: Duration,
    turns: Semaphore,
    /// `None` before the first operation, and after a failure.
    open: Mutex<Option<Open>>,
    /// Held by the one caller that connects.
    connecting: tokio::sync::Mutex<()>,
    opened: AtomicU64,
    /// Whether the last operation found no server.
    outage: Outage,
}

#[derive(Clone)]
struct Open {
    connection: Arc<Connection>,
    number: u64,
}

impl Node {
    /// The number of operations that wait for an answer at a time; others wait for their turn.
    const CONCURRENT: usize = 512;

    pub(crate) fn new(target: Target, timeout: Duration) -> Self {
        Self {
            target,
            timeout,
            turns: Semaphore::new(Self::CONCURRENT),
            open: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(()),
            opened: AtomicU64::new(0),
            outage: Outage::new(),
        }
    }

    /// Sends commands in one go until a deadline, and returns their answers.
    pub(crate) async fn send(
        &self,
        commands: &redis::Pipeline,
        repeat: Repeat,
        deadline: Instant,
    ) -> Result<Vec<Value>, Error> {
        let used = AtomicU64::new(0);
        let answer = match timeout_at(deadline, self.attempts(commands, repeat, &used)).await {
            // It is full, and not away: reads are answered in between.
            Ok(Err(error)) if is_refusal(&error) => {
                self.note(None);
                return Err(failed(&self.target.to_string(), error));
            }
            Ok(answer) => answer.map_err(|error| failed(&self.target.to_string(), error)),
            Err(_) => {
                self.give_up(used.load(Ordering::Relaxed));
                Err(late(&self.target.to_string(), self.timeout))
            }
        };
        self.note(answer.as_ref().err());
        answer
    }

    /// Logs that the server is away, and that it is back, once each.
    fn note(&self, error: Option<&Error>) {
        match (self.outage.note(error), error) {
            (Some(OutageChange::Began), Some(error)) => {
                tracing::warn!(address = %self.target, %error, "redis is away");
            }
            (Some(OutageChange::Ended), _) => tracing::info!(address = %self.target, "redis is back"),
            _ => {}
        }
    }

    /// Opens a connection of its own, for subscriptions.
    pub(crate) async fn dedicated(&self, config: AsyncConnectionConfig) -> Result<Connection, Error> {
        let target = self.target.for_messages();
        match timeout(self.timeout, target.open(config)).await {
            Ok(opened) => opened.map_err(|error| failed(&self.target.to_string(), error)),
            Err(_) => Err(late(&self.target.to_string(), self.timeout)),
        }
    }

    async fn attempts(&self, commands: &redis::Pipeline, repeat: Repeat, used: &AtomicU64) -> RedisResult<Vec<Value>> {
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        let mut again = repeat == Repeat::Safe;
        loop {
            let open = self.current().await?;
            used.store(open.number, Ordering::Relaxed);
            let mut connection = open.connection.commands.clone();
            match commands.query_async(&mut connection).await.map_err(first) {
                Err(error) if is_broken(&error) => {
                    self.give_up(open.number);
                    if !std::mem::take(&mut again) {
                        return Err(error);
                    }
                }
                answer => return answer,
            }
        }
    }

    /// The open connection, or another one. One caller connects at a time, and the others wait for it.
    async fn current(&self) -> RedisResult<Open> {
        if let Some(open) = self.live() {
            return Ok(open);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(open) = self.live() {
            return Ok(open);
        }
        let connection = Arc::new(self.target.open(AsyncConnectionConfig::new()).await?);
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::debug!(address = %self.target, number, "connected to redis");
        Ok(self.open().insert(Open { connection, number }).clone())
    }

    /// The open connection, unless the server has closed it, as it does with idle ones.
    fn live(&self) -> Option<Open> {
        self.open().clone().filter(|open| !open.connection.is_closed())
    }

    /// Gives up a connection, unless it has been replaced already.
    fn give_up(&self, number: u64) {
        let gone = self.open().take_if(|open| open.number == number);
        // Not under the lock: this may close a socket.
        drop(gone);
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        lock(&self.open)
    }
}

/// Whether the connection is of no more use: it broke, or its server is a primary no more.
fn is_broken(error: &RedisError) -> bool {
    let demoted = error.kind() == Kind::Server(Server::ReadOnly) || error.code() == Some("READONLY");
    demoted || error.is_unrecoverable_error() && !error.is_connection_refusal()
}

/// The error of the first command that failed.
fn first(error: RedisError) -> RedisError {
    let failed = error.clone().into_server_errors();
    failed.and_then(|failed| failed.first().map(|(_, error)| error.clone().into())).unwrap_or(error)
}
