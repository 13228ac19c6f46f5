//! Tasks whose runner is killed, or paused for longer than its lease.

use std::time::Duration;

use couplet::{
    prelude::*,
    tasks::{CallTask, Called, TaskHandle},
    types::TaskStatus,
};
use couplet_interop::{expect, ledger};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{Cluster, Outcome, paused::signal, scenarios::written};

/// How many steps the work has.
const STEPS: u32 = 6;
/// The step in which the runner is killed.
const KILLED_IN: u32 = 2;
/// How long a step takes: long enough to be killed in.
const STEP: u64 = 1500;
/// A task without a runner is taken over after its lease, of 15 seconds.
const LIMIT: Duration = Duration::from_secs(90);
/// How long a request may take while the load balancer has not noticed that a replica is gone.
const PROMPT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(300);

impl Cluster {
    /// The runner of a repeatable task is killed in the middle of a step. A client that knows only the idempotency key finds
    /// the task, another replica goes on with it, and no step that was completed runs again.
    pub(crate) async fn task_killed(&self) -> Outcome<String> {
        let id = format!("task-killed-{}", self.version);
        let first = self.stepped(&self.connect().await?, &id).await?;
        // The step before is in the journal when this one begins.
        written(&format!("step {id} {KILLED_IN}")).await?;
        let killed = runners(&id)?;
        let [runner] = killed[..] else { return Err(format!("the runners are {killed:?}").into()) };
        signal("KILL", runner)?;

        let (client, found) = self.found(&id).await?;
        expect("the task that is found by its key", found.id(), first.id())?;
        let text = self.finished(&client, &found).await?;
        expect("the result", text, format!("{STEPS} steps of {id}"))?;
        let again = self.stepped(&client, &id).await?;
        expect("the task of the key after its end", again.id(), first.id())?;

        let all = runners(&id)?;
        expect("how many processes ran it", all.len(), 2)?;
        expect("whether the killed one ran it again", all.iter().filter(|&&process| process == runner).count(), 1)?;
        for step in 0..STEPS {
            let times = |what: &str| ledger::count(&format!("{what} {id} {step}"));
            // The one that was interrupted runs again.
            let begun = if step == KILLED_IN { 2 } else { 1 };
            expect(
                &format!("how often step {step} began and was completed"),
                (times("step")?, times("stepped")?),
                (begun, 1),
            )?;
        }
        Ok(format!("{STEPS} steps in two processes, each completed once; found again by its key, also after its end"))
    }

    /// The runner of a task is paused until another replica has declared the task lost. It wakes, ends its work, and does not
    /// write the result.
    pub(crate) async fn task_paused(&self) -> Outcome<String> {
        let id = format!("task-paused-{}", self.version);
        let client = self.connect().await?;
        let arguments = json!({ "id": id, "millis": 4000 });
        let Called::Task(task) = client.call_task("long_job", arguments).await? else {
            return Err("`long_job` is not a task".into());
        };
        written(&format!("begin {id}")).await?;
        let [runner] = runners(&id)?[..] else { return Err("the task has no runner, or several".into()) };
        signal("STOP", runner)?;
        let lost = self.lost(&task).await;
        let early = ledger::count(&format!("ended {id}"));
        signal("CONT", runner)?;
        let message = lost?;
        expect("how often its work ended before it woke", early?, 0)?;
        let ended = self.over(&id).await?;
        // It has had its turn, and other requests after it.
        for replica in &self.replicas {
            self.process_at(replica).await?;
            for _ in 0..3 {
                let state = self.state(&task).await?;
                expect(
                    "the status after the runner woke",
                    (state.status, state.message),
                    (TaskStatus::Failed, message.clone()),
                )?;
            }
        }
        expect("how many processes ran it", runners(&id)?.len(), 1)?;
        let result = timeout(LIMIT, task.wait()).await.map_err(|_| "a lost task has no end")?;
        let is_lost = result.map_or(true, |result| result.text() != id);
        expect("whether the task is without the result of the woken runner", is_lost, true)?;
        Ok(format!("lost while its runner was paused, which {ended} when it woke, and wrote no result"))
    }

    /// Calls the tool with steps as a task, with its id as the idempotency key.
    async fn stepped(&self, client: &Client, id: &str) -> Outcome<TaskHandle> {
        let arguments = json!({ "id": id, "steps": STEPS, "millis": STEP });
        match client.call_task("stepped", arguments).idempotency_key(id).await? {
            Called::Task(task) => Ok(task),
            _ => Err("`stepped` is not a task".into()),
        }
    }

    /// A new client, and the task of a key, as soon as a replica answers.
    async fn found(&self, id: &str) -> Outcome<(Client, TaskHandle)> {
        patiently("the task was not found", || async {
            let client = self.connect().await?;
            let task = self.stepped(&client, id).await?;
            Ok((client, task))
        })
        .await
    }

    /// The text of a task when it has ended. A failure of the task is a result, and no reason to ask again.
    async fn finished(&self, client: &Client, task: &TaskHandle) -> Outcome<String> {
        let ended = patiently("the task did not end", || async {
            let state = client.task(task.id()).state().await?;
            if state.status.is_terminal() { Ok(state) } else { Err("it runs".into()) }
        });
        expect("the status of the task", ended.await?.status, TaskStatus::Completed)?;
        patiently("the task has no result", || async { Ok(task.wait().await?.into_result()?.text()) }).await
    }

    /// Waits until another replica says that a task has failed; what it says of it.
    async fn lost(&self, task: &TaskHandle) -> Outcome<Option<String>> {
        let failed = patiently("the task was not declared lost", || async {
            let state = self.state(task).await?;
            if state.status.is_terminal() { Ok(state) } else { Err("it runs".into()) }
        });
        let state = failed.await?;
        expect("the status of a task that was lost", state.status, TaskStatus::Failed)?;
        Ok(state.message)
    }

    /// The state of a task, as a new client sees it.
    async fn state(&self, task: &TaskHandle) -> Outcome<couplet::tasks::TaskState> {
        patiently("the task has no state", || async { Ok(self.connect().await?.task(task.id()).state().await?) }).await
    }

    /// Waits until the work with this id is over in its process; how.
    pub(crate) async fn over(&self, id: &str) -> Outcome<&'static str> {
        let began = Instant::now();
        while began.elapsed() < LIMIT {
            for (line, how) in [("ended", "ended its work"), ("dropped", "dropped its work")] {
                if ledger::count(&format!("{line} {id}"))? > 0 {
                    return Ok(how);
                }
            }
            sleep(PAUSE).await;
        }
        Err(format!("the work with the id `{id}` did not end").into())
    }
}

/// The processes that ran a task, in the order of the ledger.
fn runners(id: &str) -> Outcome<Vec<u32>> {
    let (start, counts) = (format!("runner {id} "), ledger::counts()?);
    let lines = counts.iter().filter_map(|(line, count)| Some((line.strip_prefix(&start)?, *count)));
    let all = lines.flat_map(|(process, count)| std::iter::repeat_n(process.parse::<u32>(), count));
    Ok(all.collect::<Result<_, _>>()?)
}

/// Does something again until it comes to an end without an error. An attempt that takes long is given up.
async fn patiently<T, F: Future<Output = Outcome<T>>>(failure: &str, attempt: impl Fn() -> F) -> Outcome<T> {
    let (began, mut last) = (Instant::now(), String::new());
    while began.elapsed() < LIMIT {
        match timeout(PROMPT, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = format!("no answer within {PROMPT:?}"),
        }
        sleep(PAUSE).await;
    }
    Err(format!("{failure} within {LIMIT:?}: {last}").into())
}
