//! A replica that shuts down gracefully.

use std::{sync::Arc, time::Duration};

use couplet_core::Service;
use couplet_tasks::{Memory, Store, Task};
use couplet_types::{ProtocolVersion, TaskStatus};
use tokio::{task::JoinHandle, time::Instant};

use crate::kit::{REVISIONS, Replica, count, shared, until};

const GRACE: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_secs(1);

/// Drains a replica in the background.
fn drain(replica: &Replica) -> JoinHandle<()> {
    tokio::spawn(replica.server.drain(GRACE).expect("the extension has something to do"))
}

/// A repeatable task that waits for an answer.
async fn asking(replica: &Replica) -> couplet_tasks::TaskHandle {
    let task = replica.begin("steps").await;
    until("it asks", async || task.state().await.unwrap().status == TaskStatus::InputRequired).await;
    task
}

#[tokio::test(start_paused = true)]
async fn another_replica_goes_on_at_once() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = asking(&a).await;
        assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::InputRequired, "{version}");
        assert_eq!(count(&b.log.runs), 0, "{version}: it has a runner");
        let began = Instant::now();
        drain(&a).await.unwrap();
        assert_eq!(count(&a.log.dropped), 1, "{version}");
        b.log.go.notify_one();
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "0 true 0", "{version}");
        assert!(began.elapsed() < MOMENT, "{version}: {:?}", began.elapsed());
        assert_eq!((count(&a.log.first), count(&b.log.first), count(&b.log.runs)), (1, 0, 1), "{version}");
    }
}

/// A request that waits on another replica makes it go on.
#[tokio::test(start_paused = true)]
async fn a_client_that_waits_elsewhere_gets_the_result() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = asking(&a).await;
        let seen = b.see(&task);
        let waiting = tokio::spawn(async move { seen.wait().await });
        let journal = async || store.get(task.id()).await.unwrap().unwrap().journal.len();
        until("it is answered", async || journal().await == 2).await;
        tokio::time::sleep(MOMENT).await;
        let began = Instant::now();
        drain(&a).await.unwrap();
        b.log.go.notify_one();
        assert_eq!(waiting.await.unwrap().unwrap().text(), "0 true 0", "{version}");
        assert!(began.elapsed() < MOMENT, "{version}: {:?}", began.elapsed());
        assert_eq!((count(&a.asked), count(&b.asked)), (0, 1), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_run_again_has_time_to_end() {
    for store in [shared(), Arc::new(Memory::new()) as Arc<dyn Store>] {
        for version in REVISIONS {
            let a = Replica::new(&store, version).await;
            let task = a.begin("hold").await;
            until("it runs", async || count(&a.log.runs) == 1).await;
            let draining = drain(&a);
            tokio::time::sleep(GRACE / 2).await;
            assert!(!draining.is_finished() && count(&a.log.dropped) == 0, "{version}");
            a.log.go.notify_one();
            draining.await.unwrap();
            let record = store.get(task.id()).await.unwrap().unwrap();
            assert_eq!(record.status, TaskStatus::Completed, "{version}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_does_not_end_in_time_has_failed() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        until("it runs", async || count(&a.log.runs) == 1).await;
        let began = Instant::now();
        drain(&a).await.unwrap();
        assert!((GRACE..GRACE + MOMENT).contains(&began.elapsed()), "{version}: {:?}", began.elapsed());
        assert_eq!(count(&a.log.dropped), 1, "{version}");
        let state = b.see(&task).state().await.unwrap();
        assert_eq!(state.status, TaskStatus::Failed, "{version}");
        assert!(state.message.unwrap().contains("shut down"), "{version}");
    }
}

/// The next process goes on with a repeatable task, which had time to end first.
#[tokio::test(start_paused = true)]
async fn where_nothing_is_shared_a_repeatable_task_is_released_last() {
    for version in REVISIONS {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let a = Replica::with(&store, version, Task::optional().repeatable(), false).await;
        let task = asking(&a).await;
        let draining = drain(&a);
        tokio::time::sleep(GRACE / 2).await;
        assert!(!draining.is_finished() && count(&a.log.dropped) == 0, "{version}");
        draining.await.unwrap();
        assert_eq!(count(&a.log.dropped), 1, "{version}");
        let b = Replica::with(&store, version, Task::optional().repeatable(), false).await;
        assert!(!b.see(&task).state().await.unwrap().status.is_terminal(), "{version}");
        until("it runs again", async || count(&b.log.runs) == 1).await;
    }
}

/// A replica that shuts down does not take its own task back, and a task that starts meanwhile is released, too.
#[tokio::test(start_paused = true)]
async fn a_draining_replica_takes_no_task_over() {
    for version in REVISIONS {
        let store = shared();
        let a = Replica::with(&store, version, Task::optional().repeatable(), false).await;
        let held = a.begin("hold").await;
        let task = asking(&a).await;
        let draining = drain(&a);
        until("it is released", async || count(&a.log.dropped) == 1).await;
        for _ in 0..10 {
            assert!(!task.state().await.unwrap().status.is_terminal(), "{version}");
        }
        let late = a.begin("steps").await;
        until("it is released, too", async || {
            store.get(late.id()).await.unwrap().unwrap().runner.is_some_and(|runner| runner.until == 0)
        })
        .await;
        assert!(!draining.is_finished(), "{version}");
        a.log.go.notify_one();
        draining.await.unwrap();
        assert_eq!(held.wait().await.unwrap().text(), "number 0", "{version}");
    }
}

/// Neither does a release use up an attempt, nor does a lost release lose the task.
#[tokio::test(start_paused = true)]
async fn shutdowns_do_not_count_as_failed_runs() {
    let version = ProtocolVersion::V2026_07_28;
    let store = shared();
    let steps = || Task::optional().repeatable().max_runs(1);
    let mut a = Replica::with(&store, version, steps(), false).await;
    let task = asking(&a).await;
    for _ in 0..3 {
        drain(&a).await.unwrap();
        a = Replica::with(&store, version, steps(), false).await;
        assert!(!a.see(&task).state().await.unwrap().status.is_terminal());
        until("it runs again", async || count(&a.log.runs) == 1).await;
    }
    assert_eq!(store.get(task.id()).await.unwrap().unwrap().released, 3);
    assert!(!a.see(&task).state().await.unwrap().status.is_terminal());
}

/// A store that is away costs the usual time, and no task.
#[tokio::test(start_paused = true)]
async fn without_its_store_a_replica_ends_nevertheless() {
    let version = ProtocolVersion::V2026_07_28;
    let store = shared();
    let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
    let task = asking(&a).await;
    a.link.cut(true);
    tokio::time::timeout(GRACE * 2, drain(&a)).await.expect("it ends").unwrap();
    b.log.go.notify_one();
    tokio::time::sleep(crate::kit::LEASE + MOMENT).await;
    assert_eq!(b.see(&task).wait().await.unwrap().text(), "0 true 0");
}
