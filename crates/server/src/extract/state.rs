//! The server's state.

use super::{FromCall, Invocation, Rejection};

/// The server's state, or a part of it. See [`Server::with_state`](crate::Server::with_state).
///
/// ```
/// use couplet_server::{Server, extract::{FromRef, State}, tool};
///
/// #[derive(Clone)]
/// struct Database(&'static str);
///
/// #[derive(Clone)]
/// struct App {
///     database: Database,
/// }
///
/// // A handler can take a part of the state.
/// impl FromRef<App> for Database {
///     fn from_ref(app: &App) -> Self {
///         app.database.clone()
///     }
/// }
///
/// async fn name(State(database): State<Database>) -> &'static str {
///     database.0
/// }
///
/// let server = Server::new("app", "1.0.0").tool(tool("name", name)).with_state(App { database: Database("main") });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct State<T>(pub T);

/// A conversion from a state to a part of it, which is cloned: usually a value behind an `Arc`.
pub trait FromRef<S> {
    /// Clones the part.
    fn from_ref(state: &S) -> Self;
}

impl<S: Clone> FromRef<S> for S {
    fn from_ref(state: &S) -> S {
        state.clone()
    }
}

impl<S: Sync, T: FromRef<S> + Send> FromCall<S> for State<T> {
    async fn from_call(_: &Invocation, state: &S) -> Result<Self, Rejection> {
        Ok(Self(T::from_ref(state)))
    }
}
