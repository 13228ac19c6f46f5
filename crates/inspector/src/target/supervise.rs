//! The connection to a server: made, watched, and made again.

use std::{sync::Arc, time::Duration};

use couplet_proxy::{Isolation, Proxy};
use couplet_types::ProtocolVersion;
use tokio::time::{Instant, sleep};

use super::{Phase, Target};
use crate::place::{Mount, Opening, Place};

/// Makes the connection of a target, and reconnects when it is lost.
pub(super) struct Supervisor {
    pub(super) target: Arc<Target>,
    pub(super) place: Arc<dyn Place>,
    pub(super) revision: Option<ProtocolVersion>,
    pub(super) mount: Mount,
}

impl Supervisor {
    /// The number of attempts to reconnect in a row.
    const ATTEMPTS: u32 = 6;
    const FIRST_PAUSE: Duration = Duration::from_millis(500);
    /// A connection that lasted this long starts the attempts anew.
    const LASTED: Duration = Duration::from_secs(10);
    /// The number of connections to a server with sessions: one is used until a call waits for an answer of the user
    /// while another one runs.
    const CONNECTIONS: usize = 4;
    /// The time that an answer of the user may take.
    const ANSWER: Duration = Duration::from_secs(3600);

    pub(super) async fn run(self) {
        let mut attempt = 0;
        let mut was_connected = false;
        loop {
            let why = match self.open().await {
                Ok(proxy) => {
                    was_connected = true;
                    let since = Instant::now();
                    let why = self.hold(&proxy).await;
                    if since.elapsed() >= Self::LASTED {
                        attempt = 0;
                    }
                    why
                }
                Err(why) if was_connected => why,
                Err(why) => return self.target.change(|state| state.enter(Phase::Failed, why)),
            };
            attempt += 1;
            if attempt > Self::ATTEMPTS {
                let why = format!("{why}; given up after {} attempts to reconnect", Self::ATTEMPTS);
                return self.target.change(|state| state.enter(Phase::Failed, why));
            }
            let pause = Self::FIRST_PAUSE * 2_u32.pow(attempt - 1);
            self.target.change(|state| {
                state.enter(Phase::Reconnecting, why);
                state.retry_ms = u64::try_from(pause.as_millis()).ok();
            });
            sleep(pause).await;
            self.target.change(|state| state.enter(Phase::Connecting, "connecting again"));
        }
    }

    async fn open(&self) -> Result<Proxy, String> {
        let Opening { client, server } = self.place.open(self.revision, &self.target.tap())?;
        // The supervisor is here, so that the state is known.
        let proxy = Proxy::builder(client)
            .reconnect_attempts(0)
            .connections(Self::CONNECTIONS)
            .isolation(Isolation::Shared)
            .answer_timeout(Self::ANSWER);
        proxy.connect(server).await.map_err(|error| self.place.explain(&error))
    }

    /// Serves a connection until it is lost, and returns the reason.
    async fn hold(&self, proxy: &Proxy) -> String {
        self.target.mount(&self.mount, Some(proxy));
        let client = proxy.client();
        self.target.change(|state| {
            state.met(client.server());
            state.enter(Phase::Connected, "connected");
        });
        drop(client);
        let error = proxy.closed().await;
        self.target.mount(&self.mount, None);
        self.place.explain(&error)
    }
}
