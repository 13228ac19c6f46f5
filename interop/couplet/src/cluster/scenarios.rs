//! What has to work through a load balancer without stickiness.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{
    client::Filter,
    core::Change,
    tasks::{CallTask, Called},
};
use couplet_interop::{expect, ledger};
use serde_json::json;

use crate::{Cluster, Outcome, raw};

/// How often each is done: every replica has its turn.
const TIMES: usize = 6;

impl Cluster {
    pub(crate) async fn calls(&self) -> Outcome<String> {
        let client = self.connect().await?;
        let mut seen = BTreeSet::new();
        for _ in 0..5 * TIMES {
            seen.insert(client.call("whoami", ()).await?.into_result()?.text());
        }
        client.close().await?;
        Ok(format!("{} calls, answered by {} processes", 5 * TIMES, seen.len()))
    }

    pub(crate) async fn elicitation(&self) -> Outcome<String> {
        let client = self.connect().await?;
        for _ in 0..TIMES {
            let greeted = client.call("greet", ()).await?.into_result()?.text();
            expect("the greeting", greeted.as_str(), "Hello Ada and Grace")?;
        }
        client.close().await?;
        Ok(format!("{} forms", 2 * TIMES))
    }

    pub(crate) async fn sampling(&self) -> Outcome<String> {
        let client = self.connect().await?;
        for _ in 0..TIMES {
            let said = client.call("ask_model", json!({ "question": "why?" })).await?.into_result()?.text();
            expect("the answer", said.as_str(), "42")?;
        }
        client.close().await?;
        Ok(format!("{TIMES} answers"))
    }

    pub(crate) async fn progress(&self) -> Outcome<String> {
        let client = self.connect().await?;
        for _ in 0..TIMES {
            let heard = Arc::new(AtomicUsize::new(0));
            let hear = heard.clone();
            let call = client.call("count", json!({ "to": 5, "millis": 10 })).on_progress(move |_| {
                hear.fetch_add(1, Ordering::SeqCst);
            });
            expect("the text", call.await?.into_result()?.text().as_str(), "counted to 5")?;
            expect("the notifications", heard.load(Ordering::SeqCst), 5)?;
        }
        client.close().await?;
        Ok(format!("{} notifications", 5 * TIMES))
    }

    /// Many events on one stream, for measurements.
    pub(crate) async fn events(&self) -> Outcome<String> {
        let client = self.connect().await?;
        let call = client.call("count", json!({ "to": 5000, "millis": 0 })).on_progress(|_| ()).timeout(None);
        expect("the text", call.await?.into_result()?.text().as_str(), "counted to 5000")?;
        client.close().await?;
        Ok("5000 events".to_owned())
    }

    /// Many sessions that stay open, for measurements.
    pub(crate) async fn sessions(&self) -> Outcome<String> {
        for _ in 0..10_000 {
            raw::open(&self.url, self.version).await?;
        }
        Ok("10000 sessions".to_owned())
    }

    pub(crate) async fn cancellation(&self) -> Outcome<String> {
        let client = self.connect().await?;
        for n in 0..TIMES {
            let id = format!("cancel-{}-{n}", self.version);
            let call = tokio::spawn({
                let (client, id) = (client.clone(), id.clone());
                async move { client.call("wait", json!({ "id": id, "millis": 60_000 })).await }
            });
            written(&format!("begin {id}")).await?;
            call.abort();
            written(&format!("dropped {id}")).await?;
        }
        client.close().await?;
        Ok(format!("{TIMES} calls were dropped by the server"))
    }

    pub(crate) async fn changes(&self) -> Outcome<String> {
        let listener = self.connect().await?;
        let mut changes = listener.listen(Filter::new().resource("replica://note")).await?;
        let client = self.connect().await?;
        for n in 0..TIMES {
            client.call("touch", ()).await?.into_result()?;
            let change = tokio::time::timeout(Duration::from_secs(10), changes.next()).await;
            let change = change.map_err(|_| format!("change {n} was not notified within 10 s"))?;
            expect("the change", change, Some(Change::Updated("replica://note".to_owned())))?;
        }
        client.close().await?;
        drop(changes);
        listener.close().await?;
        Ok(format!("{TIMES} changes"))
    }

    pub(crate) async fn task(&self) -> Outcome<String> {
        let client = self.connect().await?;
        for n in 0..TIMES {
            let id = format!("task-{}-{n}", self.version);
            let Called::Task(task) = client.call_task("job", json!({ "id": id })).await? else {
                return Err("`job` is not a task".into());
            };
            expect("the result", task.wait().await?.into_result()?.text().as_str(), "done for Ada")?;
            expect("the executions", (executed("begin", &id)?, executed("done", &id)?), (1, 1))?;
        }
        client.close().await?;
        Ok(format!("{TIMES} tasks, each asked once"))
    }

    pub(crate) async fn task_cancel(&self) -> Outcome<String> {
        let client = self.connect().await?;
        for n in 0..TIMES {
            let id = format!("task-cancel-{}-{n}", self.version);
            let arguments = json!({ "id": id, "millis": 60_000 });
            let Called::Task(task) = client.call_task("long_job", arguments).await? else {
                return Err("`long_job` is not a task".into());
            };
            written(&format!("begin {id}")).await?;
            task.cancel().await?;
            written(&format!("dropped {id}")).await?;
        }
        client.close().await?;
        Ok(format!("{TIMES} tasks were dropped by their replica"))
    }

    /// A session that was deleted through the load balancer is unknown to every replica.
    pub(crate) async fn delete(&self) -> Outcome<String> {
        for _ in 0..TIMES {
            let session = raw::open(&self.url, self.version).await?;
            for replica in &self.replicas {
                expect("the status of a ping", raw::ping(replica, &session, self.version).await?, 200)?;
            }
            expect("the status of DELETE", raw::delete(&self.url, &session, self.version).await?, 204)?;
            for replica in &self.replicas {
                expect("the status after DELETE", raw::ping(replica, &session, self.version).await?, 404)?;
            }
        }
        Ok(format!("{TIMES} sessions, each unknown to {} replicas afterwards", self.replicas.len()))
    }
}

fn executed(what: &str, id: &str) -> Outcome<usize> {
    Ok(ledger::count(&format!("{what} {id}"))?)
}

/// Waits until a line is in the ledger.
pub(crate) async fn written(line: &str) -> Outcome {
    for _ in 0..200 {
        if ledger::count(line)? > 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("`{line}` was not written within 10 s").into())
}
