//! Replicas that are started while Redis is away, until it is there.

use couplet::{client::Filter, core::Change, prelude::*};
use couplet_interop::{expect, ledger};
use serde_json::json;

use crate::{
    Cluster, Outcome,
    outage::{bounded, eventually, has_ended, is_busy},
    raw,
    shortage::long_job,
};

/// The name of the case.
const START: &str = "start";

impl Cluster {
    /// No session can be opened, and the client learns when to retry; afterwards they can.
    pub(crate) async fn refused(&self) -> Outcome<String> {
        self.begins(START).await?;
        for replica in &self.replicas {
            let refused = bounded(raw::refused(replica, self.version)).await?;
            expect("the status of `initialize` and whether there is a `Retry-After`", is_busy(&refused), true)?;
        }
        self.seen().await?;
        for replica in &self.replicas {
            let opens = eventually(|| async { bounded(raw::open(replica, self.version)).await.is_ok() });
            expect("whether sessions are opened when Redis is there", opens.await, true)?;
        }
        Ok("503 with `Retry-After` from every replica; sessions when Redis was there".to_owned())
    }

    /// Calls without a session are served, what needs the store is refused, and changes are notified by the replica that they
    /// are made at; afterwards everything works.
    pub(crate) async fn refused_stateless(&self) -> Outcome<String> {
        self.begins(START).await?;
        let id = |what: &str| format!("start-{what}-{}", std::process::id());
        for replica in &self.replicas {
            let client = self.builder().connect(couplet::http::connect(replica.clone())).await?;
            bounded(client.call("whoami", ())).await?.into_result()?;
            let greeted = bounded(client.call("greet", ())).await?.into_result()?.text();
            expect("the greeting", greeted.as_str(), "Hello Ada and Grace")?;
            expect("whether a task is refused", bounded(long_job(&client, &id("job"), 0)).await.is_err(), true)?;
            expect("whether a call with a key is refused", keyed(&client, &id("keyed")).await.is_err(), true)?;
            let mut changes = client.listen(Filter::new().resource("replica://note")).await?;
            bounded(client.call("touch", ())).await?.into_result()?;
            let change = bounded(async { changes.next().await.ok_or("the subscription has ended") }).await?;
            expect("the change", change, Change::Updated("replica://note".to_owned()))?;
        }
        for what in ["job", "keyed"] {
            expect("the executions of a refused call", ledger::count(&format!("begin {}", id(what)))?, 0)?;
        }
        let listener = self.connect().await?;
        let mut changes = listener.listen(Filter::new().resource("replica://note")).await?;
        self.seen().await?;
        for replica in &self.replicas {
            let client = self.builder().connect(couplet::http::connect(replica.clone())).await?;
            let is_paid = eventually(|| async { keyed(&client, &id("keyed")).await.is_ok() });
            expect("whether a call with a key is answered when Redis is there", is_paid.await, true)?;
            let task = bounded(long_job(&client, &id("job"), 0)).await?;
            expect("the result of a task", bounded(task.wait()).await?.into_result()?.text(), id("job"))?;
        }
        expect("the executions of the call with a key", ledger::count(&format!("begin {}", id("keyed")))?, 1)?;
        self.hears(&mut changes).await?;
        Ok("calls, forms and local changes at every replica; keys and tasks when Redis was there".to_owned())
    }

    /// Says that everything was seen that there is without Redis, and waits until Redis is there.
    async fn seen(&self) -> Outcome {
        ledger::write(&format!("seen {START} {}", self.version))?;
        expect("whether Redis was started", eventually(|| async { has_ended(START).unwrap_or(false) }).await, true)?;
        Ok(())
    }
}

async fn keyed(client: &Client, id: &str) -> Outcome<String> {
    let call = client.call("pay", json!({ "id": id, "millis": 0 })).idempotency_key(id);
    bounded(async { Ok::<_, couplet::Error>(call.await?.into_result()?.text()) }).await
}
