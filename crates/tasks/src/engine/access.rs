//! The request on whose behalf the engine works.

use std::sync::Arc;

use couplet_core::BoxFuture;
use couplet_types::RpcError;

use super::{Engine, Live, OnChange};
use crate::record::{Finished, Record};

/// A request about tasks.
pub(crate) trait Access: Send + Sync {
    /// The principal of the caller: it sees its own tasks.
    fn owner(&self) -> Option<&str>;

    /// Notifies subscribers of a change of a task that does not run in this process.
    fn notify(&self, record: &Record) {
        let _ = record;
    }

    /// Returns whether this request can run a task again whose process is gone.
    fn can_rerun(&self, record: &Record) -> bool {
        let _ = record;
        false
    }

    /// The callback for changes of a task that this request runs again.
    fn on_change(&self) -> OnChange {
        Box::new(|_, _| {})
    }

    /// The work of a task that this request runs again.
    fn rerun(&self, engine: &Arc<Engine>, live: &Arc<Live>, record: &Record) -> BoxFuture<'static, Finished> {
        let _ = (engine, live, record);
        Box::pin(async { Finished::Error(RpcError::internal("the task cannot run again")) })
    }
}

/// A request that can only read, cancel and answer.
impl Access for Option<&str> {
    fn owner(&self) -> Option<&str> {
        *self
    }
}
