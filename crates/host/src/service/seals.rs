//! The ids that a view gives to clients: each belongs to a principal and a profile.

use std::sync::Arc;

use couplet_core::{Call, Sealer};
use couplet_types::RpcError;

use crate::{
    names::{ServerId, hex},
    pins::Digest,
};

/// The mark of request state that is a server's own, sealed.
const MARK: &str = "u.";

/// The sealer of a view.
pub(crate) struct Seals {
    sealer: Sealer,
    profile: Arc<str>,
}

/// A task at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskRef {
    pub(crate) server: String,
    /// The server's own id.
    pub(crate) id: String,
}

impl Seals {
    pub(crate) fn new(sealer: &Sealer, profile: &Arc<str>) -> Self {
        Self { sealer: sealer.derived(&format!("couplet/host/{profile}")), profile: profile.clone() }
    }

    /// The sealer for the rounds of calls to a server.
    pub(crate) fn rounds(&self, server: &ServerId) -> Sealer {
        self.sealer.derived(server.as_str())
    }

    pub(crate) fn cursor(&self, call: &Call, list: &str, place: &str) -> String {
        self.sealer.seal_id(&self.context("cursor", call.principal(), &[list]), place)
    }

    pub(crate) fn open_cursor(&self, call: &Call, list: &str, cursor: &str) -> Option<String> {
        self.sealer.open_id(&self.context("cursor", call.principal(), &[list]), cursor)
    }

    /// Seals the id of a task. A task has the same sealed id in every message to a principal.
    pub(crate) fn task(&self, principal: Option<&str>, server: &ServerId, id: &str) -> String {
        self.sealer.seal_id(&self.context("task", principal, &[]), &format!("{server}/{id}"))
    }

    pub(crate) fn open_task(&self, principal: Option<&str>, sealed: &str) -> Option<TaskRef> {
        let content = self.sealer.open_id(&self.context("task", principal, &[]), sealed)?;
        let (server, id) = content.split_once('/')?;
        Some(TaskRef { server: server.to_owned(), id: id.to_owned() })
    }

    /// Whether request state is a server's own, sealed here.
    pub(crate) fn is_passed_on(state: &str) -> bool {
        state.starts_with(MARK)
    }

    /// Seals the request state of a server, for one request of one principal.
    ///
    /// # Errors
    /// If it is too long to be opened again.
    pub(crate) fn state(&self, call: &Call, target: RoundTarget<'_>, state: Option<&str>) -> Result<String, RpcError> {
        // The difference between no state and an empty one matters to the server.
        let state = state.map_or_else(|| "-".to_owned(), |state| format!("+{state}"));
        let content = arguments(call) + &state;
        let sealed = self.sealer.seal_id(&self.context("state", call.principal(), &target.parts(call)), &content);
        if sealed.len() > Sealer::LONGEST_ID {
            let (length, target) = (state.len(), target.raw);
            let what = format!("the server's request state for `{target}` is too long for the host: {length} bytes");
            return Err(RpcError::internal(what));
        }
        Ok(format!("{MARK}{sealed}"))
    }

    /// Opens it for the same request.
    pub(crate) fn open_state(&self, call: &Call, target: RoundTarget<'_>, sealed: &str) -> Option<OpenedState> {
        let context = self.context("state", call.principal(), &target.parts(call));
        let content = self.sealer.open_id(&context, sealed.strip_prefix(MARK)?)?;
        let own = arguments(call);
        let (digest, content) = content.split_at_checked(own.len())?;
        let state = match content.split_at_checked(1)? {
            ("-", "") => None,
            ("+", state) => Some(state.to_owned()),
            _ => return None,
        };
        Some(OpenedState { state, is_same: digest == own })
    }

    fn context<'a>(&'a self, what: &'a str, principal: Option<&'a str>, more: &[&'a str]) -> Vec<&'a str> {
        let mut context = vec![what, &*self.profile];
        match principal {
            Some(principal) => context.extend(["principal", principal]),
            None => context.push("anonymous"),
        }
        context.extend(more);
        context
    }
}

/// The request state of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpenedState {
    pub(crate) state: Option<String>,
    /// Whether the arguments are those of the round before.
    pub(crate) is_same: bool,
}

/// A digest of the arguments of a call.
fn arguments(call: &Call) -> String {
    hex(&Digest::of(call.arguments().as_bytes()).as_bytes()[..16])
}

/// The target of a call that has rounds.
#[derive(Clone, Copy)]
pub(crate) struct RoundTarget<'a> {
    pub(crate) server: &'a ServerId,
    /// The server's own name, or the URI.
    pub(crate) raw: &'a str,
}

impl<'a> RoundTarget<'a> {
    fn parts(self, call: &'a Call) -> [&'a str; 3] {
        [self.server.as_str(), &call.method, self.raw]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s12_a_task_id_of_another_principal_or_profile_does_not_open() {
        let sealer = Sealer::new([7; 32]);
        let (work, home) = (Seals::new(&sealer, &"work".into()), Seals::new(&sealer, &"home".into()));
        let files = ServerId::parse("files").unwrap();
        let task = TaskRef { server: "files".into(), id: "1/2".into() };
        let sealed = work.task(Some("ann"), &files, "1/2");
        assert_eq!(work.open_task(Some("ann"), &sealed), Some(task));
        assert_eq!(work.open_task(Some("bob"), &sealed), None);
        assert_eq!(work.open_task(None, &sealed), None);
        assert_eq!(home.open_task(Some("ann"), &sealed), None);
        let anonymous = work.task(None, &files, "1");
        assert_eq!(work.open_task(Some("anonymous"), &anonymous), None);
        assert!(work.open_task(None, &anonymous).is_some());
    }
}
