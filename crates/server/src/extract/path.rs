//! The variables of a resource template.

use serde::de::DeserializeOwned;

use super::{FromCall, Invocation, Rejection, Target};
use crate::strings;

/// The variables of a resource template, parsed into a type: a struct by name, a single value or a tuple by position.
///
/// Values that cannot be parsed are rejected. In an `Option`, a resource that is not a template is `None`.
///
/// ```
/// use couplet_server::{Server, extract::Path, resource};
///
/// async fn square(Path(n): Path<f64>) -> String {
///     (n * n).to_string()
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").resource(resource("calc://square/{n}", square));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

impl<S: Sync, T: DeserializeOwned + Send> FromCall<S> for Path<T> {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        let Target::Resource { variables, .. } = &invocation.target else {
            return Err(Rejection::Arguments("only resources have template variables".to_owned()));
        };
        strings::from_pairs(variables.iter()).map(Path).map_err(Rejection::Arguments)
    }

    /// `None` for a resource that is not a template.
    async fn optional(invocation: &Invocation, state: &S) -> Result<Option<Self>, Rejection> {
        match &invocation.target {
            Target::Resource { variables, .. } if variables.iter().next().is_some() => {
                Self::from_call(invocation, state).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}
