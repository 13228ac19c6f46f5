//! Supervision of the connection to the server.

use std::{sync::Arc, time::Duration};

use couplet_core::{Change, Error, ErrorKind, Hub};
use tokio::{sync::watch, time::Instant};

use crate::{backoff::Backoff, changes, describe::About, pool::Pool, upstream::Upstream};

/// The interval between checks for idle connections.
const LOOK: Duration = Duration::from_secs(30);

pub(crate) struct Supervisor {
    pub(crate) pool: Arc<Pool>,
    pub(crate) hub: Hub,
    pub(crate) about: Arc<About>,
    /// The reason why no further attempt is made.
    pub(crate) given_up: Arc<watch::Sender<Option<Error>>>,
}

impl Supervisor {
    pub(crate) async fn run(self, mut lead: Arc<Upstream>) {
        let mut backoff = Backoff::default();
        loop {
            let since = Instant::now();
            tokio::select! {
                () = lead.retired.notified() => {}
                () = changes::pass_on(&lead.client, &self.hub, &self.pool.subscribed) => {}
                () = self.close_idle() => {}
            }
            backoff.lasted(since.elapsed());
            lead = match self.pool.lead() {
                Ok(next) => next,
                Err(_) => {
                    let ended = ended(&lead).await;
                    drop(lead);
                    match self.reconnect(&mut backoff, ended).await {
                        Some(next) => next,
                        None => return,
                    }
                }
            };
            self.about.set(&lead.client);
            self.pool.tasks.supports.clear();
            // Lists come from a new connection now, or from another one, whose session may differ.
            self.announce();
        }
    }

    async fn close_idle(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.pool.close_idle();
        }
    }

    async fn reconnect(&self, backoff: &mut Backoff, mut error: Error) -> Option<Arc<Upstream>> {
        self.pool.set_failure(error.clone());
        self.announce();
        loop {
            if self.pool.options.attempts.is_some_and(|most| backoff.attempts >= most as usize) {
                self.given_up.send_replace(Some(error));
                return None;
            }
            let pause = backoff.next();
            tracing::warn!(%error, ?pause, "the connection to the server is lost; reconnecting");
            tokio::time::sleep(pause).await;
            match self.pool.connect().await {
                Ok(lead) => return Some(lead),
                Err(failed) => {
                    self.pool.set_failure(failed.clone());
                    error = failed;
                }
            }
        }
    }

    /// Notifies that all lists may have changed.
    fn announce(&self) {
        [Change::Tools, Change::Prompts, Change::Resources].into_iter().for_each(|change| self.hub.send(change));
    }
}

/// The reason why a connection ended.
async fn ended(upstream: &Upstream) -> Error {
    let ended = || Error::new(ErrorKind::Closed, "the connection has ended");
    upstream.client.close().await.err().unwrap_or_else(ended)
}
