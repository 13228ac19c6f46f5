//! Tasks in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use couplet_core::BoxFuture;

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
}

#[derive(Debug, Default)]
struct Tasks {
    all: HashMap<String, (u64, Record)>,
    last: u64,
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
        Self { tasks: Mutex::default(), most }
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done<'a, T: Send + 'a>(value: Result<T, StoreError>) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(std::future::ready(value))
    }
}

impl Tasks {
    /// The tasks of an owner, in order of creation.
    fn of(&self, owner: Option<&str>) -> Vec<&(u64, Record)> {
        let mut own: Vec<_> = self.all.values().filter(|(_, r)| r.owner.as_deref() == owner).collect();
        own.sort_unstable_by_key(|(at, _)| *at);
        own
    }

    /// Evicts the oldest task that has ended; `false` if there is none.
    fn make_room(&mut self) -> bool {
        let over = self.all.values().filter(|(_, r)| r.status.is_terminal());
        let oldest = over.min_by_key(|(at, _)| *at).map(|(_, r)| r.id.clone());
        oldest.is_some_and(|id| self.all.remove(&id).is_some())
    }
}

impl Store for Memory {
    fn insert(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut tasks = self.lock();
        if tasks.all.len() >= self.most && !tasks.make_room() {
            return Self::done(Err(StoreError::new(format!("there are {} tasks already", self.most))));
        }
        tasks.last += 1;
        let at = tasks.last;
        tasks.all.insert(record.id.clone(), (at, record));
        Self::done(Ok(()))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Self::done(Ok(self.lock().all.get(id).map(|(_, r)| r.clone())))
    }

    fn change<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let mut tasks = self.lock();
        let changed = tasks.all.get_mut(id).and_then(|(_, r)| r.apply(change, clock::now()).then(|| r.clone()));
        Self::done(Ok(changed))
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
            Some(id) => own.iter().position(|(_, r)| r.id == id).map(|at| at + 1),
        };
        Self::done(Ok(from.map(|from| own[from..].iter().take(most).map(|(_, r)| r.clone()).collect())))
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.lock().all.retain(|_, (_, r)| r.expires() > now);
        Self::done(Ok(()))
    }

    fn is_exclusive(&self) -> bool {
        true
    }
}
