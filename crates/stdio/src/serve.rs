//! A server on the standard input and output of its process.

use std::{fmt, sync::Arc};

use couplet_core::{BoxFuture, Error, Limits, Service, Transport};

use crate::{
    ends,
    pipe::pipe,
    until::{Signal, Until},
};

/// Creates a transport on the standard input and output of this process.
///
/// The client that started the process writes one message per line and closes the input when it is done: everything
/// that was asked until then is answered, and serving ends with `Ok`. Standard output belongs to the protocol from now
/// on; log to standard error.
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
    Stdio { signal: None }
}

/// Standard input and output; made by [`stdio`].
pub struct Stdio {
    signal: Option<Signal>,
}

impl Stdio {
    /// Stops reading when the future is ready, as if the client had closed the input: the calls that run are finished
    /// and answered, then serving ends.
    #[must_use]
    pub fn with_graceful_shutdown(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.signal = Some(Box::pin(signal));
        self
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio").finish_non_exhaustive()
    }
}

impl Transport for Stdio {
    fn serve(self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move {
            let input = ends::input()?;
            match self.signal {
                None => pipe(input, ends::output()).serve(service, limits).await,
                Some(signal) => pipe(Until::new(input, signal), ends::output()).serve(service, limits).await,
            }
        })
    }
}
