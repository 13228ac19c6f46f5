//! Payments while replicas are killed: each is executed at most once, and with an idempotency key exactly once.

use std::{sync::Arc, time::Duration};

use couplet::prelude::*;
use couplet_interop::ledger;
use serde_json::json;
use tokio::time::Instant;

use crate::{Cluster, Outcome};

/// How many clients pay at the same time.
const CLIENTS: usize = 6;
/// How long they go on.
const SECONDS: u64 = 20;

#[derive(Default)]
struct Tally {
    paid: Vec<String>,
    failed: Vec<(String, String)>,
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
        for id in all.paid.iter().chain(all.failed.iter().map(|(id, _)| id)) {
            let (begun, done) = (count("begin", id), count("paid", id));
            if begun > 1 || done > 1 {
                return Err(format!("`{id}` was executed {begun} times").into());
            }
        }
        if let Some(lost) = all.paid.iter().find(|id| count("paid", id) == 0) {
            return Err(format!("`{lost}` was answered and not executed").into());
        }
        let reasons: std::collections::BTreeSet<&str> = all.failed.iter().map(|(_, why)| why.as_str()).collect();
        Ok(format!(
            "{} paid, {} failed with a definite error, none twice {reasons:?}",
            all.paid.len(),
            all.failed.len()
        ))
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
        match call.await.map_err(|e| e.to_string()).and_then(|r| r.into_result().map_err(|e| e.to_string())) {
            Ok(_) => tally.paid.push(id),
            Err(why) => tally.failed.push((id, why)),
        }
    }
    tally
}
