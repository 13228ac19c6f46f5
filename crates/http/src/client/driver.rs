//! What must run for a connection to live.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use couplet_core::{Error, ErrorKind};
use tokio::{task::JoinSet, time::timeout};

use super::shared::{Shared, Work};

/// How long the end of a connection may take: what was sent is still delivered, and the session is ended.
const GRACE: Duration = Duration::from_secs(2);

/// The connection, for as long as somebody drives it.
pub(crate) struct Driven(pub(crate) Arc<Shared>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.end(Err(Error::new(ErrorKind::Closed, "the connection was dropped")));
        self.0.forget_work();
    }
}

/// Does what there is to do until the connection is closed.
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
