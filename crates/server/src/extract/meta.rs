//! The smaller extractors.

use couplet_types::{CompletionContext, Map, Meta};

use super::{FromCall, Invocation, Rejection, Target};

impl<S: Sync> FromCall<S> for Meta {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        Ok(invocation.call.meta()?)
    }
}

/// The URI of the resource that is read, as the client sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(pub String);

impl<S: Sync> FromCall<S> for Uri {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        match &invocation.target {
            Target::Resource { uri, .. } => Ok(Self(uri.clone())),
            _ => Err(Rejection::Arguments("only resources have a URI".to_owned())),
        }
    }

    async fn optional(invocation: &Invocation, state: &S) -> Result<Option<Self>, Rejection> {
        Ok(Self::from_call(invocation, state).await.ok())
    }
}

/// A completion request: the text so far, and the arguments that are known already.
///
/// ```
/// use couplet_server::{Server, extract::{Completing, Path}, resource};
///
/// fn names(typed: Completing) -> Vec<String> {
///     ["ada", "alan"].into_iter().filter(|n| n.starts_with(&typed.value)).map(String::from).collect()
/// }
///
/// let person = resource("people://{name}", |Path(name): Path<String>| name).complete("name", names);
/// # let server: Server = Server::new("a", "1").resource(person);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Completing {
    /// The text so far.
    pub value: String,
    /// The arguments that are known already.
    pub arguments: Map<String>,
}

impl<S: Sync> FromCall<S> for Completing {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        match &invocation.target {
            Target::Completion { value, context } => {
                let CompletionContext { arguments, .. } = context.clone();
                Ok(Self { value: value.clone(), arguments: arguments.unwrap_or_default() })
            }
            _ => Err(Rejection::Arguments("only completions have a text to complete".to_owned())),
        }
    }

    async fn optional(invocation: &Invocation, state: &S) -> Result<Option<Self>, Rejection> {
        Ok(Self::from_call(invocation, state).await.ok())
    }
}
