//! Signals that end a program, and graceful shutdown when one arrives.
//!
//! ```no_run
//! use couplet::{http, prelude::*, signal};
//!
//! # async fn run() -> couplet::Result<()> {
//! let transport = http::listen("127.0.0.1:8080").with_graceful_shutdown(signal::shutdown());
//! Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).serve(transport).await
//! # }
//! ```

use std::{future::Future, io, pin::pin, time::Duration};

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

/// A listener for SIGINT, SIGTERM and SIGHUP; on systems other than Unix, for Ctrl-C. Once it exists, these signals do not
/// end the process by themselves any more. A SIGHUP that the process was started to ignore, as `nohup` does, stays
/// ignored.
#[derive(Debug)]
pub struct Signals(system::Listeners);

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the system does not allow it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new() -> io::Result<Self> {
        system::Listeners::new().map(Self)
    }

    /// Starts to listen for SIGINT and SIGTERM, for a program to which SIGHUP means something else, such as reloading its
    /// configuration.
    ///
    /// # Errors
    /// If the system does not allow it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn without_hang_up() -> io::Result<Self> {
        system::Listeners::without_hang_up().map(Self)
    }

    /// Waits for the next signal. Cancel safe: dropping the future loses no signal.
    pub async fn next(&mut self) -> Signal {
        self.0.next().await
    }
}

/// Waits for the first signal that ends a program, for `with_graceful_shutdown`. It listens from its first poll on; without
/// permission to listen it never completes.
pub async fn shutdown() {
    match Signals::new() {
        Ok(mut signals) => drop(signals.next().await),
        Err(_) => std::future::pending().await,
    }
}

/// Serves until `serving` is done or a signal arrives. Then `begin_shutdown` is called, and `serving` has `grace` to finish
/// running calls. A second signal ends it at once, and so does the end of the grace period.
///
/// # Errors
/// The errors of `serving`.
pub async fn serve_until_signal<E>(
    mut signals: Signals,
    serving: impl Future<Output = Result<(), E>>,
    begin_shutdown: impl FnOnce(),
    grace: Duration,
) -> Result<(), E> {
    /// The transport has the same grace period, and logs how it ended.
    const LATE: Duration = Duration::from_millis(500);
    let mut serving = pin!(serving);
    let signal = tokio::select! {
        done = &mut serving => return done,
        signal = signals.next() => signal,
    };
    tracing::info!(?signal, "graceful shutdown: waiting for running calls");
    begin_shutdown();
    tokio::select! {
        done = tokio::time::timeout(grace + LATE, serving) => done.unwrap_or(Ok(())),
        signal = signals.next() => {
            tracing::warn!(?signal, "running calls are cancelled");
            Ok(())
        }
    }
}

#[cfg(unix)]
mod system {
    use std::io;

    use tokio::signal::unix::{self, SignalKind, signal};

    use super::Signal;

    #[derive(Debug)]
    pub(super) struct Listeners {
        interrupt: unix::Signal,
        terminate: unix::Signal,
        hang_up: Option<unix::Signal>,
    }

    impl Listeners {
        pub(super) fn new() -> io::Result<Self> {
            // Before a handler is installed, which would end the ignoring.
            let hang_up = if is_hang_up_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
            Ok(Self { hang_up, ..Self::without_hang_up()? })
        }

        pub(super) fn without_hang_up() -> io::Result<Self> {
            let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            Ok(Self { interrupt, terminate, hang_up: None })
        }

        pub(super) async fn next(&mut self) -> Signal {
            let hang_up = async {
                match &mut self.hang_up {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => Signal::Interrupt,
                _ = self.terminate.recv() => Signal::Terminate,
                _ = hang_up => Signal::HangUp,
            }
        }
    }

    /// Whether SIGHUP is ignored, on systems that say so in a file.
    fn is_hang_up_ignored() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        ignores_hang_up(&status)
    }

    fn ignores_hang_up(status: &str) -> bool {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        // SIGHUP is the first signal.
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    }

    #[cfg(test)]
    mod tests {
        use super::ignores_hang_up;

        #[test]
        fn nohup_is_seen() {
            for (status, ignored) in [
                ("Name:\tx\nSigIgn:\t0000000000001001\n", true),
                ("Name:\tx\nSigIgn:\t0000000000001000\n", false),
                ("", false),
            ] {
                assert_eq!(ignores_hang_up(status), ignored, "{status}");
            }
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use super::Signal;

    #[derive(Debug)]
    pub(super) struct Listeners;

    impl Listeners {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn without_hang_up() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) async fn next(&mut self) -> Signal {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            Signal::Interrupt
        }
    }
}
