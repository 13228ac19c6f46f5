//! Notifications about tasks.
//!
//! | caller | server | |
//! |---|---|---|
//! | extension | extension | the tasks that callers are subscribed to are subscribed to at the server |
//! | 2025-11-25 | extension | the tasks that callers have begun are subscribed to, and their sessions are notified |
//! | extension | 2025-11-25 | notifications of the server's sessions go to callers that are subscribed to the task |
//! | 2025-11-25 | 2025-11-25 | they are forwarded as they are, with all others of a session |
//!
//! Notifications may be lost; callers poll in any case.

use std::{
    collections::BTreeSet,
    future::poll_fn,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{
    Call, Error, Event, Exchange, ExtensionEvent, Hub, JsonText, Outbox, RequestOptions, message::Params, sync::lock,
};
use couplet_types::{
    ClientCapabilities, DetailedTask, GetTaskPayloadParams, ListenParams, Map, Notification, RawJson,
    SubscriptionFilter, TASKS_EXTENSION, Task, TaskChanged, TaskStatus, TaskStatusChanged, from_json,
};
use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, timeout},
};

use super::{FILTER, TaskForms, broken, known::Tasks, wire};
use crate::{Hooks, backoff::Backoff, extensions::Raw, upstream::Upstream};

/// The maximum number of tasks that sessions are notified of.
const SESSIONS: usize = 256;

/// The maximum number of tasks in a subscription at the server.
const SUBSCRIBED: usize = 512;

/// The timeout of a request for the result of a task that callers are notified of.
const RESULT: Duration = Duration::from_secs(10);

/// The timeout of a notification: a caller that does not read must not block the others.
const NOTIFY: Duration = Duration::from_secs(1);

/// The sessions that are notified of the tasks that they have begun.
pub(crate) struct Watched {
    sessions: Mutex<Vec<Watching>>,
    changed: Notify,
    /// Notified of each notification of the server.
    pub(super) news: Notify,
    /// Limits the requests for results.
    results: Arc<Semaphore>,
}

impl Default for Watched {
    fn default() -> Self {
        let results = Arc::new(Semaphore::new(16));
        Self { sessions: Mutex::default(), changed: Notify::new(), news: Notify::new(), results }
    }
}

#[derive(Clone)]
struct Watching {
    id: String,
    outbox: Outbox,
    hooks: Option<Arc<dyn Hooks>>,
    principal: Option<Arc<str>>,
}

impl Watched {
    /// Notifies the session of a call of a task, until the task or the session ends.
    pub(super) fn watch(&self, call: &Call, hooks: Option<&Arc<dyn Hooks>>, id: &str) {
        let principal = call.caller.as_ref().map(|caller| caller.principal().clone());
        let new = Watching { id: id.to_owned(), outbox: call.outbox.lasting(), hooks: hooks.cloned(), principal };
        let mut sessions = lock(&self.sessions);
        sessions.retain(|watching| !watching.outbox.is_closed());
        if sessions.len() >= SESSIONS {
            return;
        }
        sessions.push(new);
        drop(sessions);
        self.changed.notify_waiters();
    }

    fn ids(&self) -> Vec<String> {
        lock(&self.sessions).iter().map(|watching| watching.id.clone()).collect()
    }

    async fn notify(&self, task: DetailedTask) {
        let of_task: Vec<_> = lock(&self.sessions).iter().filter(|one| one.id == task.task_id).cloned().collect();
        if of_task.is_empty() {
            return;
        }
        if task.status.is_terminal() {
            lock(&self.sessions).retain(|watching| watching.id != task.task_id);
            self.changed.notify_waiters();
        }
        let Ok(params) = RawJson::new(&wire::bare(task)) else { return };
        for Watching { outbox, hooks, principal, .. } in of_task {
            let method = TaskStatusChanged::METHOD;
            let params = match hooks {
                Some(hooks) => hooks.notification(principal.as_deref(), method, JsonText::from(&params)),
                None => Some(JsonText::from(&params)),
            };
            if let Some(params) = params {
                let _ = timeout(NOTIFY, outbox.notify(method, Raw(params.to_raw()))).await;
            }
        }
    }
}

/// Subscribes to tasks at a server with the extension, and forwards its notifications. Never returns.
pub(crate) async fn pass_on(client: &Client, hub: &Hub, tasks: &Tasks) {
    if !TaskForms::are_extension(&client.server().capabilities, client.revision()) {
        return std::future::pending().await;
    }
    let mut backoff = Backoff::default();
    let mut wanted = BTreeSet::new();
    let mut open: Option<Exchange> = None;
    loop {
        if wanted.is_empty() {
            open = None;
            wanted = other_than(hub, tasks, &wanted).await;
            continue;
        }
        // The old subscription ends when the new one has begun.
        open = match listen(client, &wanted) {
            Ok(exchange) => Some(exchange),
            Err(error) => {
                tracing::warn!(%error, "the server rejected a subscription to tasks");
                open
            }
        };
        let since = Instant::now();
        let ended = async {
            let Some(exchange) = &mut open else { return };
            while let Event::Notification { method, params } = exchange.next().await {
                if method == TaskChanged::METHOD {
                    deliver(hub, tasks, &params).await;
                }
            }
        };
        tokio::select! {
            () = ended => {
                backoff.lasted(since.elapsed());
                tokio::time::sleep(backoff.next()).await;
                wanted = wanted_ids(hub, tasks);
            }
            new = other_than(hub, tasks, &wanted) => wanted = new,
        }
    }
}

fn listen(client: &Client, ids: &BTreeSet<String>) -> Result<Exchange, Error> {
    let mut filter = SubscriptionFilter::new();
    filter.others.insert(FILTER, RawJson::new(ids).map_err(broken)?);
    let params = wire::params(&ListenParams::new(filter))?;
    let mut options = RequestOptions::default();
    let mut can = ClientCapabilities::default();
    can.extensions = Some(Map::from_iter([(TASKS_EXTENSION, RawJson::empty_object())]));
    options.capabilities = Some(Arc::new(can));
    client.forward("subscriptions/listen", &params, &options)
}

/// Forwards a notification of the server about a task.
async fn deliver(hub: &Hub, tasks: &Tasks, params: &Params) {
    tasks.watched.news.notify_waiters();
    let Ok(params) = params.without("_meta") else { return };
    let Ok(Some(id)) = params.read_str("taskId") else { return };
    publish(hub, tasks, &id, &params.text().to_raw());
    if let Ok(task) = from_json::<DetailedTask>(params.text().as_str()) {
        tasks.watched.notify(task).await;
    }
}

/// Notifies the callers that are subscribed to a task and may use it.
fn publish(hub: &Hub, tasks: &Tasks, id: &str, params: &RawJson) {
    for topic in hub.topics() {
        if topic.member == FILTER && topic.key == id && tasks.may_use(topic.principal.as_deref(), id) {
            let event = ExtensionEvent::new(FILTER, id, TaskChanged::METHOD, params.clone());
            hub.send(event.for_principal(topic.principal).into());
        }
    }
}

/// Forwards a notification of a session of the server to the callers that are subscribed to the task.
pub(crate) fn status_changed(upstream: &Arc<Upstream>, hub: &Hub, tasks: &Arc<Tasks>, params: &Params) {
    let Ok(task) = params.parse::<Task>() else { return };
    let id = task.task_id.clone();
    if !hub.topics().iter().any(|topic| topic.member == FILTER && topic.key == id) {
        return;
    }
    let Ok(permit) = tasks.watched.results.clone().try_acquire_owned() else { return };
    let (upstream, hub, tasks) = (upstream.clone(), hub.clone(), tasks.clone());
    tokio::spawn(async move {
        if let Ok(Some(task)) = timeout(RESULT, detailed(&upstream, &tasks, task)).await
            && let Ok(params) = RawJson::new(&task)
        {
            publish(&hub, &tasks, &id, &params);
        }
        drop(permit);
    });
}

/// The task with its result. That it requires input is not said: the caller finds the input requests in `tasks/get`.
async fn detailed(upstream: &Upstream, tasks: &Tasks, task: Task) -> Option<DetailedTask> {
    let known = tasks.find(&task.task_id)?;
    let mut detailed = wire::detailed(task);
    match detailed.status {
        TaskStatus::InputRequired => detailed.status = TaskStatus::Working,
        TaskStatus::Completed | TaskStatus::Failed => {
            let params = wire::params(&GetTaskPayloadParams::new(&*detailed.task_id)).ok()?;
            let mut exchange = upstream.client.forward("tasks/result", &params, &RequestOptions::default()).ok()?;
            let answer = loop {
                match exchange.next().await {
                    Event::Notification { .. } => {}
                    Event::Answer(answer) => break answer,
                    Event::Failed(_) | Event::Ended => return None,
                }
            };
            wire::finish(&mut detailed, known.revision()?, answer).ok()?;
        }
        _ => {}
    }
    Some(detailed)
}

/// The tasks to subscribe to, once they differ from `known`.
async fn other_than(hub: &Hub, tasks: &Tasks, known: &BTreeSet<String>) -> BTreeSet<String> {
    loop {
        let changed = tasks.watched.changed.notified();
        let wanted = poll_fn(|cx| {
            hub.watch_interest(cx.waker());
            let wanted = wanted_ids(hub, tasks);
            if wanted == *known { Poll::Pending } else { Poll::Ready(wanted) }
        });
        tokio::select! {
            biased;
            wanted = wanted => return wanted,
            () = changed => {}
        }
    }
}

fn wanted_ids(hub: &Hub, tasks: &Tasks) -> BTreeSet<String> {
    let topics = hub.topics().into_iter();
    let topics = topics.filter(|topic| topic.member == FILTER && tasks.may_use(topic.principal.as_deref(), &topic.key));
    topics.map(|topic| topic.key).chain(tasks.watched.ids()).take(SUBSCRIBED).collect()
}
