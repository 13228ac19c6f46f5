//! Where logins are kept.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use couplet_auth::{
    Secret,
    client::{FileStore, MemoryStore, Store, StoreLock},
};
use couplet_core::{BoxFuture, Error};
use couplet_testing::contract;

use crate::world::World;

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("couplet-auth-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("logins.json")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Two handles of a file are as good as two processes: they have nothing in common but the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_of_logins_fulfil_the_contract() {
    let (folder, memory) = (Folder::new("contract"), MemoryStore::new());
    contract::login_store(&memory, &memory).await;
    contract::login_lock(&memory, &memory).await;
    let file = || FileStore::open(folder.file()).unwrap();
    let (one, two) = (file(), file());
    contract::login_store(&one, &two).await;
    contract::login_lock(&one, &two).await;
}

#[tokio::test]
async fn what_is_kept_is_found_and_what_is_removed_is_not() {
    let folder = Folder::new("kept");
    let stores: [Box<dyn Store>; 2] = [Box::new(MemoryStore::new()), Box::new(FileStore::open(folder.file()).unwrap())];
    for store in stores {
        assert!(store.load("a").await.unwrap().is_none());
        store.save("a", Some(Secret::new("1"))).await.unwrap();
        store.save("b", Some(Secret::new("2"))).await.unwrap();
        store.save("a", Some(Secret::new("3"))).await.unwrap();
        assert_eq!(store.load("a").await.unwrap().unwrap().reveal(), "3");
        store.save("a", None).await.unwrap();
        assert!(store.load("a").await.unwrap().is_none());
        assert_eq!(store.load("b").await.unwrap().unwrap().reveal(), "2");
    }
}

#[tokio::test]
async fn a_login_in_a_file_outlives_the_program() {
    let (folder, world) = (Folder::new("outlives"), World::new());
    for _ in 0..2 {
        let oauth = world.person().store(FileStore::open(folder.file()).unwrap());
        assert_eq!(world.once(&oauth).await.unwrap(), 200);
    }
    assert_eq!(world.inner().pages.len(), 1);
    // Nothing is left beside it but what is locked.
    let names = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| !name.ends_with(".lock")).collect::<Vec<_>>(), ["logins.json"]);
}

/// Each store is as good as a process of its own: they have nothing in common but the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_change_the_file_and_lose_nothing() {
    let folder = Folder::new("several");
    let mut all = tokio::task::JoinSet::new();
    for process in 0..8 {
        let store = FileStore::open(folder.file()).unwrap();
        all.spawn(async move {
            for n in 0..10 {
                store.save(&format!("{process} {n}"), Some(Secret::new("x"))).await.unwrap();
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
    let store = FileStore::open(folder.file()).unwrap();
    for key in (0..8).flat_map(|process| (0..10).map(move |n| format!("{process} {n}"))) {
        assert!(store.load(&key).await.unwrap().is_some(), "{key}");
    }
}

#[tokio::test]
async fn a_refresh_token_is_used_by_one_process() {
    let (folder, world) = (Folder::new("refresh"), World::new());
    {
        let mut inner = world.inner();
        (inner.refreshes, inner.lasts) = (true, 0);
    }
    let process = || world.person().store(FileStore::open(folder.file()).unwrap());
    assert_eq!(world.once(&process()).await.unwrap(), 200);
    // What was issued has ended.
    world.revoke();
    let refreshes = || world.seen("/token").iter().filter(|s| s.field("refresh_token").is_some()).count();
    let before = refreshes();
    world.inner().lasts = 3600;
    let clients: Vec<_> = (0..4).map(|_| world.client(&process())).collect();
    let mut calls = tokio::task::JoinSet::new();
    for client in clients {
        let world = world.clone();
        calls.spawn(async move { world.call(&client).await });
    }
    while let Some(done) = calls.join_next().await {
        assert_eq!(done.unwrap().unwrap(), 200);
    }
    assert_eq!((refreshes() - before, world.inner().pages.len()), (1, 1));
}

#[cfg(unix)]
#[tokio::test]
async fn line_432_only_its_owner_can_read_the_file() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("owner");
    let store = FileStore::open(folder.file()).unwrap();
    store.save("a", Some(Secret::new("1"))).await.unwrap();
    assert_eq!(fs::metadata(folder.file()).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o666, 0o660] {
        fs::set_permissions(folder.file(), fs::Permissions::from_mode(mode)).unwrap();
        assert!(FileStore::open(folder.file()).unwrap_err().to_string().contains("chmod 600"));
        store.load("a").await.unwrap_err();
        store.save("a", Some(Secret::new("2"))).await.unwrap_err();
    }
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o600)).unwrap();
    // Whoever puts something where the new file is made does not get to read it.
    let trap = folder.0.join("trap");
    fs::write(&trap, "").unwrap();
    symlink(&trap, folder.0.join(format!("logins.json.{}", std::process::id()))).unwrap();
    store.save("a", Some(Secret::new("2"))).await.unwrap();
    assert_eq!(fs::read_to_string(trap).unwrap(), "");
    assert_eq!(store.load("a").await.unwrap().unwrap().reveal(), "2");
}

#[test]
fn what_is_no_file_of_logins_is_left_alone() {
    let folder = Folder::new("other");
    fs::write(folder.file(), "{\"a\": \"hunter2\"").unwrap();
    #[cfg(unix)]
    fs::set_permissions(folder.file(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let error = FileStore::open(folder.file()).unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    FileStore::open(&folder.0).unwrap_err();
}

/// A store of which one operation does not end, once it is told so.
#[derive(Clone, Default)]
struct Stuck {
    memory: Arc<MemoryStore>,
    operation: Arc<Mutex<&'static str>>,
}

impl Stuck {
    fn at<'a, T: Send + 'a>(
        &self,
        operation: &str,
        work: BoxFuture<'a, Result<T, Error>>,
    ) -> BoxFuture<'a, Result<T, Error>> {
        if *self.operation.lock().unwrap() == operation { Box::pin(std::future::pending()) } else { work }
    }
}

impl Store for Stuck {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        self.at("load", self.memory.load(key))
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        self.at("save", self.memory.save(key, value))
    }

    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        self.at("lock", self.memory.lock(server))
    }
}

/// A token ends; the next one needs the store.
#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_holds_no_request_up() {
    for (operation, expected) in [("load", None), ("save", None), ("lock", Some(200)), ("none", Some(200))] {
        let (world, store) = (World::new(), Stuck::default());
        world.inner().refreshes = true;
        let oauth = world.person().store(store.clone());
        let client = world.client(&oauth);
        assert_eq!(world.call(&client).await.unwrap(), 200);
        world.revoke();
        *store.operation.lock().unwrap() = operation;
        let [before] = oauth.metrics();
        let called = tokio::time::timeout(std::time::Duration::from_secs(600), world.call(&client)).await;
        let [after] = oauth.metrics();
        assert_eq!(after.value > before.value, operation != "none", "{operation}: a failure is counted");
        match (called.expect("it ends in time"), expected) {
            (Ok(status), Some(expected)) => assert_eq!(status, expected, "{operation}"),
            (Err(error), None) => {
                assert_eq!(error.to_string(), "the store of logins did not answer within 60s", "{operation}");
            }
            (called, _) => panic!("{operation}: {called:?}"),
        }
        // Nothing is stuck for good.
        *store.operation.lock().unwrap() = "none";
        world.revoke();
        assert_eq!(world.call(&client).await.unwrap(), 200, "{operation}");
    }
}
