//! Redis that is full, and Redis that hangs for some seconds, with calls under way. The replicas document says what happens.

use std::time::Duration;

use couplet::{
    client::Filter,
    core::Change,
    prelude::*,
    tasks::{CallTask, Called, TaskHandle},
};
use couplet_interop::{expect, ledger};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Cluster, Outcome,
    outage::{bounded, has_ended, is_busy},
    raw,
    scenarios::written,
};

/// The time that a call without a session takes at most, whatever Redis does.
const PROMPT: Duration = Duration::from_secs(2);

impl Cluster {
    /// Full: no new sessions; those that are there go on, at every replica, also after a lease.
    pub(crate) async fn full_sessions(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.owner_of(&session).await?;
        let id = format!("full-{}", &session[..8]);
        let paying = tokio::spawn({
            let (url, session, version) = (owner.clone(), session.clone(), self.version);
            let arguments = json!({ "id": id, "millis": 3000 });
            async move { raw::call(&url, &session, version, "pay", &arguments).await }
        });
        written(&format!("begin {id}")).await?;
        self.begins("full").await?;
        self.opens_none().await?;
        self.keyed_is_refused(&owner, &session, &format!("{id}-keyed")).await?;
        let paid = bounded(paying).await??;
        expect("whether a running call is answered", paid.contains(&format!("paid {id}")), true)?;
        let (began, mut served) = (Instant::now(), 0);
        while !has_ended("full")? {
            for replica in &self.replicas {
                expect("the status at a replica", bounded(raw::ping(replica, &session, self.version)).await?, 200)?;
                served += 1;
            }
            sleep(Duration::from_millis(100)).await;
        }
        let seconds = began.elapsed().as_secs();
        raw::open(&self.url, self.version).await?;
        Ok(format!("no new sessions; {served} requests of one that was there, for {seconds} s, none refused"))
    }

    /// Full: calls without a session go on, changes are notified, and the result of a task is there when there is room.
    pub(crate) async fn full_stateless(&self) -> Outcome<String> {
        let (client, listener) = (self.connect().await?, self.connect().await?);
        let mut changes = listener.listen(Filter::new().resource("replica://note")).await?;
        let id = |what: &str| format!("full-stateless-{what}-{}", std::process::id());
        let task = long_job(&client, &id("job"), 3000).await?;
        written(&format!("begin {}", id("job"))).await?;
        self.begins("full").await?;
        expect("whether a new task is refused", bounded(long_job(&client, &id("new"), 0)).await.is_err(), true)?;
        expect("the executions of a refused task", ledger::count(&format!("begin {}", id("new")))?, 0)?;
        bounded(client.call("touch", ())).await?.into_result()?;
        let change = bounded(async { changes.next().await.ok_or("the subscription has ended") }).await?;
        expect("the change", change, Change::Updated("replica://note".to_owned()))?;
        let calls = self.calls_until_it_ends(&client, "full").await?;
        let text = bounded(task.wait()).await?.into_result()?.text();
        expect("the result of the task", text, id("job"))?;
        let again = bounded(long_job(&client, &id("again"), 0)).await?;
        bounded(again.wait()).await?.into_result()?;
        Ok(format!("{calls} calls and as many forms, none failed; the result of a task was stored afterwards"))
    }

    /// Slow: sessions go on at their owners, and everywhere afterwards.
    pub(crate) async fn slow_sessions(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.owner_of(&session).await?;
        let id = format!("slow-{}", &session[..8]);
        self.begins("slow").await?;
        let status = timeout(PROMPT, raw::ping(&owner, &session, self.version)).await;
        expect("the status at the owner", status.map_err(|_| "the owner waits for Redis")??, 200)?;
        let keyed = format!("{id}-keyed");
        tokio::try_join!(self.opens_none(), self.keyed_is_refused(&owner, &session, &keyed))?;
        let (mut served, mut refused) = (0, 0);
        while !has_ended("slow")? {
            for replica in &self.replicas {
                match bounded(raw::ping_status(replica, &session, self.version)).await? {
                    (200, _) => served += 1,
                    answer if is_busy(&answer) => refused += 1,
                    answer => return Err(format!("the answer is {answer:?}").into()),
                }
            }
            sleep(Duration::from_millis(100)).await;
        }
        for replica in &self.replicas {
            self.becomes(replica, &session, 200, 503).await?;
        }
        Ok(format!("{served} requests served, {refused} refused with `Retry-After`; the session went on"))
    }

    /// Slow: calls without a session go on.
    pub(crate) async fn slow_stateless(&self) -> Outcome<String> {
        let client = self.connect().await?;
        let id = |what: &str| format!("slow-stateless-{what}-{}", std::process::id());
        let task = long_job(&client, &id("job"), 1000).await?;
        self.begins("slow").await?;
        let started = bounded(long_job(&client, &id("new"), 0)).await;
        expect("whether a new task is refused", started.is_err(), true)?;
        let calls = self.calls_until_it_ends(&client, "slow").await?;
        let text = bounded(task.wait()).await?.into_result()?.text();
        expect("the result of the task", text, id("job"))?;
        Ok(format!("{calls} calls and as many forms, none failed or slow; the result of a task was stored afterwards"))
    }

    /// No session can be opened at any replica. They are asked at once, since each may wait for Redis.
    async fn opens_none(&self) -> Outcome {
        let version = self.version;
        let all = self.replicas.iter().cloned().map(|replica| async move { raw::refused(&replica, version).await });
        for refused in all.map(tokio::spawn).collect::<Vec<_>>() {
            let refused = bounded(refused).await??;
            expect("the status of `initialize` and whether there is a `Retry-After`", is_busy(&refused), true)?;
        }
        Ok(())
    }

    /// A call with an idempotency key is not executed.
    async fn keyed_is_refused(&self, owner: &str, session: &str, id: &str) -> Outcome {
        let keyed = bounded(raw::call_once(owner, session, self.version, id)).await?;
        expect("whether a call with a key is refused", keyed.contains("not executed"), true)?;
        Ok(expect("the executions of a refused call", ledger::count(&format!("begin {id}"))?, 0)?)
    }

    /// Calls and forms until the case is over; returns how many there were.
    pub(crate) async fn calls_until_it_ends(&self, client: &Client, case: &str) -> Outcome<usize> {
        let mut calls = 0;
        while !has_ended(case)? {
            let late = |_| format!("a call takes more than {PROMPT:?}");
            timeout(PROMPT, client.call("whoami", ())).await.map_err(late)??.into_result()?;
            let greeted = timeout(PROMPT, client.call("greet", ())).await.map_err(late)??.into_result()?.text();
            expect("the greeting", greeted.as_str(), "Hello Ada and Grace")?;
            calls += 1;
            sleep(Duration::from_millis(50)).await;
        }
        Ok(calls)
    }
}

/// Starts a task.
pub(crate) async fn long_job(client: &Client, id: &str, millis: u64) -> Outcome<TaskHandle> {
    let called = client.call_task("long_job", json!({ "id": id, "millis": millis })).await?;
    let Called::Task(task) = called else { return Err("`long_job` is not a task".into()) };
    Ok(task)
}
