//! What tools, resources and prompts have in common once they are registered.

use std::{collections::BTreeMap, panic::Location, sync::Arc};

use couplet_core::BoxFuture;

use crate::{
    extract::{Completing, Invocation, Rejection},
    handler::Handler,
    reply::{CompleteKind, Kind},
};

/// A handler whose type is forgotten.
pub(crate) type Run<K, S> =
    Arc<dyn Fn(Invocation, S) -> BoxFuture<'static, Result<<K as Kind>::Result, Rejection>> + Send + Sync>;

/// Forgets the type of a handler: from here on everything is one type.
pub(crate) fn erase<K: Kind, M, S: 'static, H: Handler<K, M, S>>(handler: H) -> Run<K, S> {
    Arc::new(move |invocation, state| handler.clone().call(invocation, state))
}

/// Something with a name that is registered at a place in the program.
pub(crate) trait Definition: Send + Sync + 'static {
    /// What it is called.
    const WHAT: &'static str;

    /// The name or the URI: unique among its kind.
    fn key(&self) -> &str;

    /// Where it was registered.
    fn place(&self) -> &'static Location<'static>;
}

/// The completions of one prompt or template: argument to handler.
pub(crate) type Completions<S> = BTreeMap<String, Run<CompleteKind, S>>;

/// Adds a completion.
pub(crate) fn complete_with<S: 'static, M, H: Handler<CompleteKind, M, S>>(
    completions: &mut Completions<S>,
    argument: impl Into<String>,
    handler: H,
) {
    completions.insert(argument.into(), erase::<CompleteKind, M, S, H>(handler));
}

/// A completion that offers what begins with what was typed.
pub(crate) fn choices(values: Vec<String>) -> impl Fn(Completing) -> Vec<String> + Clone + Send + Sync + 'static {
    let values: Arc<[String]> = values.into();
    move |typed: Completing| {
        let wanted = typed.value.to_lowercase();
        values.iter().filter(|v| v.to_lowercase().starts_with(&wanted)).cloned().collect()
    }
}

/// Gives a handler its state.
pub(crate) fn bind<K: Kind, S: Clone + Send + Sync + 'static>(run: Run<K, S>, state: &S) -> Run<K, ()> {
    let state = state.clone();
    Arc::new(move |invocation, ()| run(invocation, state.clone()))
}

/// Gives completions their state.
pub(crate) fn bind_all<S: Clone + Send + Sync + 'static>(completions: Completions<S>, state: &S) -> Completions<()> {
    completions.into_iter().map(|(argument, run)| (argument, bind::<CompleteKind, S>(run, state))).collect()
}
