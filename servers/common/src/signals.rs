//! The signals that end a program.

use std::io;

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

/// Listens for SIGINT, SIGTERM and SIGHUP. From the first one of these on, the signals do not end the process by
/// themselves. A SIGHUP that the process was started to ignore, as `nohup` does, stays ignored.
#[derive(Debug)]
pub struct Signals(system::Listeners);

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn new() -> io::Result<Self> {
        system::Listeners::new().map(Self)
    }

    /// Waits for the next signal. Dropping the future loses none.
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
            // Looked at before anything is installed; afterwards it is not ignored any more.
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

    /// What the kernel says, where it says it in a file.
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
