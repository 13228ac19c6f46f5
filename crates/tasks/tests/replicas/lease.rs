//! A replica that is gone, or believed to be.

use std::time::Duration;

use couplet_tasks::CallTask;
use couplet_types::{ProtocolVersion, TaskStatus};

use crate::kit::{LEASE, REVISIONS, Replica, count, shared, until};

const MOMENT: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_the_task_runs() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        for _ in 0..10 {
            tokio::time::sleep(LEASE).await;
            assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::Working, "{version}");
        }
        a.log.go.notify_one();
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "number 0", "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_replica_is_gone_has_failed() {
    gone(REVISIONS[0]).await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_the_extension_whose_replica_is_gone_has_failed() {
    gone(REVISIONS[1]).await;
}

/// The other replica ends with its runtime, without a word. That runtime has the real clock: once per test.
async fn gone(version: ProtocolVersion) {
    let store = shared();
    let b = Replica::new(&store, version).await;
    let other = store.clone();
    let id = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move { Replica::new(&other, version).await.begin("hold").await.id().to_owned() })
    });
    let task = b.client.task(id.join().unwrap());
    assert_eq!(task.state().await.unwrap().status, TaskStatus::Working, "{version}");
    tokio::time::sleep(LEASE + MOMENT).await;
    let state = task.state().await.unwrap();
    assert_eq!(state.status, TaskStatus::Failed, "{version}");
    assert!(state.message.unwrap().contains("is gone"), "{version}");
    let error = task.wait().await.unwrap_err().to_string();
    assert!(error.contains("the process that ran the task is gone"), "{version}: {error}");
}

/// A client that waits on another replica hears of it, too.
#[tokio::test(start_paused = true)]
async fn who_waits_hears_that_the_replica_is_gone() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("ask").await;
        b.link.cut(false);
        until("it asks", async || task.state().await.unwrap().status == TaskStatus::InputRequired).await;
        a.link.cut(true);
        tokio::time::sleep(LEASE + MOMENT).await;
        let error = tokio::time::timeout(LEASE, b.see(&task).wait()).await.expect("an end").unwrap_err();
        assert!(error.to_string().contains("is gone"), "{version}: {error}");
        assert_eq!(count(&b.asked), 0, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_wakes_up_cannot_write() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        until("it runs", async || count(&a.log.runs) == 1).await;
        a.link.cut(true);
        tokio::time::sleep(LEASE + MOMENT).await;
        assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::Failed, "{version}");
        // It is done, and cannot say so; then it can, and is not believed.
        a.log.go.notify_one();
        tokio::time::sleep(MOMENT).await;
        assert_eq!(count(&a.log.dropped), 1, "{version}");
        a.link.cut(false);
        for _ in 0..10 {
            tokio::time::sleep(LEASE).await;
            for replica in [&a, &b] {
                assert_eq!(replica.see(&task).state().await.unwrap().status, TaskStatus::Failed, "{version}");
            }
        }
    }
}

/// The work of a task that has failed elsewhere is dropped as soon as that is known.
#[tokio::test(start_paused = true)]
async fn work_that_was_given_up_is_dropped() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        until("it runs", async || count(&a.log.runs) == 1).await;
        a.link.cut(true);
        tokio::time::sleep(LEASE + MOMENT).await;
        assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::Failed, "{version}");
        assert_eq!(count(&a.log.dropped), 0, "{version}");
        a.link.cut(false);
        until("the handler is dropped", async || count(&a.log.dropped) == 1).await;
    }
}

/// An outage that all replicas see costs no task: nothing has taken it over.
#[tokio::test(start_paused = true)]
async fn an_outage_costs_no_task() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        [&a, &b].into_iter().for_each(|replica| replica.link.cut(true));
        tokio::time::sleep(LEASE * 4).await;
        let error = b.see(&task).state().await.unwrap_err();
        assert!(error.to_string().contains("unavailable"), "{version}: {error}");
        [&a, &b].into_iter().for_each(|replica| replica.link.cut(false));
        tokio::time::sleep(LEASE).await;
        assert_eq!(b.see(&task).state().await.unwrap().status, TaskStatus::Working, "{version}");
        a.log.go.notify_one();
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "number 0", "{version}");
    }
}
