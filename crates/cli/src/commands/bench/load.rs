//! Load generation: at a fixed rate (open loop), or with a fixed number of requests in flight (closed loop).
//!
//! In an open loop, the latency of a request is counted from when it was due, which avoids coordinated omission: a load
//! that waits for responses would leave out the requests that a slow server delays.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use couplet::{Client, core::sync::lock};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout, timeout_at},
};

use super::{
    ask::Ask,
    interrupt::Interrupt,
    measured::{Measured, Pace},
};
use crate::exit::Failure;

/// The default maximum number of requests in flight in an open loop.
pub(super) const MOST: usize = 1000;
/// The default time to wait for responses after the end of a measurement.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Connections, and the request that is sent on them in turn.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) clients: Vec<Client>,
    pub(super) ask: Arc<Ask>,
    /// The maximum number of requests in flight in an open loop. Others are delayed, and the delay counts as latency.
    pub(super) most: usize,
    /// How long to wait for responses after the end.
    pub(super) grace: Duration,
    /// The maximum number of requests in a closed loop.
    pub(super) calls: Option<u64>,
    /// Called with the results so far, now and then.
    pub(super) watch: Option<Watch>,
}

/// A callback for intermediate results.
pub(super) struct Watch(pub(super) Box<dyn Fn(&Measured) + Send + Sync>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// A running measurement.
#[derive(Debug)]
struct Run {
    begun: Instant,
    end: Instant,
    measured: Mutex<Measured>,
}

/// A request in flight. If it is dropped, it counts with the time since it was due.
struct Pending {
    run: Arc<Run>,
    asked: Instant,
    over: bool,
}

impl Load {
    /// Sends one request, on the first connection.
    pub(super) async fn once(&self) -> Result<(), Failure> {
        self.ask.send(&self.clients[0]).await
    }

    /// Measures for a duration, or until a signal comes or too many requests fail.
    pub(super) async fn run(&self, pace: Pace, time: Duration, interrupt: &mut Interrupt) -> Measured {
        let begun = Instant::now();
        let run = Arc::new(Run { begun, end: begun + time, measured: Mutex::new(Measured::new(pace)) });
        let mut tasks = JoinSet::new();
        let asking = async {
            match pace {
                Pace::Rate(rate) => self.open(rate, &run, &mut tasks).await,
                Pace::InFlight(number) => self.closed(number, &run, &mut tasks).await,
            }
        };
        tokio::select! {
            biased;
            () = interrupt.pressed() => {}
            () = asking => {}
            () = self.report(&run) => {}
        }
        run.measured().stop(begun.elapsed().min(time));
        tokio::select! {
            biased;
            () = interrupt.pressed() => {}
            _ = timeout(self.grace, async { while tasks.join_next().await.is_some() {} }) => {}
        }
        tasks.shutdown().await;
        let pace = run.measured().pace;
        std::mem::replace(&mut *run.measured(), Measured::new(pace))
    }

    /// Reports intermediate results. It never ends.
    async fn report(&self, run: &Run) {
        const INTERVAL: Duration = Duration::from_millis(200);
        let Some(Watch(watch)) = &self.watch else { return std::future::pending().await };
        loop {
            sleep(INTERVAL).await;
            let mut measured = run.measured();
            measured.so_far(run.begun.elapsed());
            watch(&measured);
        }
    }

    /// Sends requests on schedule.
    async fn open(&self, rate: f64, run: &Arc<Run>, tasks: &mut JoinSet<()>) {
        let places = Arc::new(Semaphore::new(self.most));
        for number in 0_u64.. {
            let due = run.begun + Duration::from_secs_f64(number as f64 / rate);
            if due >= run.end {
                return sleep(run.end.saturating_duration_since(Instant::now())).await;
            }
            until(due).await;
            let place = match places.clone().try_acquire_owned() {
                Ok(place) => place,
                Err(_) => match timeout_at(run.end.into(), places.clone().acquire_owned()).await {
                    Ok(Ok(place)) => place,
                    _ => return,
                },
            };
            // If this program is behind schedule, it gets twice the time.
            if run.measured().is_hopeless() || Instant::now() > run.end + (run.end - run.begun) {
                return;
            }
            // Finished tasks are removed, or they would pile up.
            while tasks.try_join_next().is_some() {}
            let (client, ask) = self.one(number);
            run.measured().sent += 1;
            let pending = Pending::new(run, due);
            tasks.spawn(async move {
                pending.done(ask.send(&client).await);
                drop(place);
            });
        }
    }

    /// Sends a request as soon as another one is answered.
    async fn closed(&self, number: usize, run: &Arc<Run>, tasks: &mut JoinSet<()>) {
        for caller in 0..number {
            let ((client, ask), run, calls) = (self.one(caller as u64), run.clone(), self.calls);
            tasks.spawn(async move {
                while Instant::now() < run.end && run.measured().begin(calls) {
                    let pending = Pending::new(&run, Instant::now());
                    pending.done(ask.send(&client).await);
                }
            });
        }
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout_at(run.end.into(), all).await;
    }

    fn one(&self, number: u64) -> (Client, Arc<Ask>) {
        (self.clients[(number % self.clients.len() as u64) as usize].clone(), self.ask.clone())
    }

    /// Closes the connections.
    pub(super) async fn close(self) {
        let mut closing: JoinSet<_> =
            self.clients.into_iter().map(|client| async move { client.close().await }).collect();
        // Errors do not matter any more.
        while closing.join_next().await.is_some() {}
    }
}

/// Waits until an instant, more precisely than a timer. If it is past, it still yields to other tasks now and then.
async fn until(due: Instant) {
    const COARSE: Duration = Duration::from_millis(2);
    tokio::task::consume_budget().await;
    loop {
        let left = due.saturating_duration_since(Instant::now());
        match left.checked_sub(COARSE) {
            _ if left.is_zero() => return,
            Some(long) if !long.is_zero() => sleep(long).await,
            _ => tokio::task::yield_now().await,
        }
    }
}

impl Run {
    fn measured(&self) -> MutexGuard<'_, Measured> {
        lock(&self.measured)
    }
}

impl Pending {
    fn new(run: &Arc<Run>, asked: Instant) -> Self {
        Self { run: run.clone(), asked, over: false }
    }

    fn done(mut self, outcome: Result<(), Failure>) {
        self.over = true;
        self.run.measured().take(self.asked.elapsed(), self.run.begun.elapsed(), outcome);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.over {
            self.run.measured().give_up(self.asked.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use couplet::{prelude::*, server::Server};
    use couplet_testing::connect;

    use super::*;

    /// Answers after a while.
    #[tool]
    async fn slow(ms: u64) -> &'static str {
        sleep(Duration::from_millis(ms)).await;
        "done"
    }

    async fn load(ms: u64) -> Load {
        let server = Server::new("slow", "1").tool(slow).build();
        let version = couplet::ProtocolVersion::LATEST;
        let client = connect(server, version).await.expect("the server answers");
        let ask = Ask::call(&client, "slow", &[format!("ms={ms}")]).await.expect("the tool is there");
        Load {
            clients: vec![client],
            ask: Arc::new(ask),
            most: MOST,
            grace: Duration::from_secs(60),
            calls: None,
            watch: None,
        }
    }

    #[tokio::test]
    async fn waiting_requests_count() {
        let (mut interrupt, time) = (Interrupt::never(), Duration::from_millis(200));
        let fast = load(0).await.run(Pace::Rate(100.0), time, &mut interrupt).await;
        assert_eq!((fast.sent + fast.unsent, fast.answered(), fast.unanswered), (20, fast.sent, 0), "{fast:?}");
        // Nothing is answered, so at most `MOST` requests are sent, and all that were due are counted.
        let stuck = Load { grace: Duration::ZERO, ..load(3_600_000).await };
        let run = stuck.run(Pace::Rate(10_000.0), time, &mut interrupt).await;
        assert_eq!((run.sent + run.unsent, run.answered(), run.unanswered), (2000, 0, run.sent), "{run:?}");
        assert!((1..=MOST as u64).contains(&run.sent), "{run:?}");
        // The first ones have waited all the time.
        assert!(run.at(0.5) >= Some(time / 3) && run.at(1.0) >= Some(time * 9 / 10), "{run:?}");
    }

    #[tokio::test]
    async fn latency_is_counted_from_when_a_request_was_due() {
        // One at a time, and a new one every 10 ms: the fifth is due at 40 and done at 100, and those that are never sent
        // have waited for 50 at most.
        let one = Load { most: 1, ..load(20).await };
        let run = one.run(Pace::Rate(100.0), Duration::from_millis(100), &mut Interrupt::never()).await;
        assert!(run.sent <= 5 && run.at(1.0) > Some(Duration::from_millis(55)), "{run:?}");
    }

    #[tokio::test]
    async fn a_closed_loop_keeps_a_number_in_flight() {
        let time = Duration::from_millis(100);
        let run = load(10).await.run(Pace::InFlight(4), time, &mut Interrupt::never()).await;
        assert!((4..=44).contains(&run.sent) && run.answered() == run.sent, "{run:?}");
        assert!(run.at(0.0) >= Some(Duration::from_millis(9)), "{run:?}");
    }
}
