//! Tasks, which are the same in every revision that has them.

use couplet_types::{
    CancelTaskParams, CreateTaskResult, DetailedTask, GetTaskParams, GetTaskPayloadParams, GetTaskPayloadResult,
    ListTasksResult, RelatedTask, Task, UpdateTaskParams,
};

use super::{project::Project, revision::Revision};
use crate::{
    message::{Params, scan::JsonText},
    service::ResultBody,
};

macro_rules! as_is {
    ($($type:ty),*) => {$(
        impl Project for $type {
            fn project(&mut self, _: Revision) {}
        }
    )*};
}

as_is!(CancelTaskParams, GetTaskParams, GetTaskPayloadParams, GetTaskPayloadResult, UpdateTaskParams);

/// The encoder adds the kind of a result.
macro_rules! results {
    ($($type:ty),*) => {$(
        impl Project for $type {
            fn project(&mut self, _: Revision) {
                self.result_type = None;
            }
        }
    )*};
}

results!(CreateTaskResult, DetailedTask, ListTasksResult, Task);

/// Replaces the ids of tasks in messages, for a program between a client and several servers.
///
/// ```
/// use couplet_core::{JsonText, TaskIds};
///
/// let params = JsonText::new(r#"{"taskId":"17","status":"working"}"#)?;
/// let mapped = TaskIds::map_params(params, &|id| format!("files-{id}"));
/// assert_eq!(mapped.as_str(), r#"{"taskId":"files-17","status":"working"}"#);
/// # Ok::<(), couplet_core::Fault>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TaskIds;

impl TaskIds {
    /// Replaces the id in the parameters of a notification or a request: the member `taskId`, and the related task in
    /// `_meta`.
    pub fn map_params(params: JsonText, map: &dyn Fn(&str) -> String) -> JsonText {
        let Ok(members) = Params::from_text(params.clone()) else { return params };
        let related = members.valid_meta().and_then(|meta| with_id(meta, RelatedTask::KEY, map));
        let params = match &related {
            Some(meta) => members.with("_meta", meta.text()).map_or(params, |members| members.text().clone()),
            None => params,
        };
        own_id(&params, map).unwrap_or(params)
    }

    /// Replaces the id of a result that is a task, or that announces one. The related task in `_meta` is replaced, too.
    #[must_use]
    pub fn map_result(done: ResultBody, map: &dyn Fn(&str) -> String) -> ResultBody {
        let done = Self::map_related(done, map);
        let members = done.members();
        let announced = || {
            let all = Params::from_text(members.clone()).ok()?;
            let task = own_id(&all.get("task")?, map)?;
            Some(all.with("task", &task).ok()?.text().clone())
        };
        match own_id(&members, map).or_else(announced) {
            Some(members) => done.with_members(&members),
            None => done,
        }
    }

    /// Replaces the id of the related task in the `_meta` of any result.
    #[must_use]
    pub fn map_related(mut done: ResultBody, map: &dyn Fn(&str) -> String) -> ResultBody {
        let related =
            done.meta.as_mut().and_then(|meta| meta.get(RelatedTask::KEY).cloned().map(|value| (meta, value)));
        if let Some((meta, value)) = related
            && let Some(value) = own_id(&JsonText::from(&value), map)
        {
            meta.insert(RelatedTask::KEY, value.to_raw());
        }
        done
    }
}

/// The object with another `taskId`, if it has one.
fn own_id(object: &JsonText, map: &dyn Fn(&str) -> String) -> Option<JsonText> {
    let members = Params::from_text(object.clone()).ok()?;
    let id = members.read_str("taskId").ok()??;
    let mapped = members.with("taskId", &JsonText::string(&map(&id))).ok()?;
    Some(mapped.text().clone())
}

/// The object with another `taskId` in one of its members.
fn with_id(object: &Params, key: &str, map: &dyn Fn(&str) -> String) -> Option<Params> {
    object.with(key, &own_id(&object.get(key)?, map)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str) -> JsonText {
        JsonText::new(of.to_owned()).unwrap()
    }

    #[test]
    fn the_id_is_replaced_wherever_a_message_has_it() {
        let map = |id: &str| format!("x-{id}");
        let related = r#"{"a":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"},"k":2}}"#;
        let mapped = TaskIds::map_params(text(related), &map);
        let expected = r#"{"a":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x-7"},"k":2}}"#;
        assert_eq!(mapped.parse::<serde_json::Value>().unwrap(), text(expected).parse::<serde_json::Value>().unwrap());
        for (before, after) in [
            (r#"{"taskId":"7","status":"working"}"#, r#"{"taskId":"x-7","status":"working"}"#),
            (r#"{"task":{"ttl":1.0,"taskId":"7"},"z":1}"#, r#"{"task":{"ttl":1.0,"taskId":"x-7"},"z":1}"#),
            (r#"{"content":[]}"#, r#"{"content":[]}"#),
            (r#"{"taskId":7}"#, r#"{"taskId":7}"#),
        ] {
            let done = TaskIds::map_result(ResultBody::uncached_json(&text(before)), &map);
            assert_eq!(done.members().as_str(), after);
        }
        let done = TaskIds::map_related(ResultBody::uncached_json(&text(related)), &map);
        assert!(done.text().as_str().contains(r#""taskId":"x-7""#));
        assert_eq!(done.members().as_str(), r#"{"a":1}"#);
    }
}
