//! Functions as handlers: parameters are extracted from the call, the result becomes the reply.

use std::future::Future;

use couplet_core::BoxFuture;

use crate::{
    extract::{FromCall, Invocation, Rejection},
    reply::{IntoReply, Kind},
    signature::Signature,
};

/// A function that can be the handler of a tool, a resource, a prompt or a completion.
///
/// It is implemented for every function, `async` or not, with at most 8 parameters, whose parameters are
/// [extractors](crate::extract) and whose result is an [`IntoReply`] of the kind `K`. The marker `M` lets the compiler tell
/// the implementations apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler",
    note = "every parameter must be an extractor (`Args`, `State`, `Ctx`, `Path`, `Meta`, ...)",
    note = "the result must be one that {K} can have, or a `Result` of one"
)]
pub trait Handler<K: Kind, M, S>: Clone + Send + Sync + 'static {
    /// Whether the function is `async`, so that it can wait without blocking its connection.
    const IS_ASYNC: bool = true;

    /// Records the needs of the parameters and the result in the handler's signature.
    fn describe(signature: &mut Signature);

    /// Extracts the parameters and runs the function.
    fn call(self, invocation: Invocation, state: S) -> BoxFuture<'static, Result<K::Result, Rejection>>;
}

/// The marker of `async` functions.
#[derive(Debug)]
pub enum Async {}

/// The marker of functions that are not `async`.
#[derive(Debug)]
pub enum Plain {}

/// The markers of functions that are not `async`: only they can run on a thread for blocking work. This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "only a function that is not `async` can be `blocking`",
    note = "an `async` function waits with `.await`; move what blocks into `tokio::task::spawn_blocking`"
)]
pub trait Synchronous: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! handlers {
    ($($param:ident),*) => {
        impl<$($param,)*> Synchronous for (Plain, $($param,)*) {}

        impl<$($param,)*> sealed::Sealed for (Plain, $($param,)*) {}

        #[diagnostic::do_not_recommend]
        #[allow(non_snake_case, unused_variables, reason = "the parameters are named like their types, and may be none")]
        impl<K, F, Fut, S, $($param,)*> Handler<K, (Async, $($param,)*), S> for F
        where
            K: Kind,
            F: FnOnce($($param),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future + Send,
            Fut::Output: IntoReply<K>,
            S: Send + Sync + 'static,
            $($param: FromCall<S> + Send,)*
        {
            fn describe(signature: &mut Signature) {
                $($param::describe(signature);)*
                <Fut::Output as IntoReply<K>>::describe(signature);
            }

            fn call(self, invocation: Invocation, state: S) -> BoxFuture<'static, Result<K::Result, Rejection>> {
                Box::pin(async move {
                    $(let $param = $param::from_call(&invocation, &state).await?;)*
                    self($($param),*).await.into_reply(&invocation)
                })
            }
        }

        #[diagnostic::do_not_recommend]
        #[allow(non_snake_case, unused_variables, reason = "the parameters are named like their types, and may be none")]
        impl<K, F, R, S, $($param,)*> Handler<K, (Plain, $($param,)*), S> for F
        where
            K: Kind,
            F: FnOnce($($param),*) -> R + Clone + Send + Sync + 'static,
            R: IntoReply<K>,
            S: Send + Sync + 'static,
            $($param: FromCall<S> + Send,)*
        {
            const IS_ASYNC: bool = false;

            fn describe(signature: &mut Signature) {
                $($param::describe(signature);)*
                R::describe(signature);
            }

            fn call(self, invocation: Invocation, state: S) -> BoxFuture<'static, Result<K::Result, Rejection>> {
                Box::pin(async move {
                    $(let $param = $param::from_call(&invocation, &state).await?;)*
                    self($($param),*).into_reply(&invocation)
                })
            }
        }
    };
}

handlers!();
handlers!(A);
handlers!(A, B);
handlers!(A, B, C);
handlers!(A, B, C, D);
handlers!(A, B, C, D, E);
handlers!(A, B, C, D, E, G);
handlers!(A, B, C, D, E, G, H);
handlers!(A, B, C, D, E, G, H, I);
