//! A connection to a child process, from the first message to the end of the process.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    process::ExitStatus,
    task::Poll,
    time::Duration,
};

use couplet_core::{
    ClientConnection, Error, ErrorKind,
    pump::{End, Pump},
};
use tokio::time::timeout;

use crate::{
    child::{Exit, Process},
    leash::Closing,
    stderr::Capture,
    streams::LineStream,
};
use Either::{First, Second};

/// A running server, with a client connected to it.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) pump: Pump<ClientConnection, LineStream>,
    pub(crate) closing: Closing,
    pub(crate) grace: Duration,
}

/// The side that ended the connection.
enum Cause {
    Client,
    Server,
    Failure(Error),
}

impl Running {
    /// The time to read standard error after the end of the program: everything is in the pipe already, unless another
    /// process holds it open.
    const LAST_WORDS: Duration = Duration::from_millis(200);

    /// Runs the connection from its first message to its end, and the server to its own.
    pub(crate) async fn drive(mut self, mut stderr: Capture) -> Result<(), Error> {
        let (cause, exit) = match race(self.live(), stderr.keep_listening()).await {
            First(end) => end,
            Second(never) => match never {},
        };
        let _ = timeout(Self::LAST_WORDS, stderr.listen()).await;
        let result = verdict(cause, &exit, &stderr);
        let why = result.as_ref().err().map_or_else(|| "the connection was closed".to_owned(), ToString::to_string);
        tracing::debug!(server = %stderr.server, ?exit, "{why}");
        self.pump.connection().end_input(&why);
        result
    }

    /// From the first message to the end of the process.
    async fn live(&mut self) -> (Cause, Exit) {
        let cause = self.talk().await;
        if !matches!(cause, Cause::Client) {
            // What the server sent before it was gone still counts.
            let _ = timeout(self.grace, self.pump.receive_rest()).await;
        }
        let stream = self.pump.stream();
        stream.close_output();
        // A server that cannot get rid of its output might not end.
        match race(self.process.stop(), stream.discard()).await {
            First(exit) => (cause, exit),
            Second(never) => match never {},
        }
    }

    async fn talk(&mut self) -> Cause {
        let end = match race(self.pump.run(), race(self.process.ended(), self.closing.closed())).await {
            First(end) => end,
            Second(First(())) => return Cause::Server,
            // What was sent is still delivered, if the server takes it.
            Second(Second(())) => timeout(self.grace, self.pump.run()).await.unwrap_or(End::Done),
        };
        match end {
            // A client that has closed the connection does not fail because the server has closed it too.
            _ if self.closing.is_closed() => Cause::Client,
            End::Eof => Cause::Server,
            end => end.into_result("server").map_or_else(Cause::Failure, |()| Cause::Client),
        }
    }
}

/// The result of the connection: how the server exited if it did so by itself, and what went wrong otherwise.
fn verdict(cause: Cause, exit: &Exit, stderr: &Capture) -> Result<(), Error> {
    let name = &stderr.server;
    let what = match (&cause, exit) {
        (Cause::Client, _) => return Ok(()),
        (_, Exit::Itself(status)) => format!("the server `{name}` {}", describe(*status)),
        (Cause::Server, Exit::Forced) => format!("the server `{name}` closed its standard output"),
        (Cause::Failure(error), Exit::Forced) => format!("lost the server `{name}`: {error}"),
    };
    let what = match stderr.tail.last_words() {
        Some(words) => format!("{what}; its last words: {words}"),
        None => what,
    };
    Err(match cause {
        Cause::Failure(error) => Error::new(error.kind(), what).with_source(error),
        Cause::Client | Cause::Server => Error::new(ErrorKind::Closed, what),
    })
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was killed by signal {signal}");
    }
    status.code().map_or_else(|| format!("ended: {status}"), |code| format!("exited with status {code}"))
}

enum Either<A, B> {
    First(A),
    Second(B),
}

/// Waits for the first of two futures and drops the other, which must be cancel safe.
async fn race<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|cx| {
        if let Poll::Ready(output) = a.as_mut().poll(cx) {
            return Poll::Ready(First(output));
        }
        b.as_mut().poll(cx).map(Second)
    })
    .await
}
