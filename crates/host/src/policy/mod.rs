//! The policy: one decision for every way to reach a tool, prompt or resource.
//!
//! [`Policy::decide`] is the only place that decides. Lists, calls, reads, completions, subscriptions, tasks and the requests
//! of a server to its caller all pass it, each with its [`Door`]. Rules match on what the host knows about the target: its
//! server and name, its [`Effect`], the [`Trust`] in its server, the principal, the profile, arguments, and the [`Flow`] of
//! data in the caller's session.
//!
//! This module must not know catalogs, configuration files or the protocol's messages.

mod arguments;
mod decide;
mod effect;
mod explain;
mod flow;
#[cfg(test)]
mod flow_tests;
mod labels;
mod lookup;
mod nearest;
mod parse;
mod path;
mod rule;
mod subject;
#[cfg(test)]
mod tests;
mod trust;

pub use couplet_transform::{Glob, GlobError};
pub use decide::{Layer, Policy};
pub use effect::{Effect, Effects};
pub use flow::{FlowKey, FlowTracker};
pub use labels::{Flow, Labels};
pub use rule::Rule;
pub use subject::{Decision, Door, Subject, Verdict};
pub use trust::Trust;
