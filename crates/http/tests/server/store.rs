//! Stores that fail or hang when they are told to.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_http::server::{
    Claim, EventStore, LoadedSession, MemoryEvents, MemorySessions, Node, Posted, Renewed, SessionRecord, SessionStore,
    StoredEvent,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Fails,
    Hangs,
}

/// A store of sessions and events that takes its time.
#[derive(Default)]
pub(crate) struct TestStore {
    pub(crate) sessions: MemorySessions,
    pub(crate) events: MemoryEvents,
    /// The operation that has a fault, or all of them.
    fault: Mutex<Option<(Option<&'static str>, Fault)>>,
    calls: Mutex<Vec<&'static str>>,
}

impl TestStore {
    /// Every operation fails or hangs from now on.
    pub(crate) fn break_all(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some((None, fault));
    }

    /// One operation fails or hangs from now on.
    pub(crate) fn break_one(&self, operation: &'static str, fault: Fault) {
        *self.fault.lock().unwrap() = Some((Some(operation), fault));
    }

    /// Everything works again.
    pub(crate) fn mend(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// The number of calls of an operation.
    pub(crate) fn calls(&self, operation: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| **call == operation).count()
    }

    fn run<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        work: impl FnOnce() -> BoxFuture<'a, Result<T, Error>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, Error>> {
        self.calls.lock().unwrap().push(operation);
        let fault = *self.fault.lock().unwrap();
        let fault = fault.filter(|(one, _)| one.is_none_or(|one| one == operation)).map(|(_, fault)| fault);
        Box::pin(async move {
            tokio::task::yield_now().await;
            match fault {
                Some(Fault::Fails) => Err(Error::new(ErrorKind::Transport, "the store is away")),
                Some(Fault::Hangs) => std::future::pending().await,
                None => work().await,
            }
        })
    }
}

impl SessionStore for TestStore {
    fn create<'a>(
        &'a self,
        record: SessionRecord,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        self.run("create", move || self.sessions.create(record, node, lease))
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<LoadedSession>, Error>> {
        self.run("load", move || self.sessions.load(id))
    }

    fn claim_from<'a>(
        &'a self,
        id: &'a str,
        gone: &'a Node,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, Error>> {
        self.run("claim", move || self.sessions.claim_from(id, gone, node, lease))
    }

    fn renew<'a>(
        &'a self,
        owned: &'a [(Arc<str>, u64)],
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Renewed, Error>> {
        self.run("renew", move || self.sessions.renew(owned, node, lease))
    }

    fn post<'a>(&'a self, id: &'a str, owner: &'a Node, message: Bytes) -> BoxFuture<'a, Result<Posted, Error>> {
        self.run("post", move || self.sessions.post(id, owner, message))
    }

    fn take<'a>(&'a self, id: &'a str, generation: u64, after: u64) -> BoxFuture<'a, Result<Vec<(u64, Bytes)>, Error>> {
        self.run("take", move || self.sessions.take(id, generation, after))
    }

    fn remember<'a>(&'a self, id: &'a str, generation: u64, memory: Bytes) -> BoxFuture<'a, Result<bool, Error>> {
        self.run("remember", move || self.sessions.remember(id, generation, memory))
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        self.run("release", move || self.sessions.release(id, generation))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
        self.run("remove", move || self.sessions.remove(id))
    }
}

impl EventStore for TestStore {
    fn append<'a>(
        &'a self,
        session: &'a str,
        generation: u64,
        stream: u64,
        event: StoredEvent,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        self.run("append", move || self.events.append(session, generation, stream, event))
    }

    fn fence<'a>(&'a self, session: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        self.run("fence", move || self.events.fence(session, generation))
    }

    fn after<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<StoredEvent>>, Error>> {
        self.run("after", move || self.events.after(session, stream, seq))
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        self.run("remove events", move || self.events.remove(session))
    }
}
