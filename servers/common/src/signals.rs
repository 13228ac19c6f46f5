//! Signals that stop a program.

use std::io;

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

/// A listener for SIGINT, SIGTERM and SIGHUP. Once one was created, these signals no longer terminate the process. A
/// SIGHUP that is ignored at startup, as with `nohup`, stays ignored.
#[derive(Debug)]
pub struct Signals(system::Listeners);

impl Signals {
    /// Starts listening.
    ///
    /// # Errors
    /// If a signal handler cannot be registered.
    pub fn new() -> io::Result<Self> {
        system::Listeners::new().map(Self)
    }

    /// Waits for the next signal. Cancel safe: no signal is lost if the future is dropped.
    pub async fn next(&mut self) -> Caught {
        self.0.next().await
    }
}

#[cfg(unix)]
mod system {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::Caught;

    #[derive(Debug)]
    pub(super) struct Listeners {
        interrupt: Signal,
        terminate: Signal,
        hang_up: Option<Signal>,
    }

    impl Listeners {
        pub(super) fn new() -> io::Result<Self> {
            // Checked before a handler is registered, since that ends the ignoring.
            let hang_up = if is_hang_up_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up,
            })
        }

        pub(super) async fn next(&mut self) -> Caught {
            let hang_up = async {
                match &mut self.hang_up {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => Caught::Interrupt,
                _ = self.terminate.recv() => Caught::Terminate,
                _ = hang_up => Caught::HangUp,
            }
        }
    }

    /// Reads the mask of ignored signals from `/proc`, where that exists.
    fn is_hang_up_ignored() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        ignores_hang_up(&status)
    }

    fn ignores_hang_up(status: &str) -> bool {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        // SIGHUP is signal 1, the lowest bit.
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    }

    #[cfg(test)]
    mod tests {
        use super::ignores_hang_up;

        #[test]
        fn nohup_is_detected() {
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

    use super::Caught;

    #[derive(Debug)]
    pub(super) struct Listeners;

    impl Listeners {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) async fn next(&mut self) -> Caught {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            Caught::Interrupt
        }
    }
}
