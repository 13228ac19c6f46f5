//! Redis is away for 30 seconds while calls run, and comes back without its data.
//!
//! The ledger says when: the scenario writes `ready <case> <revision>`, and reads `<case> begins` and `<case> ends`.

use std::{future::Future, time::Duration};

use couplet::{
    client::Filter,
    core::Change,
    prelude::*,
    tasks::{CallTask, Called},
};
use couplet_interop::{expect, ledger};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Cluster, Outcome, raw,
    scenarios::written,
    stream::{self, Heard},
};

/// Everything ends within this time.
const BOUND: Duration = Duration::from_secs(15);
/// The longest time until Redis is away, or back.
const PHASE: Duration = Duration::from_secs(60);

impl Cluster {
    /// Sessions are served by their owners until the lease ends, then nowhere, and are unknown afterwards.
    pub(crate) async fn outage_sessions(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.owner_of(&session).await?;
        let client = self.connect().await?;
        let id = |what: &str| format!("outage-{what}-{}", &session[..8]);
        let call = |tool: &'static str, id: &str, millis: u64| {
            let (url, session, version) = (owner.clone(), session.clone(), self.version);
            let arguments = json!({ "id": id, "millis": millis });
            tokio::spawn(async move { raw::call(&url, &session, version, tool, &arguments).await })
        };
        let (short, long) = (call("pay", &id("short"), 6000), call("wait", &id("long"), 120_000));
        let heard = Heard::default();
        let stream = tokio::spawn({
            let (url, session, version, heard) = (owner.clone(), session.clone(), self.version, heard.clone());
            let arguments = json!({ "id": id("stream"), "to": 100, "millis": 50 });
            async move { stream::count(&url, &session, version, &arguments, &heard).await }
        });
        for what in ["short", "long", "stream"] {
            written(&format!("begin {}", id(what))).await?;
        }
        self.begins("away").await?;
        let away = Instant::now();

        expect("the status at the owner", bounded(raw::ping(&owner, &session, self.version)).await?, 200)?;
        let keyed = bounded(raw::call_once(&owner, &session, self.version, &id("keyed"))).await?;
        expect("whether a call with a key is refused", keyed.contains("not executed"), true)?;
        expect("the executions of a refused call", ledger::count(&format!("begin {}", id("keyed")))?, 0)?;
        for replica in &self.replicas {
            let refused = bounded(raw::refused(replica, self.version)).await?;
            expect("the status of `initialize` and whether there is a `Retry-After`", is_busy(&refused), true)?;
            if *replica != owner {
                self.becomes(replica, &session, 503, 200).await?;
            }
        }
        let paid = bounded(short).await??;
        expect("whether a running call is answered", paid.contains(&format!("paid {}", id("short"))), true)?;
        expect("the status of a running stream", bounded(stream).await??, 200)?;
        expect("its progress", heard.progress(), (1..=100).collect())?;
        expect("its result", heard.result().as_deref(), Some("counted to 100"))?;

        self.becomes(&owner, &session, 503, 200).await?;
        let lease = away.elapsed();
        let answered = bounded(long).await?.is_ok_and(|answer| answer.contains("\"result\""));
        expect("whether a call without a session is answered", answered, false)?;
        self.stays_busy(&session, "away").await?;

        for replica in &self.replicas {
            self.becomes(replica, &session, 404, 503).await?;
        }
        self.calls_again(&client).await?;
        Ok(format!(
            "the owner served for {:.1} s; then 503 everywhere, and 404 when Redis was back",
            lease.as_secs_f32()
        ))
    }

    /// Calls without a session go on.
    pub(crate) async fn outage_stateless(&self) -> Outcome<String> {
        let (client, listener) = (self.connect().await?, self.connect().await?);
        let mut changes = listener.listen(Filter::new().tools().resource("replica://note")).await?;
        let id = |what: &str| format!("outage-stateless-{what}-{}", std::process::id());
        let paying = tokio::spawn({
            let (client, arguments) = (client.clone(), json!({ "id": id("pay"), "millis": 35_000 }));
            async move { client.call("pay", arguments).timeout(None).await?.into_result() }
        });
        let arguments = json!({ "id": id("job"), "millis": 120_000 });
        let Called::Task(task) = client.call_task("long_job", arguments).await? else {
            return Err("`long_job` is not a task".into());
        };
        written(&format!("begin {}", id("pay"))).await?;
        written(&format!("begin {}", id("job"))).await?;
        self.begins("away").await?;

        let keyed = || {
            let call = client.call("pay", json!({ "id": id("keyed"), "millis": 0 })).idempotency_key(id("keyed"));
            async { call.await?.into_result() }
        };
        expect("whether a call with a key is refused", bounded(keyed()).await.is_err(), true)?;
        expect("the executions of a refused call", ledger::count(&format!("begin {}", id("keyed")))?, 0)?;
        let job = bounded(client.call_task("job", json!({ "id": id("refused") }))).await;
        expect("whether a new task is refused", job.is_err(), true)?;
        let mut calls = 0;
        while !has_ended("away")? {
            bounded(client.call("whoami", ())).await?.into_result()?;
            let greeted = bounded(client.call("greet", ())).await?.into_result()?.text();
            expect("the greeting", greeted.as_str(), "Hello Ada and Grace")?;
            calls += 1;
            sleep(Duration::from_millis(50)).await;
        }

        let paid = timeout(PHASE, paying).await.map_err(|_| "a running call has no answer")???.text();
        expect(
            "the running call",
            (paid, ledger::count(&format!("paid {}", id("pay")))?),
            (format!("paid {}", id("pay")), 1),
        )?;
        let change = timeout(PHASE, changes.next()).await.map_err(|_| "the listener was not notified")?;
        expect("what the listener heard", change, Some(Change::Tools))?;
        let lost = eventually(|| async { bounded(task.state()).await.is_err_and(|e| e.to_string().contains("task")) });
        expect("whether a task is unknown without its data", lost.await, true)?;
        eventually(|| async { bounded(keyed()).await.is_ok() }).await;
        expect("the executions of the repeated call", ledger::count(&format!("begin {}", id("keyed")))?, 1)?;
        Ok(format!("{calls} calls and as many forms, none failed; a call of 35 s was answered"))
    }

    /// Says that the scenario is ready, and waits until the case begins.
    pub(crate) async fn begins(&self, case: &str) -> Outcome {
        ledger::write(&format!("ready {case} {}", self.version))?;
        let begins = format!("{case} begins");
        if eventually(|| async { ledger::count(&begins).is_ok_and(|count| count > 0) }).await {
            return Ok(());
        }
        Err(format!("Redis was not {case} in time").into())
    }

    /// Waits until a `ping` has a status; before, it may have another one, and no third. A 503 has a `Retry-After`.
    pub(crate) async fn becomes(&self, url: &str, session: &str, wanted: u16, before: u16) -> Outcome {
        let started = Instant::now();
        while started.elapsed() < PHASE {
            let (status, retry) = bounded(raw::ping_status(url, session, self.version)).await?;
            if status == 503 && retry.is_none() {
                return Err("a 503 has no `Retry-After`".into());
            }
            match status {
                status if status == wanted => return Ok(()),
                status if status == before => sleep(Duration::from_millis(100)).await,
                other => return Err(format!("the status is {other}, neither {before} nor {wanted}").into()),
            }
        }
        Err(format!("the status did not become {wanted}").into())
    }

    /// Every replica refuses the session until Redis is back.
    pub(crate) async fn stays_busy(&self, session: &str, case: &str) -> Outcome {
        while !has_ended(case)? {
            for replica in &self.replicas {
                let answer = bounded(raw::ping_status(replica, session, self.version)).await?;
                if !is_busy(&answer) && !has_ended(case)? {
                    return Err(format!("the answer without Redis is {answer:?}").into());
                }
            }
            sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    /// A client that was connected before goes on, or fails with an error and its successor goes on.
    async fn calls_again(&self, client: &Client) -> Outcome {
        let first = bounded(client.call("echo", json!({ "text": "again" }))).await;
        if first.is_err() {
            let text = self.connect().await?.call("echo", json!({ "text": "again" })).await?.into_result()?.text();
            expect("the text", text.as_str(), "again")?;
        }
        for _ in 0..6 {
            let session = raw::open(&self.url, self.version).await?;
            expect("the status of a new session", raw::ping(&self.url, &session, self.version).await?, 200)?;
        }
        Ok(())
    }

    /// The URL of the replica that owns a session.
    pub(crate) async fn owner_of(&self, session: &str) -> Outcome<String> {
        let owner = self.process_of(session).await?;
        for replica in &self.replicas {
            if self.process_at(replica).await? == owner {
                return Ok(replica.clone());
            }
        }
        Err("no replica owns the session".into())
    }
}

/// Whether a case is over.
pub(crate) fn has_ended(case: &str) -> Outcome<bool> {
    Ok(ledger::count(&format!("{case} ends"))? > 0)
}

pub(crate) fn is_busy(answer: &(u16, Option<String>)) -> bool {
    matches!(answer, (503, Some(_)))
}

/// Nothing may hang.
pub(crate) async fn bounded<T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    work: impl IntoFuture<Output = Result<T, E>>,
) -> Outcome<T> {
    let ended = timeout(BOUND, work.into_future()).await.map_err(|_| format!("something took more than {BOUND:?}"))?;
    ended.map_err(Into::into)
}

/// Waits until something holds; false if it does not in time.
pub(crate) async fn eventually<F: Future<Output = bool>>(holds: impl Fn() -> F) -> bool {
    let started = Instant::now();
    while started.elapsed() < PHASE {
        if holds().await {
            return true;
        }
        sleep(Duration::from_millis(100)).await;
    }
    false
}
