//! A server on the standard input and output of its process.

use std::sync::Arc;

use couplet_core::{BoxFuture, Error, Limits, Service, Transport};

use crate::{ends, pipe::pipe};

/// The standard input and output of this process, as a place to serve a server on.
///
/// The client that started the process writes one message per line and closes the input when it is done: everything
/// that was asked until then is answered, and serving ends with `Ok`. Standard output belongs to the protocol from now
/// on; whatever else the program has to say goes to standard error.
///
/// The runtime must have its I/O driver enabled, as `#[tokio::main]` does. One thread is enough, and with
/// `flavor = "current_thread"` no message has to cross from one thread to another.
///
/// ```
/// use std::sync::Arc;
/// use couplet_core::{Error, Limits, Service, Transport};
/// use couplet_stdio::stdio;
///
/// async fn serve(service: Arc<dyn Service>) -> Result<(), Error> {
///     stdio().serve(service, Limits::default()).await
/// }
/// ```
pub fn stdio() -> Stdio {
    Stdio { _private: () }
}

/// Standard input and output; made by [`stdio`].
#[derive(Debug)]
pub struct Stdio {
    _private: (),
}

impl Transport for Stdio {
    fn serve(self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { pipe(ends::input()?, ends::output()).serve(service, limits).await })
    }
}
