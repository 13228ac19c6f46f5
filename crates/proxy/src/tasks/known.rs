//! The tasks that were begun through this proxy.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use couplet_core::{Call, Event, JsonText, RequestOptions, Revision, sync::lock};
use couplet_types::{GetTaskPayloadParams, InputRequest, RpcError};
use tokio::{
    sync::{Notify, oneshot},
    task::AbortHandle,
    time::{Instant, timeout},
};

use super::{held::HeldResults, notify::Watched, owner::TaskOwner, to_core::Supports, wire};
use crate::{asking::Question, random, upstream::Upstream};

/// The maximum number of tasks that are known. The oldest are forgotten: then the server alone decides about them.
const MOST: usize = 4096;

/// The maximum time for which a connection stays open for a task.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The maximum number of input requests of a task that wait for answers.
const QUESTIONS: usize = 32;

/// The time in which the server sends the input requests of a task that requires input.
const SOON: Duration = Duration::from_secs(2);

/// The tasks of a proxy.
#[derive(Default)]
pub(crate) struct Tasks {
    known: Mutex<KnownTasks>,
    pub(crate) held: HeldResults,
    pub(crate) supports: Supports,
    pub(crate) watched: Watched,
    /// The input requests that are with their callers, by task and key.
    delivering: Mutex<BTreeSet<(String, String)>>,
    keys: Keys,
}

#[derive(Default)]
struct KnownTasks {
    tasks: HashMap<String, Arc<KnownTask>>,
    order: VecDeque<String>,
}

/// The keys of input requests. They begin with the name of this proxy, which no replica has.
struct Keys {
    name: String,
    last: AtomicU64,
}

impl Default for Keys {
    fn default() -> Self {
        Self { name: format!("dev.couplet.{}", random().unwrap_or_default()), last: AtomicU64::new(0) }
    }
}

/// A task that was begun through this proxy.
pub(crate) struct KnownTask {
    id: String,
    owner: TaskOwner,
    /// Where it was begun, if it is converted for its caller and the server has sessions.
    begun: Option<Begun>,
    state: Mutex<TaskState>,
    asked: Notify,
}

/// Where a task was begun.
pub(crate) struct Begun {
    upstream: Weak<Upstream>,
    /// The revision of the caller.
    revision: Revision,
    until: Instant,
}

impl Begun {
    pub(crate) fn new(call: &Call, upstream: &Arc<Upstream>, ttl: Option<u64>) -> Self {
        let time = ttl.map_or(LONGEST, Duration::from_millis).min(LONGEST);
        Self { upstream: Arc::downgrade(upstream), revision: call.revision, until: Instant::now() + time }
    }
}

#[derive(Default)]
struct TaskState {
    ended: bool,
    questions: Vec<(String, Question)>,
    /// The request for the result, during which the server sends its input requests.
    following: Option<AbortHandle>,
}

impl Tasks {
    /// Notes the owner of a task, and where it was begun if it is converted and the server has sessions.
    pub(crate) fn note(&self, id: &str, owner: TaskOwner, begun: Option<Begun>) -> Arc<KnownTask> {
        let task =
            Arc::new(KnownTask { id: id.to_owned(), owner, begun, state: Mutex::default(), asked: Notify::new() });
        let mut known = lock(&self.known);
        // The first owner stays: an id that comes again is not another caller's.
        if let Some(task) = known.tasks.get(id) {
            return task.clone();
        }
        let oldest = if known.order.len() >= MOST { known.order.pop_front() } else { None };
        let oldest = oldest.and_then(|id| known.tasks.remove(&id));
        known.order.push_back(id.to_owned());
        known.tasks.insert(id.to_owned(), task.clone());
        drop(known);
        drop(oldest);
        task
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<KnownTask>> {
        lock(&self.known).tasks.get(id).cloned()
    }

    /// Whether a caller may use a task, as far as it is known whose it is.
    pub(crate) fn may_use(&self, principal: Option<&str>, id: &str) -> bool {
        self.find(id).is_none_or(|task| task.owner.is(principal))
    }

    /// The ids of the tasks in the list of a caller, the oldest first.
    pub(crate) fn own(&self, call: &Call) -> Vec<String> {
        let known = lock(&self.known);
        let is_own = |id: &&String| known.tasks.get(*id).is_some_and(|task| task.owner.lists_for(call));
        let mut own: Vec<String> = known.order.iter().filter(is_own).cloned().collect();
        own.extend(self.held.own(call));
        own
    }

    /// Whether a task runs on a connection, which then stays open.
    pub(crate) fn run_on(&self, upstream: &Arc<Upstream>) -> bool {
        let (now, known) = (Instant::now(), lock(&self.known));
        known.tasks.values().any(|task| task.is_on(upstream, now) && !lock(&task.state).ended)
    }

    /// Takes an input request of a task; `None` if it belongs to none that is known here.
    pub(crate) async fn ask(&self, request: &InputRequest, limit: Duration) -> Option<Result<JsonText, RpcError>> {
        let task = self.find(&wire::related_task(request)?)?;
        task.begun.as_ref()?;
        let (answer, answered) = oneshot::channel();
        {
            let mut state = lock(&task.state);
            state.questions.retain(|(_, question)| !question.answer.is_closed());
            if state.questions.len() >= QUESTIONS {
                return Some(Err(RpcError::internal(format!("more than {QUESTIONS} input requests are open"))));
            }
            let key = format!("{}.{}", self.keys.name, self.keys.last.fetch_add(1, Ordering::Relaxed));
            state.questions.push((key, Question { request: request.clone(), answer }));
        }
        task.asked.notify_waiters();
        let late = || Err(RpcError::internal("the client behind the proxy did not answer in time"));
        let gone = || Err(RpcError::internal("the task of this request has ended, so there is no client to answer it"));
        let answer = timeout(limit, answered).await;
        Some(answer.map_or_else(|_| late(), |answer| answer.unwrap_or_else(|_| gone())))
    }

    /// Whether a key was issued by a replica, not here.
    pub(crate) fn is_of_replica(&self, key: &str) -> bool {
        key.starts_with("dev.couplet.") && !key.starts_with(&self.keys.name)
    }

    /// Marks an input request as delivered; `None` if it is with a caller already.
    pub(crate) fn deliver(&self, id: &str, key: &str) -> Option<Delivery<'_>> {
        let delivery = (id.to_owned(), key.to_owned());
        lock(&self.delivering).insert(delivery.clone()).then(|| Delivery { tasks: self, delivery })
    }
}

impl KnownTask {
    /// The connection that the task was begun on, while it is open.
    pub(crate) fn upstream(&self) -> Option<Arc<Upstream>> {
        self.begun.as_ref()?.upstream.upgrade()
    }

    /// The revision of the caller, if the task is converted for it.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.begun.as_ref().map(|begun| begun.revision)
    }

    fn is_on(&self, upstream: &Arc<Upstream>, now: Instant) -> bool {
        let is_it = |begun: &Begun| begun.until > now && begun.upstream.as_ptr() == Arc::as_ptr(upstream);
        self.begun.as_ref().is_some_and(is_it)
    }

    /// Ends what is done for the task: it needs no answers any more.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        state.ended = true;
        let rest = (std::mem::take(&mut state.questions), state.following.take());
        drop(state);
        rest.1.iter().for_each(AbortHandle::abort);
    }

    /// The input requests that wait for answers. If there are none and the task requires input, they are requested.
    pub(crate) async fn questions(
        &self,
        upstream: &Arc<Upstream>,
        requires_input: bool,
    ) -> Vec<(String, InputRequest)> {
        let asked = self.asked.notified();
        let open = self.open();
        if !open.is_empty() || !requires_input || !self.follow(upstream) {
            return open;
        }
        let _ = timeout(SOON, asked).await;
        self.open()
    }

    fn open(&self) -> Vec<(String, InputRequest)> {
        let mut state = lock(&self.state);
        state.questions.retain(|(_, question)| !question.answer.is_closed());
        state.questions.iter().map(|(key, question)| (key.clone(), question.request.clone())).collect()
    }

    /// Answers an input request; one that is not known is ignored.
    pub(crate) fn answer(&self, key: &str, answer: Result<JsonText, RpcError>) {
        let mut state = lock(&self.state);
        let Some(at) = state.questions.iter().position(|(known, _)| known == key) else { return };
        let (_, question) = state.questions.remove(at);
        drop(state);
        let _ = question.answer.send(answer);
    }

    /// Keeps a request for the result open, during which the server sends its input requests.
    fn follow(&self, upstream: &Arc<Upstream>) -> bool {
        let mut state = lock(&self.state);
        if state.following.as_ref().is_some_and(|following| !following.is_finished()) {
            return true;
        }
        let Ok(params) = wire::params(&GetTaskPayloadParams::new(&*self.id)) else { return false };
        let Ok(mut exchange) = upstream.client.forward("tasks/result", &params, &RequestOptions::default()) else {
            return false;
        };
        let upstream = upstream.clone();
        let following = tokio::spawn(async move {
            while let Event::Notification { .. } = exchange.next().await {}
            drop(upstream);
        });
        state.following = Some(following.abort_handle());
        true
    }
}

impl Drop for KnownTask {
    fn drop(&mut self) {
        self.end();
    }
}

/// An input request that is with its caller, until it is dropped.
pub(crate) struct Delivery<'a> {
    tasks: &'a Tasks,
    delivery: (String, String),
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        lock(&self.tasks.delivering).remove(&self.delivery);
    }
}
