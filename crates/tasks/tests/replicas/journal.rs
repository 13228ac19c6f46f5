//! Repeatable tasks run again on another replica.

use std::{sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_server::{Ctx, Server, ToolError, tool};
use couplet_tasks::{CallTask, ClientTasks, Memory, Store, Task, TaskHandle, TaskTool, Tasks};
use couplet_types::{ProtocolVersion, TaskStatus};

use crate::kit::{LEASE, REVISIONS, Replica, count, shared, until};

/// A task that has done its first step and has its answer, on a replica that then loses the store.
async fn interrupted(store: &Arc<dyn Store>, version: ProtocolVersion, task: Task) -> (Replica, TaskHandle) {
    let a = Replica::with(store, version, task, true).await;
    let task = a.begin("steps").await;
    let waiting = task.clone();
    let answering = tokio::spawn(async move { waiting.wait().await });
    until("it is answered", async || {
        let record = store.get(task.id()).await.unwrap().unwrap();
        record.journal.len() == 2
    })
    .await;
    answering.abort();
    a.link.cut(true);
    (a, task)
}

#[tokio::test(start_paused = true)]
async fn a_repeatable_task_runs_again_and_replays_its_steps() {
    for version in REVISIONS {
        let store = shared();
        let (a, task) = interrupted(&store, version, Task::optional().repeatable()).await;
        let b = Replica::new(&store, version).await;
        assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::Working, "{version}");
        assert_eq!(count(&b.log.runs), 0, "{version}");
        tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
        for _ in 0..3 {
            assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::Working, "{version}");
        }
        until("it runs again", async || count(&b.log.runs) == 1).await;
        // The old replica goes on, and does not do the second step.
        a.log.go.notify_one();
        tokio::time::sleep(LEASE).await;
        assert_eq!(count(&a.log.second), 0, "{version}");
        a.link.cut(false);
        until("the old work is dropped", async || count(&a.log.dropped) == 1).await;
        b.log.go.notify_one();
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "0 true 0", "{version}");
        assert_eq!((count(&a.log.first), count(&b.log.first)), (1, 0), "{version}");
        assert_eq!((count(&a.log.second), count(&b.log.second)), (0, 1), "{version}");
        assert_eq!((count(&a.asked), count(&b.asked)), (1, 0), "{version}: the user is not asked again");
        assert_eq!(a.see(&task).wait().await.unwrap().text(), "0 true 0", "{version}");
        let record = store.get(task.id()).await.unwrap().unwrap();
        assert!(record.journal.is_empty() && record.request.is_none(), "{version}: what is over needs no journal");
    }
}

/// Many requests find the task at once, on two replicas, and it runs once.
#[tokio::test(start_paused = true)]
async fn one_request_runs_a_task_again() {
    for version in REVISIONS {
        let store = shared();
        let (_a, task) = interrupted(&store, version, Task::optional().repeatable()).await;
        let (b, c) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
        [&b, &c].into_iter().for_each(|replica| replica.link.slow(true));
        let polls = (0..10).map(|n| {
            let seen = if n % 2 == 0 { b.see(&task) } else { c.see(&task) };
            tokio::spawn(async move { seen.state().await })
        });
        for poll in polls.collect::<Vec<_>>() {
            assert_eq!(poll.await.unwrap().unwrap().status, TaskStatus::Working, "{version}");
        }
        tokio::time::sleep(LEASE * 2).await;
        assert_eq!(count(&b.log.runs) + count(&c.log.runs), 1, "{version}");
        assert_eq!(store.get(task.id()).await.unwrap().unwrap().generation(), 2, "{version}");
    }
}

/// Two clients of one replica wait, and its users are asked once.
#[tokio::test(start_paused = true)]
async fn one_client_is_asked() {
    let store = shared();
    let a = Replica::new(&store, ProtocolVersion::V2025_11_25).await;
    let task = a.begin("ask").await;
    until("it asks", async || task.state().await.unwrap().status == TaskStatus::InputRequired).await;
    a.link.slow(true);
    let waiting = [(); 3].map(|()| {
        let task = task.clone();
        tokio::spawn(async move { task.wait().await })
    });
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap().text(), "true");
    }
    assert_eq!(count(&a.asked), 1);
}

/// A journal has a limit: a step that exceeds it fails.
#[tokio::test(start_paused = true)]
async fn a_journal_has_a_limit() {
    for version in REVISIONS {
        let store = shared();
        let large = |ctx: Ctx| async move {
            for _ in 0..3 {
                ctx.step("large", async || "x".repeat(400 * 1024)).await?;
            }
            Ok::<_, ToolError>("done")
        };
        let tasks = Tasks::new(store.clone());
        let server = Server::new("s", "1").extension(tasks);
        let server = server.tool(tool("large", large).task(Task::optional().repeatable()));
        let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new());
        let client = client.connect(server.build()).await.unwrap();
        let error = client.call_task("large", ()).await.unwrap().wait().await.unwrap_err().to_string();
        assert!(error.contains("step `large#3` exceeds"), "{version}: {error}");
    }
}

/// A replica that loses the store for a while, and nothing else happens, goes on where it was.
#[tokio::test(start_paused = true)]
async fn a_suspended_task_goes_on() {
    for version in REVISIONS {
        let store = shared();
        let (a, task) = interrupted(&store, version, Task::optional().repeatable()).await;
        a.log.go.notify_one();
        tokio::time::sleep(LEASE * 3).await;
        a.link.cut(false);
        assert_eq!(a.see(&task).wait().await.unwrap().text(), "0 true 0", "{version}");
        assert_eq!((count(&a.log.runs), count(&a.log.second)), (1, 1), "{version}");
    }
}

/// The runner is gone while its question is open: the question is asked again, under its key.
#[tokio::test(start_paused = true)]
async fn an_open_question_stays_open() {
    for version in REVISIONS {
        let store = shared();
        let a = Replica::with(&store, version, Task::optional().repeatable(), false).await;
        let task = a.begin("steps").await;
        until("it asks", async || task.state().await.unwrap().status == TaskStatus::InputRequired).await;
        a.link.cut(true);
        tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
        let b = Replica::new(&store, version).await;
        b.log.go.notify_one();
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "0 true 0", "{version}");
        assert_eq!((count(&a.log.first), count(&b.log.first), count(&b.asked)), (1, 0, 1), "{version}");
    }
}

/// The runner is gone before it has taken an answer: the next one takes it.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_taken_is_not_lost() {
    for version in REVISIONS {
        let store = shared();
        let a = Replica::with(&store, version, Task::optional().repeatable(), false).await;
        let task = a.begin("steps").await;
        until("it asks", async || task.state().await.unwrap().status == TaskStatus::InputRequired).await;
        a.link.cut(true);
        let b = Replica::new(&store, version).await;
        b.log.go.notify_one();
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "0 true 0", "{version}");
        assert_eq!((count(&a.asked), count(&b.asked), count(&b.log.runs)), (0, 1, 1), "{version}");
        assert_eq!((count(&a.log.first), count(&b.log.first)), (1, 0), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_its_process_is_not_started_for_ever() {
    for version in REVISIONS {
        let store = shared();
        let repeatable = || Task::optional().repeatable().max_runs(3);
        let (_a, task) = interrupted(&store, version, repeatable()).await;
        for _ in 0..2 {
            tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
            let next = Replica::with(&store, version, repeatable(), true).await;
            assert_eq!(next.see(&task).state().await.unwrap().status, TaskStatus::Working, "{version}");
            until("it runs", async || count(&next.log.runs) == 1).await;
            next.link.cut(true);
        }
        tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
        let last = Replica::with(&store, version, repeatable(), true).await;
        let error = last.see(&task).wait().await.unwrap_err().to_string();
        assert!(error.contains("started 3 times"), "{version}: {error}");
        assert_eq!(count(&last.log.runs), 0, "{version}");
    }
}

/// The replica that finds it has another version of the program.
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_repeatable_any_more_fails_the_task() {
    for version in REVISIONS {
        let store = shared();
        let (_a, task) = interrupted(&store, version, Task::optional().repeatable()).await;
        tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
        let b = Replica::with(&store, version, Task::optional(), true).await;
        let error = b.see(&task).wait().await.unwrap_err().to_string();
        assert!(error.contains("not repeatable"), "{version}: {error}");
    }
}

#[test]
fn repeatable_tasks_cannot_ask_first() {
    let task = Task::optional().repeatable().input_first();
    let server = Server::new("s", "1").extension(Tasks::new(Memory::new())).tool(tool("t", || "done").task(task));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.build()));
    let what = *panicked.expect_err("it is refused").downcast::<String>().unwrap();
    assert!(what.contains("`repeatable` and `input_first`"), "{what}");
}
