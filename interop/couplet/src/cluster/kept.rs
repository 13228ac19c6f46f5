//! Redis is away for longer than a lease, and comes back with its data: everything resumes.

use std::time::Duration;

use couplet::{
    client::{Changes, Filter},
    core::Change,
    tasks::{CallTask, TaskHandle},
};
use couplet_interop::{expect, ledger};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    Cluster, Outcome,
    outage::bounded,
    raw, resume,
    shortage::long_job,
    stream::{self, Heard},
};

/// The name of the case.
const KEPT: &str = "kept";
/// How many events the stream of a session has.
const EVENTS: u64 = 20;
/// The longest time until something resumes.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a change may take after its cause.
const CHANGE: Duration = Duration::from_secs(2);

impl Cluster {
    /// Sessions are served by their owners until the lease ends, then nowhere, and everywhere afterwards; what is stored of
    /// them is there.
    pub(crate) async fn kept_sessions(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.owner_of(&session).await?;
        let listener = self.connect().await?;
        let mut changes = listener.listen(Filter::new().resource("replica://note")).await?;
        let id = |what: &str| format!("kept-{what}-{}", &session[..8]);
        let heard = Heard::default();
        let arguments = json!({ "id": id("stream"), "to": EVENTS, "millis": 5 });
        expect(
            "the status of a stream",
            stream::count(&owner, &session, self.version, &arguments, &heard).await?,
            200,
        )?;
        let paid = raw::call_once(&owner, &session, self.version, &id("keyed")).await?;
        expect("whether a call with a key is answered", paid.contains(&format!("paid {}", id("keyed"))), true)?;

        self.begins(KEPT).await?;
        self.becomes(&owner, &session, 503, 200).await?;
        self.stays_busy(&session, KEPT).await?;

        let back = Instant::now();
        for replica in &self.replicas {
            self.becomes(replica, &session, 200, 503).await?;
        }
        let seconds = back.elapsed().as_secs_f32();
        let all = heard.all();
        let [(first, _), rest @ ..] = &all[..] else { return Err("there was no event".into()) };
        for replica in &self.replicas {
            let again = Heard::default();
            let resumed = resume::within(stream::resume(replica, &session, self.version, first, &again)).await??;
            expect("the status of the resumed stream", resumed, 200)?;
            expect("the events that are stored", &again.all()[..], rest)?;
        }
        let again = bounded(raw::call_once(&self.url, &session, self.version, &id("keyed"))).await?;
        expect("whether its outcome is still there", again.contains(&format!("paid {}", id("keyed"))), true)?;
        for what in ["stream", "keyed"] {
            expect("the executions", ledger::count(&format!("begin {}", id(what)))?, 1)?;
        }
        self.hears(&mut changes).await?;
        Ok(format!("the session went on {seconds:.1} s after Redis was back, with its {EVENTS} events and its outcome"))
    }

    /// Calls without a session go on, and what was stored is there afterwards: outcomes, and the results of tasks.
    pub(crate) async fn kept_stateless(&self) -> Outcome<String> {
        let (client, listener) = (self.connect().await?, self.connect().await?);
        let mut changes = listener.listen(Filter::new().resource("replica://note")).await?;
        let runner = self.replicas.first().ok_or("there is no replica")?;
        let runner = self.builder().connect(couplet::http::connect(runner.clone())).await?;
        let id = |what: &str| format!("kept-stateless-{what}-{}", std::process::id());
        let keyed = || {
            let call = client.call("pay", json!({ "id": id("keyed"), "millis": 0 })).idempotency_key(id("keyed"));
            async { Ok::<_, couplet::Error>(call.await?.into_result()?.text()) }
        };
        expect("the first outcome", keyed().await?, format!("paid {}", id("keyed")))?;
        let done = long_job(&runner, &id("done"), 0).await?;
        done.wait().await?.into_result()?;
        // It ends while Redis is away, after more than a lease.
        let running = long_job(&runner, &id("running"), 22_000).await?;
        self.begins(KEPT).await?;
        let calls = self.calls_until_it_ends(&client, KEPT).await?;
        expect("whether the task ended meanwhile", ledger::count(&format!("ended {}", id("running")))?, 1)?;

        // Its replica is asked first: another one would declare it lost.
        for (task, what) in [(&running, "running"), (&done, "done")] {
            for seen in [&runner, &client] {
                expect("the result of a task", result(&seen.task(task.id())).await?, id(what))?;
            }
            expect("the executions", ledger::count(&format!("begin {}", id(what)))?, 1)?;
        }
        expect("the outcome afterwards", bounded(keyed()).await?, format!("paid {}", id("keyed")))?;
        expect("the executions", ledger::count(&format!("begin {}", id("keyed")))?, 1)?;
        self.hears(&mut changes).await?;
        Ok(format!("{calls} calls and as many forms, none failed; tasks, their results and an outcome were there"))
    }

    /// A listener that was there before hears of changes again.
    pub(crate) async fn hears(&self, changes: &mut Changes) -> Outcome {
        let began = Instant::now();
        while began.elapsed() < LIMIT {
            let touched = async { Outcome::Ok(self.connect().await?.call("touch", ()).await?.into_result()?) };
            bounded(touched).await?;
            // After an outage anything may have changed.
            while let Ok(change) = timeout(CHANGE, changes.next()).await {
                match change {
                    Some(Change::Updated(uri)) if uri == "replica://note" => return Ok(()),
                    Some(_) => {}
                    None => return Err("the subscription has ended".into()),
                }
            }
        }
        Err(format!("the listener was not notified within {LIMIT:?}").into())
    }
}

/// The text of the result of a task, as soon as it is stored.
async fn result(task: &TaskHandle) -> Outcome<String> {
    let began = Instant::now();
    loop {
        match bounded(task.state()).await {
            Ok(state) if state.status.is_terminal() => return Ok(bounded(task.wait()).await?.into_result()?.text()),
            _ if began.elapsed() > LIMIT => return Err(format!("a task has not ended within {LIMIT:?}").into()),
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}
