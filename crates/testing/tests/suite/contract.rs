//! The contracts of stores: the implementations in memory fulfil them, and broken ones are found.

#[cfg(feature = "middleware")]
mod buckets;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "logins")]
mod logins;
#[cfg(feature = "http")]
mod sessions;
#[cfg(feature = "tasks")]
mod tasks;

use std::time::Duration;

use bytes::Bytes;
use couplet_core::{BoxFuture, BusSubscription, ChangeBus, Error, MemoryBus};
use couplet_server::outcomes::{Begun, MemoryOutcomes, OutcomeKey, OutcomeStore};
use couplet_testing::contract;

/// The ways in which a store can be broken.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    ExecutesAgain,
    ForgetsDigests,
    AcceptsAnyToken,
    SharesKeys,
    OutcomesNeverExpire,
    RefusesLateOutcomes,
    AbandonsOutcomes,
}

struct Flawed(MemoryOutcomes, Option<Flaw>);

impl Flawed {
    fn key(&self, key: &OutcomeKey) -> OutcomeKey {
        match self.1 {
            Some(Flaw::SharesKeys) => OutcomeKey::new(None, key.key.clone()),
            _ => key.clone(),
        }
    }
}

impl OutcomeStore for Flawed {
    fn begin<'a>(
        &'a self,
        key: &'a OutcomeKey,
        digest: [u8; 32],
        lease: Duration,
        keep: Duration,
    ) -> BoxFuture<'a, Result<Begun, Error>> {
        Box::pin(async move {
            let digest = if matches!(self.1, Some(Flaw::ForgetsDigests)) { [0; 32] } else { digest };
            match (self.0.begin(&self.key(key), digest, lease, keep).await?, self.1) {
                (Begun::Unknown, Some(Flaw::ExecutesAgain)) => Ok(Begun::First(1)),
                (begun, _) => Ok(begun),
            }
        })
    }

    fn renew<'a>(&'a self, key: &'a OutcomeKey, token: u64, lease: Duration) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move { self.0.renew(&self.key(key), token, lease).await })
    }

    fn finish<'a>(
        &'a self,
        key: &'a OutcomeKey,
        token: u64,
        outcome: Bytes,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let key = self.key(key);
            let (keep, any) = match self.1 {
                Some(Flaw::OutcomesNeverExpire) => (Duration::from_secs(3600), false),
                Some(Flaw::AcceptsAnyToken) => (keep, true),
                Some(Flaw::RefusesLateOutcomes) => {
                    let found = self.0.begin(&key, [7; 32], keep, keep).await?;
                    if found == Begun::Unknown {
                        return Ok(false);
                    }
                    (keep, false)
                }
                _ => (keep, false),
            };
            Ok(self.0.finish(&key, token, outcome, keep).await? || any)
        })
    }

    fn abandon<'a>(&'a self, key: &'a OutcomeKey, token: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let key = self.key(key);
            if matches!(self.1, Some(Flaw::AbandonsOutcomes))
                && let Begun::Done(_) = self.0.begin(&key, [7; 32], Duration::ZERO, Duration::ZERO).await?
            {
                return Err(Error::other("it would be removed"));
            }
            self.0.abandon(&key, token).await
        })
    }
}

/// Whether the contract is violated.
async fn is_violated(check: impl Future<Output = ()> + Send + 'static) -> bool {
    tokio::spawn(check).await.is_err()
}

/// Checks that a contract is fulfilled without a flaw, and violated with each.
async fn finds_all<F, Check>(flaws: &[F], check: impl Fn(Option<F>) -> Check)
where
    F: Copy + std::fmt::Debug,
    Check: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(check(None)).await.expect("the contract is fulfilled without a flaw");
    for &flaw in flaws {
        assert!(is_violated(check(Some(flaw))).await, "{flaw:?} is not found");
    }
}

#[tokio::test(start_paused = true)]
async fn broken_outcome_stores_are_found() {
    use Flaw as F;
    let flaws = [
        F::ExecutesAgain,
        F::ForgetsDigests,
        F::AcceptsAnyToken,
        F::SharesKeys,
        F::OutcomesNeverExpire,
        F::RefusesLateOutcomes,
        F::AbandonsOutcomes,
    ];
    finds_all(&flaws, |flaw| async move {
        contract::outcome_store(&Flawed(MemoryOutcomes::new(), flaw)).await;
    })
    .await;
    let away = is_violated(async { contract::outcome_store_away(&MemoryOutcomes::new()).await });
    assert!(away.await, "a store that answers is not away");
}

/// A bus whose subscriptions drop, repeat or change messages.
struct Noisy(MemoryBus, fn(usize) -> Noise);

enum Noise {
    Whole,
    Dropped,
    Changed,
}

struct NoisySubscription {
    inner: Box<dyn BusSubscription>,
    noise: fn(usize) -> Noise,
    received: usize,
}

impl ChangeBus for Noisy {
    fn publish(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        self.0.publish(message)
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, Error>> {
        Box::pin(async {
            let inner = self.0.subscribe().await?;
            let subscription = NoisySubscription { inner, noise: self.1, received: 0 };
            Ok(Box::new(subscription) as Box<dyn BusSubscription>)
        })
    }
}

impl BusSubscription for NoisySubscription {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, Error>> {
        Box::pin(async {
            loop {
                let message = self.inner.next().await?;
                self.received += 1;
                match (self.noise)(self.received) {
                    Noise::Whole => return Ok(message),
                    Noise::Changed => return Ok(String::from_utf8_lossy(&message).into_owned().into()),
                    Noise::Dropped => {}
                }
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn broken_buses_are_found() {
    let check = |noise: fn(usize) -> Noise| {
        let bus = MemoryBus::new();
        is_violated(async move {
            contract::change_bus(&Noisy(bus.clone(), noise), &Noisy(bus, noise)).await;
        })
    };
    assert!(!check(|_| Noise::Whole).await);
    assert!(check(|number| if number == 7 { Noise::Dropped } else { Noise::Whole }).await, "a message is lost");
    assert!(check(|_| Noise::Changed).await, "only text gets through");
    let separate = is_violated(async { contract::change_bus(&MemoryBus::new(), &MemoryBus::new()).await });
    assert!(separate.await, "the replicas have different buses");
    let silent = is_violated(async { contract::change_bus_cut(&MemoryBus::new(), async || {}).await });
    assert!(silent.await, "a subscription that was cut goes on");
    let away = is_violated(async { contract::change_bus_away(&MemoryBus::new()).await });
    assert!(away.await, "a bus that can be used is not away");
}
