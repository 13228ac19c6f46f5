//! Both stores do the same.

use std::{path::PathBuf, sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_server::{Server, tool};
use couplet_tasks::{CallTask, Called, Change, ClientTasks, Memory, Sqlite, Store, Task, TaskTool, Tasks};
use couplet_testing::contract;
use couplet_types::TaskStatus;

/// A file that is gone with the test.
pub(crate) struct TempFile(pub(crate) PathBuf);

impl TempFile {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("couplet-tasks-{}-{name}.db", std::process::id()));
        let file = Self(path);
        file.remove();
        file
    }

    fn remove(&self) {
        for end in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.remove();
    }
}

async fn finished(client: &Client) -> String {
    let Called::Task(task) = client.call_task("quick", ()).await.unwrap() else { panic!("no task") };
    task.wait().await.unwrap();
    task.id().to_owned()
}

/// Fills a store through a server, and looks at it from below.
async fn check<S: Store + Clone>(store: S) {
    let tasks = Tasks::new(store.clone()).poll_interval(Duration::from_millis(1));
    let quick = tool("quick", || "done").task(Task::optional());
    let server = Server::new("s", "1").extension(tasks).tool(quick).build();
    let client = Client::new("c", "1").extension(ClientTasks::new()).connect(server).await.unwrap();
    let ids = [finished(&client).await, finished(&client).await, finished(&client).await];

    let record = store.get(&ids[0]).await.unwrap().unwrap();
    assert_eq!(record.status, TaskStatus::Completed);
    assert!(store.change(&ids[0], None, Change::Cancelled).await.unwrap().is_none(), "what is over does not change");
    let listed = |records: Vec<couplet_tasks::Record>| records.into_iter().map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(listed(store.list(None, None, 2).await.unwrap().unwrap()), ids[..2]);
    assert_eq!(listed(store.list(None, Some(&ids[1]), 2).await.unwrap().unwrap()), ids[2..]);
    assert_eq!(store.list(None, Some("nobody"), 2).await.unwrap(), None);
    assert_eq!(store.list(Some("alice"), None, 2).await.unwrap(), Some(vec![]));
    store.purge(record.expires() - 1).await.unwrap();
    assert!(store.get(&ids[0]).await.unwrap().is_some());
    store.purge(u64::MAX).await.unwrap();
    assert!(store.get(&ids[0]).await.unwrap().is_none());
}

#[tokio::test]
async fn a_store_keeps_changes_lists_and_forgets() {
    check(Arc::new(Memory::new())).await;
    let file = TempFile::new("store");
    check(Sqlite::open(&file.0).unwrap()).await;
}

#[tokio::test]
async fn both_stores_fulfil_the_contract() {
    let file = TempFile::new("contract");
    let sqlite = Sqlite::open(&file.0).unwrap();
    contract::task_store(sqlite.clone()).await;
    contract::task_watch(sqlite).await;
    for memory in [Memory::new(), Memory::new().shared()] {
        let memory = Arc::new(memory);
        contract::task_store(memory.clone()).await;
        contract::task_watch(memory).await;
    }
}

#[tokio::test]
async fn a_full_memory_forgets_what_is_over() {
    let store = Arc::new(Memory::with_capacity(2));
    let tasks = Tasks::new(store.clone()).poll_interval(Duration::from_millis(1));
    let quick = tool("quick", || "done").task(Task::optional());
    let hold = tool("hold", std::future::pending::<String>).task(Task::optional());
    let server = Server::new("s", "1").extension(tasks).tool(quick).tool(hold).build();
    let client = Client::new("c", "1").extension(ClientTasks::new()).connect(server).await.unwrap();
    let ids = [finished(&client).await, finished(&client).await, finished(&client).await];
    assert!(store.get(&ids[0]).await.unwrap().is_none());
    client.call_task("hold", ()).await.unwrap();
    client.call_task("hold", ()).await.unwrap();
    assert!(client.call_task("hold", ()).await.is_err(), "nothing is over");
}

/// A file has one process. Another one hears of it at once, and which one it is.
#[tokio::test]
async fn attack_11_a_file_that_is_in_use_is_refused_at_once() {
    let file = TempFile::new("taken");
    let _first = Sqlite::open(&file.0).unwrap();
    let error = Sqlite::open(&file.0).unwrap_err().to_string();
    assert!(error.contains("process") && error.contains("taken.db` open"), "{error}");
}

/// A file of the first version, which had no number, keeps its tasks.
#[tokio::test]
async fn a_file_of_the_first_version_is_migrated() {
    let file = TempFile::new("migrated");
    let old = rusqlite::Connection::open(&file.0).unwrap();
    old.execute_batch(include_str!("first.sql")).unwrap();
    drop(old);
    for _ in 0..2 {
        let store = Sqlite::open(&file.0).unwrap();
        let done = store.get("done").await.unwrap().unwrap();
        assert_eq!((done.status, done.revision, done.key), (TaskStatus::Completed, 0, None));
        let ran = store.get("ran").await.unwrap().unwrap();
        assert_eq!((ran.status, ran.owner.as_deref()), (TaskStatus::Failed, Some("alice")));
        let listed = store.list(Some("alice"), None, 5).await.unwrap().unwrap();
        assert_eq!(listed, [ran]);
    }
    let newer = rusqlite::Connection::open(&file.0).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = Sqlite::open(&file.0).unwrap_err().to_string();
    assert!(error.contains("version 99"), "{error}");
}
