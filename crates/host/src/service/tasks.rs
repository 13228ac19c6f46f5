//! Tasks at the servers of a view, by sealed ids.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use couplet_core::{Call, JsonText, Reply, sync::lock};
use couplet_types::{RpcError, TASKS_EXTENSION};

use crate::{
    names::{Kind, ServerId},
    policy::{Door, Effects, Labels},
    service::{
        View,
        run::{Aim, Flight, Goal},
        snapshot::Snapshot,
    },
};

/// The most tasks whose tools are known.
const MOST: usize = 4096;

/// The tools that created tasks, for the policy. A task whose tool is not known is decided by its server.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Known>);

#[derive(Default)]
struct Known {
    tools: HashMap<(ServerId, String), Arc<str>>,
    order: VecDeque<(ServerId, String)>,
}

impl Tasks {
    /// Notes the tool of a task.
    pub(crate) fn note(&self, server: &ServerId, task: &str, tool: &Arc<str>) {
        let mut known = lock(&self.0);
        let key = (server.clone(), task.to_owned());
        if tool.is_empty() || known.tools.contains_key(&key) {
            return;
        }
        if known.order.len() >= MOST
            && let Some(oldest) = known.order.pop_front()
        {
            known.tools.remove(&oldest);
        }
        known.order.push_back(key.clone());
        known.tools.insert(key, tool.clone());
    }

    fn tool(&self, server: &ServerId, task: &str) -> Arc<str> {
        lock(&self.0).tools.get(&(server.clone(), task.to_owned())).cloned().unwrap_or_default()
    }
}

impl View {
    /// A request about a task.
    pub(crate) async fn task(self, mut call: Call) -> Reply {
        if !call.revision.has_sessions() && call.peer.extension(TASKS_EXTENSION).is_none() {
            return call.revision.missing_extension(TASKS_EXTENSION).into();
        }
        let snapshot = self.snapshot();
        let sealed = match call.params.read::<String>("taskId") {
            Ok(sealed) => sealed,
            Err(error) => return error.into(),
        };
        let found = self.seals().open_task(call.principal(), &sealed).and_then(|task| {
            let at = snapshot.members.iter().position(|member| member.id().as_str() == task.server)?;
            Some((at, task.id))
        });
        let Some((member, id)) = found else { return unknown() };
        call.params = match call.params.with("taskId", &JsonText::string(&id)) {
            Ok(params) => params,
            Err(fault) => return RpcError::invalid_params(fault.to_string()).into(),
        };
        let item = self.task_aim(&snapshot, member, &id);
        let goal = Goal { exposed: sealed.into(), item, door: Door::Task, splice: false };
        Flight { view: &self, snapshot: &snapshot, goal: &goal }.run(call).await
    }
}

impl View {
    /// The tool of a task, for the policy.
    pub(crate) fn task_aim(&self, snapshot: &Snapshot, member: usize, id: &str) -> Aim {
        let raw = self.inner().tasks.tool(snapshot.members[member].id(), id);
        let known = snapshot.tools.entries().iter().find(|entry| entry.value.member == member && entry.raw == raw);
        match known {
            Some(entry) => (&entry.value).into(),
            None => Aim {
                member,
                kind: Kind::Tool,
                raw,
                effects: Effects::STRICTEST,
                labels: Labels::NONE,
                definition: None,
                template: None,
            },
        }
    }
}

/// The error for a task that does not exist, or that belongs to another principal.
pub(crate) fn unknown() -> Reply {
    RpcError::invalid_params("there is no such task").into()
}
