//! The timeouts of a call at the server.

use std::time::Duration;

use couplet_core::{Error, ErrorKind};
use tokio::time::{Instant, timeout_at};

/// The timeouts of calls; `None` is no timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// The time without any message of the server about the call.
    pub(crate) idle: Option<Duration>,
    /// The time in total.
    pub(crate) total: Option<Duration>,
}

/// The deadline of one call. The time in which its caller answers a request of the server does not count.
pub(crate) struct Deadline {
    timeouts: Timeouts,
    /// The time that the server has used.
    used: Duration,
}

impl Deadline {
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, used: Duration::ZERO }
    }

    /// Waits for the next message of the server.
    pub(crate) async fn wait<T>(
        &mut self,
        method: &str,
        next: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Timeouts { idle, total } = self.timeouts;
        let rest = total.map(|total| total.saturating_sub(self.used));
        let Some(limit) = idle.into_iter().chain(rest).min() else { return next.await };
        let began = Instant::now();
        // A limit that no clock reaches is none.
        let Some(deadline) = began.checked_add(limit) else { return next.await };
        let next = timeout_at(deadline, next).await;
        self.used += began.elapsed();
        next.unwrap_or_else(|_| {
            let what = match total {
                Some(total) if idle.is_none_or(|idle| limit < idle) => format!("within {total:?}"),
                _ => format!("within {limit:?} after its last message"),
            };
            Err(Error::new(ErrorKind::Timeout, format!("`{method}` was not answered {what} and was cancelled")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn message(after: u64) -> Result<(), Error> {
        tokio::time::sleep(Duration::from_secs(after)).await;
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn messages_restart_the_idle_timeout_but_not_the_total_one() {
        let timeouts = Timeouts { idle: Some(Duration::from_secs(60)), total: Some(Duration::from_secs(150)) };
        let mut deadline = Deadline::new(timeouts);
        deadline.wait("tools/call", message(59)).await.unwrap();
        // A caller that thinks for an hour.
        tokio::time::sleep(Duration::from_secs(3600)).await;
        deadline.wait("tools/call", message(59)).await.unwrap();
        let error = deadline.wait("tools/call", message(59)).await.unwrap_err();
        assert_eq!(error.to_string(), "`tools/call` was not answered within 150s and was cancelled");
        let error = Deadline::new(timeouts).wait("tools/call", message(61)).await.unwrap_err();
        let text = "`tools/call` was not answered within 60s after its last message and was cancelled";
        assert_eq!((error.is_timeout(), error.to_string().as_str()), (true, text));
    }

    #[tokio::test(start_paused = true)]
    async fn without_timeouts_a_call_may_take_for_ever() {
        Deadline::new(Timeouts::default()).wait("tools/call", message(1_000_000)).await.unwrap();
        let longest = Timeouts { idle: Some(Duration::MAX), total: None };
        Deadline::new(longest).wait("tools/call", message(1_000_000)).await.unwrap();
    }
}
