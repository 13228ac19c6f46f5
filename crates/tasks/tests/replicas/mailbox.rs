//! Answers, cancellations and results on another replica than the one that runs the task.

use std::time::Duration;

use couplet_tasks::Task;
use couplet_types::TaskStatus;

use crate::kit::{REVISIONS, Replica, count, shared, until};

#[tokio::test(start_paused = true)]
async fn an_answer_on_another_replica_reaches_the_work() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("ask").await;
        let seen = tokio::time::timeout(Duration::from_secs(60), b.see(&task).wait()).await;
        assert_eq!(seen.expect("an answer").unwrap().text(), "true", "{version}");
        assert_eq!((count(&a.asked), count(&b.asked)), (0, 1), "{version}");
        assert_eq!((count(&a.log.runs), count(&b.log.runs)), (1, 0), "{version}");
        assert_eq!(task.wait().await.unwrap().text(), "true", "{version}");
    }
}

/// Both clients wait. The user of one does not answer; that of the other does.
#[tokio::test(start_paused = true)]
async fn the_first_answer_counts() {
    for version in REVISIONS {
        let store = shared();
        let a = Replica::with(&store, version, Task::optional(), false).await;
        let b = Replica::new(&store, version).await;
        let task = a.begin("ask").await;
        let waiting = task.clone();
        let first = tokio::spawn(async move { waiting.wait().await });
        until("the first user is asked", async || count(&a.asked) == 1).await;
        assert_eq!(b.see(&task).wait().await.unwrap().text(), "true", "{version}");
        assert_eq!((count(&a.asked), count(&b.asked)), (1, 1), "{version}");
        assert_eq!(task.state().await.unwrap().status, TaskStatus::Completed, "{version}");
        first.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_on_another_replica_ends_the_work() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        until("it runs", async || count(&a.log.runs) == 1).await;
        b.see(&task).cancel().await.unwrap();
        until("the handler is dropped", async || count(&a.log.dropped) == 1).await;
        for replica in [&a, &b] {
            assert_eq!(replica.see(&task).state().await.unwrap().status, TaskStatus::Cancelled, "{version}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_replica_sees_changes() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let task = a.begin("hold").await;
        let seen = b.see(&task);
        until("its message is seen", async || seen.state().await.unwrap().message.as_deref() == Some("half of it"))
            .await;
        let mut updates = seen.updates().await;
        assert_eq!(updates.next().await.unwrap().unwrap().status, TaskStatus::Working, "{version}");
        let waiting = tokio::spawn(async move { seen.wait().await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        a.log.go.notify_one();
        assert_eq!(waiting.await.unwrap().unwrap().text(), "number 0", "{version}");
        assert_eq!(updates.next().await.unwrap().unwrap().status, TaskStatus::Completed, "{version}");
    }
}

/// A store that fails for a while loses neither an answer nor the task.
#[tokio::test(start_paused = true)]
async fn an_answer_survives_an_outage_of_the_store() {
    for version in REVISIONS {
        let store = shared();
        let a = Replica::with(&store, version, Task::optional(), false).await;
        let b = Replica::new(&store, version).await;
        let task = a.begin("ask").await;
        until("it asks", async || task.state().await.unwrap().status == TaskStatus::InputRequired).await;
        a.link.cut(true);
        let answered = tokio::spawn({
            let seen = b.see(&task);
            async move { seen.wait().await }
        });
        until("it is answered", async || count(&b.asked) == 1).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        a.link.cut(false);
        assert_eq!(answered.await.unwrap().unwrap().text(), "true", "{version}");
    }
}
