//! The common parts of the definitions of tools, resources and prompts.

use std::{
    collections::{BTreeMap, HashMap},
    panic::Location,
    sync::Arc,
};

use couplet_core::BoxFuture;

use crate::{
    extract::{Completing, Invocation, Rejection},
    handler::Handler,
    reply::{CompleteKind, Kind},
    scopes::Scopes,
};

/// A type-erased handler.
pub(crate) type Run<K, S> =
    Arc<dyn Fn(Invocation, S) -> BoxFuture<'static, Result<<K as Kind>::Result, Rejection>> + Send + Sync>;

/// Erases the type of a handler.
pub(crate) fn erase<K: Kind, M, S: 'static, H: Handler<K, M, S>>(handler: H) -> Run<K, S> {
    Arc::new(move |invocation, state| handler.clone().call(invocation, state))
}

/// A tool, a resource or a prompt that was registered.
pub(crate) trait Definition: Send + Sync + 'static {
    /// The kind, for error messages.
    const WHAT: &'static str;

    /// The name or the URI: unique among its kind.
    fn key(&self) -> &str;

    /// The place in the program that registered it.
    fn place(&self) -> &'static Location<'static>;

    /// The scopes that its callers must have.
    fn scopes(&self) -> &Scopes;
}

/// Checks that no two definitions have the same key.
///
/// # Errors
/// If two do, with both places.
pub(crate) fn check_unique<D: Definition>(definitions: &[D]) -> Result<(), String> {
    let mut known = HashMap::new();
    definitions.iter().try_for_each(|definition| match known.insert(definition.key(), definition) {
        Some(other) => Err(registered_twice(other, definition)),
        None => Ok(()),
    })
}

/// The error for two definitions of one key.
pub(crate) fn registered_twice<D: Definition>(first: &D, second: &D) -> String {
    let (what, key) = (D::WHAT, second.key());
    format!("there are two {what}s called `{key}`: one registered at {}, one at {}", first.place(), second.place())
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

/// A completion that offers the values that begin with the text so far, ignoring case.
pub(crate) fn choices(values: Vec<String>) -> impl Fn(Completing) -> Vec<String> + Clone + Send + Sync + 'static {
    let values: Arc<[String]> = values.into();
    move |typed: Completing| {
        let wanted = typed.value.to_lowercase();
        values.iter().filter(|v| v.to_lowercase().starts_with(&wanted)).cloned().collect()
    }
}

/// Binds a handler to its state.
pub(crate) fn bind<K: Kind, S: Clone + Send + Sync + 'static>(run: Run<K, S>, state: &S) -> Run<K, ()> {
    let state = state.clone();
    Arc::new(move |invocation, ()| run(invocation, state.clone()))
}

/// Binds completions to their state.
pub(crate) fn bind_all<S: Clone + Send + Sync + 'static>(completions: Completions<S>, state: &S) -> Completions<()> {
    completions.into_iter().map(|(argument, run)| (argument, bind::<CompleteKind, S>(run, state))).collect()
}
