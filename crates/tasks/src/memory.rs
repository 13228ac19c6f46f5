//! Tasks in memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use couplet_core::{BoxFuture, sync::lock};
use tokio::sync::watch;

use crate::{
    clock,
    record::{Change, Record},
    store::{Store, StoreError},
};

/// A [`Store`] in memory. Tasks are lost with the process.
///
/// At its capacity, it evicts the oldest task that has ended; if all of them are running, new tasks are rejected.
#[derive(Debug)]
pub struct Memory {
    tasks: Mutex<Tasks>,
    most: usize,
    exclusive: bool,
}

#[derive(Debug, Default)]
struct Tasks {
    all: HashMap<String, Stored>,
    /// Ids by owner and idempotency key.
    keys: HashMap<(Option<Arc<str>>, String), String>,
    last: u64,
}

#[derive(Debug)]
struct Stored {
    /// The position in the order of creation.
    at: u64,
    record: Record,
    revision: watch::Sender<u64>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// Creates a store with a capacity of 10,000 tasks.
    pub fn new() -> Self {
        Self::with_capacity(10_000)
    }

    /// Creates a store with the given capacity.
    pub fn with_capacity(most: usize) -> Self {
        Self { tasks: Mutex::default(), most, exclusive: true }
    }

    /// Treats the servers that share this store as replicas: a task has a lease, and its status is that of the store. For
    /// tests of several replicas in one process.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.exclusive = false;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        lock(&self.tasks)
    }

    fn done<'a, T: Send + 'a>(value: Result<T, StoreError>) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(std::future::ready(value))
    }
}

impl Tasks {
    /// The tasks of an owner, in order of creation.
    fn of(&self, owner: Option<&str>) -> Vec<&Stored> {
        let mut own: Vec<_> = self.all.values().filter(|task| task.record.owner.as_deref() == owner).collect();
        own.sort_unstable_by_key(|task| task.at);
        own
    }

    /// The unexpired task with the idempotency key of a new one.
    fn same(&self, record: &Record) -> Option<&Record> {
        let id = self.keys.get(&name(record)?)?;
        self.all.get(id).map(|task| &task.record).filter(|found| found.expires() > clock::now())
    }

    /// Changes a task and notifies its watchers, if `change` returns `true`.
    fn change(&mut self, id: &str, change: impl FnOnce(&mut Record) -> bool) -> Option<Record> {
        let task = self.all.get_mut(id)?;
        if !change(&mut task.record) {
            return None;
        }
        task.revision.send_replace(task.record.revision);
        Some(task.record.clone())
    }

    /// Evicts the oldest task that has ended; `false` if there is none.
    fn make_room(&mut self) -> bool {
        let over = self.all.values().filter(|task| task.record.status.is_terminal());
        let Some(id) = over.min_by_key(|task| task.at).map(|task| task.record.id.clone()) else { return false };
        self.all.remove(&id);
        self.keys.retain(|_, of| *of != id);
        true
    }
}

/// The owner and the idempotency key of a task.
fn name(record: &Record) -> Option<(Option<Arc<str>>, String)> {
    record.key.as_ref().map(|key| (record.owner.clone(), key.value.clone()))
}

impl Store for Memory {
    fn insert(&self, mut record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        let mut tasks = self.lock();
        if let Some(same) = tasks.same(&record) {
            return Self::done(Ok(Some(same.clone())));
        }
        if tasks.all.len() >= self.most && !tasks.make_room() {
            return Self::done(Err(StoreError::new(format!("there are {} tasks already", self.most))));
        }
        record.start_lease(self.now(), lease);
        tasks.last += 1;
        let (at, revision) = (tasks.last, watch::Sender::new(record.revision));
        if let Some(name) = name(&record) {
            tasks.keys.insert(name, record.id.clone());
        }
        tasks.all.insert(record.id.clone(), Stored { at, record, revision });
        Self::done(Ok(None))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Self::done(Ok(self.lock().all.get(id).map(|task| task.record.clone())))
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Self::done(Ok(self.lock().change(id, |record| record.apply(fence, change, clock::now()))))
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let now = self.now();
        Self::done(Ok(self.lock().change(id, |record| record.claim(node, now, lease))))
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let (now, mut stored) = (self.now(), self.lock());
        let mut renewed = |id: &String, generation: u64| {
            stored.all.get_mut(id).is_some_and(|task| task.record.renew(generation, now, lease))
        };
        let lost = tasks.iter().filter(|(id, generation)| !renewed(id, *generation));
        Self::done(Ok(lost.map(|(id, _)| id.clone()).collect()))
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        Self::done(Ok(self.lock().change(id, |record| record.release(generation)).is_some()))
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        let tasks = self.lock();
        let own = tasks.of(owner);
        let from = match after {
            None => Some(0),
            Some(id) => own.iter().position(|task| task.record.id == id).map(|at| at + 1),
        };
        Self::done(Ok(from.map(|from| own[from..].iter().take(most).map(|task| task.record.clone()).collect())))
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut tasks = self.lock();
        let Tasks { all, keys, .. } = &mut *tasks;
        all.retain(|_, task| task.record.expires() > now);
        keys.retain(|_, id| all.contains_key(id));
        Self::done(Ok(()))
    }

    fn watch<'a>(&'a self, id: &'a str, revision: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        let watched = self.lock().all.get(id).map(|task| task.revision.subscribe());
        Box::pin(async move {
            if let Some(mut watched) = watched {
                // An error means that the task was deleted.
                let _ = watched.wait_for(|now| *now != revision).await;
            }
            Ok(())
        })
    }

    fn now(&self) -> u64 {
        clock::steady()
    }

    fn is_exclusive(&self) -> bool {
        self.exclusive
    }
}
