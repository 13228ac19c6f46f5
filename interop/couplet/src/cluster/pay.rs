//! Payments while replicas are killed: each is executed at most once, and with an idempotency key exactly once. Each is
//! answered or fails with a definite error, and most are answered.

use std::{sync::Arc, time::Duration};

use couplet::{ErrorKind, prelude::*};
use couplet_interop::ledger;
use serde_json::json;
use tokio::time::Instant;

use crate::{Cluster, Outcome};

/// How many clients pay at the same time.
const CLIENTS: usize = 6;
/// How long they go on.
const SECONDS: u64 = 20;

/// The least share of payments that succeed, in percent: each death costs those that it interrupts.
const SHARE: usize = 80;
/// What a server says of a call that it does not execute again, because a replica died with its outcome.
const UNKNOWN: &str = "the outcome of the first call with this idempotency key is not known";

#[derive(Default)]
struct Tally {
    paid: Vec<String>,
    failed: Vec<Failed>,
}

/// A payment without an answer.
struct Failed {
    id: String,
    kind: ErrorKind,
    why: String,
}

/// How often a tool wrote that it begins a payment, and that it has paid.
struct Executed {
    begun: usize,
    paid: usize,
}

impl Cluster {
    /// Pays with a key, or without one.
    pub(crate) async fn pay(&self, once: bool) -> Outcome<String> {
        let until = Instant::now() + Duration::from_secs(SECONDS);
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..CLIENTS {
            let client = Arc::new(self.connect().await?);
            let prefix = format!("pay-{}-{once}-{number}", self.version);
            clients.spawn(pay_until(client, prefix, once, until));
        }
        let mut all = Tally::default();
        while let Some(tally) = clients.join_next().await {
            let tally = tally?;
            all.paid.extend(tally.paid);
            all.failed.extend(tally.failed);
        }
        let counts = ledger::counts()?;
        let count = |what: &str, id: &str| counts.get(&format!("{what} {id}")).copied().unwrap_or_default();
        let executed = |id: &str| Executed { begun: count("begin", id), paid: count("paid", id) };
        all.at_most_once(executed)?;
        if once {
            all.exactly_once(executed)?
        } else {
            all.is_definite(executed)?
        }
        all.most()?;
        let reasons: std::collections::BTreeSet<&str> = all.failed.iter().map(|failed| failed.why.as_str()).collect();
        Ok(format!(
            "{} paid, {} failed with a definite error, none twice {reasons:?}",
            all.paid.len(),
            all.failed.len()
        ))
    }
}

impl Tally {
    /// No payment is executed twice, and those that were answered are executed.
    fn at_most_once(&self, executed: impl Fn(&str) -> Executed) -> Result<(), String> {
        for id in self.paid.iter().chain(self.failed.iter().map(|failed| &failed.id)) {
            let Executed { begun, paid } = executed(id);
            if begun > 1 || paid > 1 {
                return Err(format!("`{id}` was executed {begun} times"));
            }
        }
        match self.paid.iter().find(|id| executed(id).paid == 0) {
            Some(lost) => Err(format!("`{lost}` was answered and not executed")),
            None => Ok(()),
        }
    }

    /// With a key a payment fails only if the replica that executed it died, or if no replica has begun with it.
    fn exactly_once(&self, executed: impl Fn(&str) -> Executed) -> Result<(), String> {
        for Failed { id, kind, why } in &self.failed {
            let is_unsent = matches!(kind, ErrorKind::Transport | ErrorKind::Closed) && executed(id).begun == 0;
            let is_unknown = *kind == ErrorKind::Rpc && why.contains(UNKNOWN) && executed(id).paid <= 1;
            if !is_unsent && !is_unknown {
                return Err(format!("`{id}` has a key and failed, begun {} times: {why}", executed(id).begun));
            }
        }
        Ok(())
    }

    /// Without a key a payment fails because its connection was cut, or because a server says so; a client that only gives
    /// up waiting does not know more than that a call is lost. A server refuses a payment before it begins with it.
    fn is_definite(&self, executed: impl Fn(&str) -> Executed) -> Result<(), String> {
        for Failed { id, kind, why } in &self.failed {
            let is_cut = matches!(kind, ErrorKind::Transport | ErrorKind::Closed);
            let is_refused = *kind == ErrorKind::Rpc && executed(id).begun == 0;
            if !is_cut && !is_refused {
                let begun = executed(id).begun;
                return Err(format!("`{id}` has no definite error ({kind:?}), begun {begun} times: {why}"));
            }
        }
        Ok(())
    }

    /// Each client pays, and most payments succeed.
    fn most(&self) -> Result<(), String> {
        let (paid, all) = (self.paid.len(), self.paid.len() + self.failed.len());
        if paid < CLIENTS || paid * 100 < all * SHARE {
            return Err(format!("only {paid} of {all} payments succeeded"));
        }
        Ok(())
    }
}

async fn pay_until(client: Arc<Client>, prefix: String, once: bool, until: Instant) -> Tally {
    let mut tally = Tally::default();
    for n in 0.. {
        if Instant::now() >= until {
            break;
        }
        let id = format!("{prefix}-{n}");
        let call = client.call("pay", json!({ "id": id, "millis": 30 }));
        let call = if once { call.idempotency_key(id.clone()) } else { call };
        match call.await.and_then(|result| result.into_result()) {
            Ok(_) => tally.paid.push(id),
            Err(error) => tally.failed.push(Failed { id, kind: error.kind(), why: error.to_string() }),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use crate::pay::*;

    /// A failure: its kind, its text, and how often the payment was begun and paid.
    type Failure<'a> = (ErrorKind, &'a str, usize, usize);

    /// The payments that were answered, and those that failed, each with how often it was begun and paid.
    fn check(once: bool, paid: &[(usize, usize)], failed: &[Failure<'_>]) -> Result<(), String> {
        let mut tally = Tally::default();
        let mut executed = std::collections::HashMap::new();
        for (begun, paid) in paid {
            let id = format!("answered-{}", tally.paid.len());
            executed.insert(id.clone(), (*begun, *paid));
            tally.paid.push(id);
        }
        for (kind, why, begun, paid) in failed {
            let id = format!("failed-{}", tally.failed.len());
            executed.insert(id.clone(), (*begun, *paid));
            tally.failed.push(Failed { id, kind: *kind, why: (*why).to_owned() });
        }
        let executed = |id: &str| {
            executed
                .get(id)
                .map_or(Executed { begun: 0, paid: 0 }, |(begun, paid)| Executed { begun: *begun, paid: *paid })
        };
        tally.at_most_once(executed)?;
        if once {
            tally.exactly_once(executed)?
        } else {
            tally.is_definite(executed)?
        }
        tally.most()
    }

    const GOOD: &[(usize, usize)] = &[(1, 1); 20];
    const RPC: ErrorKind = ErrorKind::Rpc;
    const CUT: ErrorKind = ErrorKind::Transport;

    /// The payments of a run, and a part of the reason to refuse it.
    type Refused<'a> = (&'a [(usize, usize)], &'a [Failure<'a>], &'a str);

    /// Each line is refused, and says why.
    fn refused(once: bool, lines: &[Refused<'_>]) {
        for (paid, failed, says) in lines {
            let error = check(once, paid, failed).expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn only_what_a_key_allows_passes() {
        assert_eq!(check(true, GOOD, &[(RPC, UNKNOWN, 1, 0), (RPC, UNKNOWN, 1, 1), (CUT, "refused", 0, 0)]), Ok(()));
        refused(
            true,
            &[
                (&[], &[], "only 0 of 0"),
                (&[], &[(RPC, UNKNOWN, 1, 0); 20], "only 0 of 20"),
                (GOOD, &[(RPC, UNKNOWN, 1, 0); 6], "only 20 of 26"),
                (GOOD, &[(CUT, "connection closed", 1, 0)], "has a key and failed, begun 1 times"),
                (GOOD, &[(RPC, "internal error", 0, 0)], "internal error"),
                (GOOD, &[(ErrorKind::Timeout, "too late", 0, 0)], "too late"),
                (GOOD, &[(RPC, UNKNOWN, 2, 1)], "was executed 2 times"),
                (&[(1, 1), (2, 2)], &[], "was executed 2 times"),
                (&[(1, 1), (1, 0)], &[], "was answered and not executed"),
            ],
        );
    }

    #[test]
    fn without_a_key_errors_are_definite_too() {
        let cut =
            [(CUT, "refused", 0, 0), (CUT, "cut", 1, 1), (ErrorKind::Closed, "closed", 1, 0), (RPC, "busy", 0, 0)];
        assert_eq!(check(false, GOOD, &cut), Ok(()));
        refused(
            false,
            &[
                (&[], &[], "only 0 of 0"),
                (&[], &[(CUT, "refused", 0, 0); 20], "only 0 of 20"),
                (GOOD, &[(CUT, "refused", 0, 0); 6], "only 20 of 26"),
                (GOOD, &[(ErrorKind::Timeout, "too late", 0, 0)], "no definite error (Timeout)"),
                (GOOD, &[(RPC, "refused", 1, 0)], "begun 1 times: refused"),
                (GOOD, &[(ErrorKind::Protocol, "no JSON", 0, 0)], "no JSON"),
                (GOOD, &[(CUT, "cut", 2, 1)], "was executed 2 times"),
            ],
        );
    }
}
