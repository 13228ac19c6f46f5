//! The driver of a connection.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use couplet_core::{Error, ErrorKind};
use tokio::{task::JoinSet, time::timeout};

use super::shared::{Shared, Work};

/// The timeout for each step of a graceful close: delivering what was sent, and ending the session.
const GRACE: Duration = Duration::from_secs(2);

/// A connection that ends when this is dropped.
pub(crate) struct Driven(pub(crate) Arc<Shared>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.end(Err(Error::new(ErrorKind::Closed, "the connection was dropped")));
        self.0.forget_work();
    }
}

/// Runs the jobs of a connection until it is closed.
pub(crate) async fn drive(driven: Driven) -> Result<(), Error> {
    let shared = &driven.0;
    let (mut jobs, mut mail) = (JoinSet::new(), JoinSet::new());
    let end = poll_fn(|cx| {
        let (work, end) = shared.work(cx.waker());
        for work in work {
            match work {
                Work::Job(job) => jobs.spawn(job),
                Work::Mail(job) => mail.spawn(job),
            };
        }
        while let Poll::Ready(Some(_)) = jobs.poll_join_next(cx) {}
        while let Poll::Ready(Some(_)) = mail.poll_join_next(cx) {}
        end.map_or(Poll::Pending, Poll::Ready)
    })
    .await;
    // Streams are left first: a server may wait for that.
    drop(jobs);
    let _ = timeout(GRACE, async { while mail.join_next().await.is_some() {} }).await;
    let _ = timeout(GRACE, shared.leave()).await;
    end
}
