//! Broken token buckets.

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error};
use couplet_middleware::{Buckets, MemoryBuckets, Taken};
use couplet_testing::contract;

use super::{finds_all, is_violated};

const HOUR: Duration = Duration::from_secs(3600);

/// The ways in which a store can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    AllowsAll,
    CountsPerReplica,
    SharesKeys,
    IgnoresCase,
    TakesWhenItRefuses,
    ChecksInTwoSteps,
    RefusesHighCosts,
    SaysNothingOfTheTime,
}

struct Flawed {
    buckets: Arc<MemoryBuckets>,
    /// As full as the others, for a look that takes nothing.
    burst: u32,
    flaw: Option<Flaw>,
}

impl Flawed {
    fn pair(flaw: Option<Flaw>) -> (Self, Self) {
        let shared = Arc::new(MemoryBuckets::new(3, HOUR));
        let handle = || {
            let is_own = flaw == Some(Flaw::CountsPerReplica);
            let buckets = if is_own { Arc::new(MemoryBuckets::new(3, HOUR)) } else { shared.clone() };
            Self { buckets, burst: 3, flaw }
        };
        (handle(), handle())
    }

    async fn take_flawed(&self, key: &str, cost: u32) -> Result<Taken, Error> {
        let key = match self.flaw {
            Some(Flaw::SharesKeys) => String::new(),
            Some(Flaw::IgnoresCase) => key.to_lowercase(),
            _ => key.to_owned(),
        };
        if self.flaw == Some(Flaw::RefusesHighCosts) && cost > self.burst {
            return Ok(Taken::Retry(HOUR));
        }
        let looked = self.buckets.take(&key, 0).await?;
        if self.flaw == Some(Flaw::ChecksInTwoSteps) {
            // A call that looks while another one is here is not counted.
            let count = Arc::strong_count(&self.buckets);
            let _here = self.buckets.clone();
            tokio::task::yield_now().await;
            if Arc::strong_count(&self.buckets) > count + 1 {
                return Ok(looked);
            }
        }
        let taken = self.buckets.take(&key, cost).await?;
        Ok(match (taken, self.flaw) {
            (Taken::Retry(_), Some(Flaw::AllowsAll)) => Taken::Allowed,
            (Taken::Retry(_), Some(Flaw::SaysNothingOfTheTime)) => Taken::Retry(Duration::ZERO),
            (Taken::Retry(after), Some(Flaw::TakesWhenItRefuses)) => {
                while self.buckets.take(&key, 1).await? == Taken::Allowed {}
                Taken::Retry(after)
            }
            (taken, _) => taken,
        })
    }
}

impl Buckets for Flawed {
    fn take<'a>(&'a self, key: &'a str, cost: u32) -> BoxFuture<'a, Result<Taken, Error>> {
        Box::pin(self.take_flawed(key, cost))
    }
}

#[tokio::test(start_paused = true)]
async fn broken_buckets_are_found() {
    use Flaw as F;
    let flaws = [
        F::AllowsAll,
        F::CountsPerReplica,
        F::SharesKeys,
        F::IgnoresCase,
        F::TakesWhenItRefuses,
        F::ChecksInTwoSteps,
        F::RefusesHighCosts,
        F::SaysNothingOfTheTime,
    ];
    finds_all(&flaws, |flaw| async move {
        let (one, two) = Flawed::pair(flaw);
        contract::buckets(&one, &two).await;
    })
    .await;
    let dry = is_violated(async { contract::bucket_refill(&MemoryBuckets::new(2, HOUR)).await });
    assert!(dry.await, "tokens do not come back");
    let away = is_violated(async { contract::buckets_away(&MemoryBuckets::new(2, HOUR)).await });
    assert!(away.await, "buckets that answer are not away");
}
