//! Tasks, which are the same in every revision that has them.

use couplet_types::{
    CancelTaskParams, CreateTaskResult, DetailedTask, GetTaskParams, GetTaskPayloadParams, GetTaskPayloadResult,
    ListTasksResult, Task, UpdateTaskParams,
};

use super::{project::Project, revision::Revision};

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
