//! Requests, sent when they are due and not when the server is ready for them.
//!
//! How long a request takes is counted from when it was due. A load that waits for answers before it asks again would
//! leave out just those requests that a slow server makes wait.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use couplet::{
    Client,
    types::{ListTools, ListToolsParams},
};
use hdrhistogram::Histogram;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::exit::{Exit, Failure};

/// How many ask at the same time while it is found out what a server can do.
pub(super) const AT_A_TIME: usize = 32;
/// How many requests may be under way. More are counted, and not sent.
const MOST: usize = 10_000;

/// What is asked.
#[derive(Debug)]
pub(super) enum Ask {
    /// Which tools there are.
    List,
    /// A tool.
    Call { name: String, arguments: Value },
}

/// Some connections, and what is asked on them in turn.
#[derive(Debug)]
pub(super) struct Load {
    clients: Vec<Client>,
    pub(super) ask: Arc<Ask>,
}

/// What came of a rate.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) rate: f64,
    pub(super) sent: u64,
    pub(super) failed: u64,
    /// Requests that were due when too many others were under way.
    pub(super) unsent: u64,
    pub(super) first_failure: Option<String>,
    elapsed: Duration,
    /// In nanoseconds.
    latencies: Histogram<u64>,
}

impl Ask {
    async fn send(&self, client: &Client) -> Result<(), Failure> {
        match self {
            Self::List => drop(client.request::<ListTools>(ListToolsParams::new()).fresh().await?),
            Self::Call { name, arguments } => {
                let result = client.call(name, arguments).await?;
                if result.is_error() {
                    return Err(Failure::new(Exit::Refused, format!("the tool `{name}` failed: {}", result.text())));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List => f.write_str("tools/list"),
            Self::Call { name, .. } => write!(f, "tools/call {name}"),
        }
    }
}

impl Load {
    pub(super) fn new(clients: Vec<Client>, ask: Ask) -> Self {
        Self { clients, ask: Arc::new(ask) }
    }

    pub(super) fn connections(&self) -> usize {
        self.clients.len()
    }

    /// One request.
    pub(super) async fn once(&self) -> Result<(), Failure> {
        self.ask.send(&self.clients[0]).await
    }

    /// How many requests per second are answered when some ask one after the other.
    pub(super) async fn limit(&self, time: Duration) -> Result<f64, Failure> {
        let (begun, mut callers) = (Instant::now(), JoinSet::new());
        for caller in 0..AT_A_TIME {
            let (client, ask) = self.one(caller);
            callers.spawn(async move {
                let mut count = 0_u32;
                while begun.elapsed() < time {
                    ask.send(&client).await?;
                    count += 1;
                }
                Ok::<_, Failure>(count)
            });
        }
        let mut answered = 0_u32;
        while let Some(count) = callers.join_next().await {
            answered += count.map_err(|e| Failure::new(Exit::Protocol, e.to_string()))??;
        }
        Ok(f64::from(answered) / begun.elapsed().as_secs_f64())
    }

    /// So many requests per second, for a time.
    pub(super) async fn at(&self, rate: f64, time: Duration) -> Measured {
        let mut measured = Measured::new(rate);
        let mut under_way = JoinSet::new();
        let total = (rate * time.as_secs_f64()).ceil() as usize;
        let begun = Instant::now();
        for number in 0..total {
            let due = begun + Duration::from_secs_f64(number as f64 / rate);
            until(due).await;
            while let Some(done) = under_way.try_join_next() {
                measured.take(done.ok());
            }
            if under_way.len() >= MOST {
                measured.unsent += 1;
                continue;
            }
            let (client, ask) = self.one(number);
            measured.sent += 1;
            under_way.spawn(async move {
                let outcome = ask.send(&client).await;
                (due.elapsed(), outcome.err().map(|failure| failure.message))
            });
        }
        while let Some(done) = under_way.join_next().await {
            measured.take(done.ok());
        }
        measured.elapsed = begun.elapsed();
        measured
    }

    fn one(&self, number: usize) -> (Client, Arc<Ask>) {
        (self.clients[number % self.clients.len()].clone(), self.ask.clone())
    }

    /// Hangs up, but for the first connection, which is somebody else's.
    pub(super) async fn close(self) {
        for client in self.clients.into_iter().skip(1) {
            // Everything that counts was measured.
            let _ = client.close().await;
        }
    }
}

/// Waits for a moment, more exactly than a timer does.
async fn until(due: Instant) {
    const COARSE: Duration = Duration::from_millis(2);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        match left.checked_sub(COARSE) {
            _ if left.is_zero() => return,
            Some(long) if !long.is_zero() => tokio::time::sleep(long).await,
            _ => tokio::task::yield_now().await,
        }
    }
}

impl Measured {
    fn new(rate: f64) -> Self {
        let latencies = Histogram::new(3).expect("three digits are possible");
        Self { rate, sent: 0, failed: 0, unsent: 0, first_failure: None, elapsed: Duration::ZERO, latencies }
    }

    fn take(&mut self, done: Option<(Duration, Option<String>)>) {
        match done {
            Some((took, None)) => {
                // It takes everything that fits into its numbers, and no answer takes centuries.
                let _ = self.latencies.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            }
            Some((_, Some(why))) => {
                self.failed += 1;
                self.first_failure.get_or_insert(why);
            }
            None => self.failed += 1,
        }
    }

    pub(super) fn answered(&self) -> u64 {
        self.latencies.len()
    }

    pub(super) fn per_second(&self) -> f64 {
        self.answered() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The time within which a share of the requests was answered.
    pub(super) fn at(&self, share: f64) -> Duration {
        Duration::from_nanos(self.latencies.value_at_quantile(share))
    }

    /// As if it had been measured.
    #[cfg(test)]
    pub(super) fn of(rate: f64, elapsed: Duration, latencies: &[Duration]) -> Self {
        let mut measured = Self::new(rate);
        measured.sent = latencies.len() as u64;
        latencies.iter().for_each(|took| measured.take(Some((*took, None))));
        measured.elapsed = elapsed;
        measured
    }
}
