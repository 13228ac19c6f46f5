//! A cluster: each operation goes to the node that has its key.
//!
//! The nodes say where keys are: at first, after a redirection, and after a node was away. A redirected operation was not
//! executed, so it is sent again in any case.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{Error, ErrorKind, sync::lock};
use redis::{AsyncConnectionConfig, ErrorKind as Kind, Pipeline, RedisError, ServerErrorKind as Server, Value};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Repeat,
    node::Node,
    slots::{NodeAddress, Slots, address, slot},
    target::{Connection, Target},
};
use crate::error::is_lost;

pub(crate) struct Cluster {
    /// The nodes of the URL, at least one.
    seeds: Vec<Target>,
    timeout: Duration,
    nodes: Mutex<HashMap<NodeAddress, Arc<Node>>>,
    slots: Mutex<Arc<Slots>>,
    /// Whether the slots may have other nodes by now.
    stale: AtomicBool,
    /// Held by the one caller that asks for the slots: when it did so last.
    asking: tokio::sync::Mutex<Option<Instant>>,
    /// The next node for what any node can do.
    turn: AtomicUsize,
}

/// Where an operation goes next.
enum Hop {
    Owner,
    Moved(NodeAddress),
    /// The slot is on its way there, and this key has arrived.
    Ask(NodeAddress),
}

impl Cluster {
    /// The number of times that an operation is sent.
    const HOPS: usize = 6;
    /// The time between two questions for the slots.
    const PAUSE: Duration = Duration::from_millis(100);
    /// The pause before an operation whose keys are being moved is sent again.
    const MOVING: Duration = Duration::from_millis(20);

    pub(crate) fn new(seeds: Vec<Target>, timeout: Duration) -> Self {
        Self {
            seeds,
            timeout,
            nodes: Mutex::default(),
            slots: Mutex::default(),
            stale: AtomicBool::new(false),
            asking: tokio::sync::Mutex::default(),
            turn: AtomicUsize::new(0),
        }
    }

    pub(crate) async fn send(
        &self,
        commands: &Pipeline,
        key: Option<&str>,
        repeat: Repeat,
        deadline: Instant,
    ) -> Result<Vec<Value>, Error> {
        let (mut hop, mut again) = (Hop::Owner, repeat == Repeat::Safe);
        let mut failure = None;
        for _ in 0..Self::HOPS {
            let (place, asks) = match hop {
                Hop::Owner => (self.place(key, deadline).await?, false),
                Hop::Moved(place) => (place, false),
                Hop::Ask(place) => (place, true),
            };
            let node = self.node(&place)?;
            let sent = match asks {
                false => node.send(commands, repeat, deadline).await,
                true => ask(&node, commands, repeat, deadline).await,
            };
            let error = match sent {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            hop = match redirection(&error, &place.0) {
                // They go to several nodes by now.
                Some(_) if commands.cmd_iter().nth(1).is_some() => {
                    self.stale.store(true, Ordering::Relaxed);
                    return Err(unsettled(Some(error)));
                }
                Some(Redirection::Moved(to)) => {
                    self.stale.store(true, Ordering::Relaxed);
                    Hop::Moved(to)
                }
                Some(Redirection::Ask(to)) => Hop::Ask(to),
                Some(Redirection::Later) => {
                    sleep(Self::MOVING).await;
                    Hop::Owner
                }
                None => {
                    let is_lost = is_lost(&error);
                    if is_lost {
                        self.stale.store(true, Ordering::Relaxed);
                    }
                    if !is_lost || Instant::now() >= deadline || !std::mem::take(&mut again) {
                        return Err(error);
                    }
                    Hop::Owner
                }
            };
            failure = Some(error);
        }
        Err(unsettled(failure))
    }

    /// Divides keys by their nodes.
    pub(crate) async fn together(&self, keys: &[&str], deadline: Instant) -> Result<Vec<Vec<usize>>, Error> {
        let slots = self.slots(deadline).await?;
        let mut groups: HashMap<Option<&NodeAddress>, Vec<usize>> = HashMap::new();
        for (at, key) in keys.iter().enumerate() {
            groups.entry(slots.owner(slot(key))).or_default().push(at);
        }
        Ok(groups.into_values().collect())
    }

    /// Opens a connection to any node: messages of channels reach all of them.
    pub(crate) async fn dedicated(&self, config: AsyncConnectionConfig) -> Result<Connection, Error> {
        let slots = self.slots(Instant::now() + self.timeout).await?;
        let (nodes, first) = (slots.nodes(), self.turn.fetch_add(1, Ordering::Relaxed));
        let mut failure = None;
        for at in 0..nodes.len() {
            let node = self.node(&nodes[(first + at) % nodes.len()])?;
            match node.dedicated(config.clone()).await {
                Ok(connection) => return Ok(connection),
                Err(error) => failure = Some(error),
            }
        }
        self.stale.store(true, Ordering::Relaxed);
        Err(unsettled(failure))
    }

    /// The node that has a key, or without a key one after the other.
    async fn place(&self, key: Option<&str>, deadline: Instant) -> Result<NodeAddress, Error> {
        let slots = self.slots(deadline).await?;
        let place = match key {
            Some(key) => slots.owner(slot(key)).cloned(),
            None => {
                let (nodes, turn) = (slots.nodes(), self.turn.fetch_add(1, Ordering::Relaxed));
                nodes.get(turn % nodes.len().max(1)).cloned()
            }
        };
        place.ok_or_else(|| {
            self.stale.store(true, Ordering::Relaxed);
            Error::new(ErrorKind::Transport, "no node of the redis cluster has the slot of a key at the moment")
        })
    }

    fn node(&self, place: &NodeAddress) -> Result<Arc<Node>, Error> {
        let mut nodes = lock(&self.nodes);
        if let Some(node) = nodes.get(place) {
            return Ok(node.clone());
        }
        let Some(seed) = self.seeds.first() else { return Err(unsettled(None)) };
        let node = Arc::new(Node::new(seed.at(&place.0, place.1)?, self.timeout));
        nodes.insert(place.clone(), node.clone());
        Ok(node)
    }

    /// The slots as they are known. They are asked for again if they may be others by now; one caller does so at a time.
    async fn slots(&self, deadline: Instant) -> Result<Arc<Slots>, Error> {
        if let Some(known) = self.known().filter(|_| !self.stale.load(Ordering::Relaxed)) {
            return Ok(known);
        }
        let Ok(mut asked) = tokio::time::timeout_at(deadline, self.asking.lock()).await else {
            return Err(crate::error::late("the cluster", self.timeout));
        };
        if let Some(known) = self.known()
            && (!self.stale.load(Ordering::Relaxed) || asked.is_some_and(|last| last.elapsed() < Self::PAUSE))
        {
            return Ok(known);
        }
        *asked = Some(Instant::now());
        self.stale.store(false, Ordering::Relaxed);
        match (self.ask_all(deadline).await, self.known()) {
            (Ok(slots), _) => {
                lock(&self.nodes).retain(|place, _| slots.nodes().contains(place));
                let slots = Arc::new(slots);
                *lock(&self.slots) = slots.clone();
                Ok(slots)
            }
            (Err(error), known) => {
                self.stale.store(true, Ordering::Relaxed);
                known.ok_or(error)
            }
        }
    }

    fn known(&self) -> Option<Arc<Slots>> {
        Some(lock(&self.slots).clone()).filter(|slots| !slots.is_empty())
    }

    /// Asks all nodes for the slots at once, since some may hang, and returns the first answer.
    async fn ask_all(&self, deadline: Instant) -> Result<Slots, Error> {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let mut commands = Pipeline::with_capacity(1);
        commands.add_command(command);
        let seeds = self.seeds.iter().filter_map(Target::place);
        let known = self.known().map(|slots| slots.nodes()).unwrap_or_default();
        let mut asked = JoinSet::new();
        for place in known.into_iter().chain(seeds) {
            let (node, commands) = (self.node(&place)?, commands.clone());
            asked.spawn(async move {
                let answer = node.send(&commands, Repeat::Safe, deadline).await;
                answer.map(|answer| answer.into_iter().next().and_then(|answer| Slots::parse(answer, &place.0)))
            });
        }
        let mut failure = None;
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some(slots))) if !slots.is_empty() => return Ok(slots),
                Ok(Ok(_)) => failure = failure.or(Some(unsettled(None))),
                Ok(Err(error)) => failure = Some(error),
                Err(_) => {}
            }
        }
        Err(failure.unwrap_or_else(|| unsettled(None)))
    }
}

/// Sends commands to a node that is about to own their slot.
async fn ask(node: &Node, commands: &Pipeline, repeat: Repeat, deadline: Instant) -> Result<Vec<Value>, Error> {
    let mut asking = Pipeline::new();
    for command in commands.cmd_iter() {
        asking.add_command(redis::cmd("ASKING"));
        asking.add_command(command.clone());
    }
    let answers = node.send(&asking, repeat, deadline).await?;
    Ok(answers.into_iter().skip(1).step_by(2).collect())
}

/// What a node says instead of executing an operation.
enum Redirection {
    Moved(NodeAddress),
    Ask(NodeAddress),
    /// Some keys are here and some are there.
    Later,
}

fn redirection(error: &Error, asked: &str) -> Option<Redirection> {
    let source = std::error::Error::source(error)?.downcast_ref::<RedisError>()?;
    let place = || address(source.redirect_node()?.0, asked);
    match source.kind() {
        Kind::Server(Server::Moved) => place().map(Redirection::Moved),
        Kind::Server(Server::Ask) => place().map(Redirection::Ask),
        Kind::Server(Server::TryAgain) => Some(Redirection::Later),
        _ => None,
    }
}

/// The error of a cluster that is being changed.
fn unsettled(source: Option<Error>) -> Error {
    let error =
        Error::new(ErrorKind::Transport, "the redis cluster is not ready: its nodes do not agree on the slots yet");
    match source {
        Some(source) => error.with_source(source),
        None => error,
    }
}
