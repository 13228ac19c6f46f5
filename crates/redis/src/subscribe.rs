//! Subscriptions to channels, on a connection of their own.
//!
//! A subscription never reconnects by itself: messages could be lost in between, which its owner must know.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{Error, ErrorKind, sync::lock};
use redis::{AsyncConnectionConfig, FromRedisValue, PushInfo, PushKind, Value, aio::SendError};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel, error::TrySendError},
    time::{Instant, sleep_until},
};

use crate::{
    client::Redis,
    connection::Connection,
    error::{failed, late},
};

/// An open subscription. Dropping it closes its connection.
pub(crate) struct Subscription {
    redis: Redis,
    connection: Connection,
    messages: Receiver<Vec<u8>>,
    /// When to find out whether the connection still works.
    check: Instant,
}

impl Subscription {
    /// The number of messages that wait; one more ends the subscription.
    const WAITING: usize = 1024;
    /// The time between two checks of the connection.
    const CHECK: Duration = Duration::from_secs(10);

    /// Subscribes to a channel. Messages are received from the moment that the future is ready.
    pub(crate) async fn open(redis: &Redis, name: &str) -> Result<Self, Error> {
        let (sender, messages) = channel(Self::WAITING);
        let config = AsyncConnectionConfig::new().set_push_sender(deliver(sender));
        let connection = redis.link().dedicated(config).await?;
        let check = Instant::now() + Self::CHECK;
        let subscription = Self { redis: redis.clone(), connection, messages, check };
        let mut command = redis::cmd("SUBSCRIBE");
        command.arg(name);
        subscription.send(command).await?;
        Ok(subscription)
    }

    /// Waits for the next message. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, Error> {
        loop {
            tokio::select! {
                biased;
                message = self.messages.recv() => return message.ok_or_else(|| {
                    Error::new(ErrorKind::Closed, "the subscription has ended: its connection broke, or it was too slow")
                }),
                () = sleep_until(self.check) => {
                    self.send(redis::cmd("PING")).await?;
                    self.check = Instant::now() + Self::CHECK;
                }
            }
        }
    }

    async fn send(&self, command: redis::Cmd) -> Result<(), Error> {
        let (link, mut commands) = (self.redis.link(), self.connection.commands.clone());
        match tokio::time::timeout(link.timeout(), command.query_async::<Value>(&mut commands)).await {
            Ok(answer) => answer.map(drop).map_err(|error| failed(link.address(), error)),
            Err(_) => Err(late(link.address(), link.timeout())),
        }
    }
}

/// Receives what the server sends. The sender is dropped at the first loss, so that the receiver sees an end.
fn deliver(sender: Sender<Vec<u8>>) -> impl Fn(PushInfo) -> Result<(), SendError> {
    let sender = Arc::new(Mutex::new(Some(sender)));
    move |push| {
        let mut open = lock(&sender);
        let lost = match push.kind {
            PushKind::Message => {
                let payload = push.data.into_iter().nth(1).map(Vec::<u8>::from_redis_value);
                match (payload, &*open) {
                    (Some(Ok(payload)), Some(sender)) => {
                        matches!(sender.try_send(payload), Err(TrySendError::Full(_) | TrySendError::Closed(_)))
                    }
                    _ => true,
                }
            }
            PushKind::Disconnection | PushKind::Unsubscribe => true,
            _ => false,
        };
        if lost {
            *open = None;
        }
        Ok(())
    }
}
