//! Accepting connections until a shutdown, and the shutdown.

use std::{future::poll_fn, io, net::SocketAddr, pin::pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::Error;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    io::AsyncRead,
    sync::{Semaphore, watch},
    task::JoinSet,
    time::Instant,
};

use crate::server::{
    limits::HttpLimits,
    listen::{proxy_protocol, site::Site, slow_peers::TimeoutStream, socket::Listen, streams::Arrived},
};

/// The beginning and the end of the serving.
pub(super) struct Lifecycle {
    /// Called when the socket listens.
    pub(super) listening: Vec<Box<dyn FnOnce() + Send>>,
    /// True from the beginning of a graceful shutdown on.
    pub(super) ends: watch::Receiver<bool>,
    pub(super) lame_duck: Duration,
    pub(super) grace: Duration,
}

impl Lifecycle {
    /// Waits until the listener must close. The site is not ready from the beginning of the shutdown on.
    async fn closes(&mut self, site: &Site) {
        // Without a sender there is no server that could be served.
        let _ = self.ends.wait_for(|ends| *ends).await;
        site.begin_drain();
        if !self.lame_duck.is_zero() {
            tracing::info!(seconds = self.lame_duck.as_secs_f64(), "not ready any more: new requests are still served");
            tokio::time::sleep(self.lame_duck).await;
        }
    }
}

/// The largest number of connections that the system accepts before the server does.
const BACKLOG: usize = 1024;

/// The time between the end of the listener and that of idle connections.
const SETTLE: Duration = Duration::from_millis(100);

/// Serves the connections of a listener until a shutdown, and drains them.
pub(super) async fn run<L: Listen>(mut listener: L, site: Site, mut lifecycle: Lifecycle) -> Result<(), Error> {
    site.start();
    let limits = Arc::new(site.limits().clone());
    let grace = lifecycle.grace;
    let room = Arc::new(Semaphore::new(limits.connections));
    let open = GracefulShutdown::new();
    // Dropping the set closes the remaining connections.
    let mut connections = JoinSet::new();
    // Dropping the sender ends connections that have not begun yet.
    let stop = watch::Sender::new(());
    lifecycle.listening.drain(..).for_each(|notify| notify());
    let mut closes = pin!(lifecycle.closes(&site));
    // The number of connections that are still accepted, once the listener closes.
    let mut last: Option<usize> = None;
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (listener.accept().await, permit)
        };
        let next = match &mut last {
            None => unless(&mut closes, &mut connections, next).await,
            Some(0) => break,
            Some(left) => {
                *left -= 1;
                at_once(next).await
            }
        };
        let (stream, permit) = match (next, last) {
            (Some(accepted), _) => accepted,
            // Connections that the system has accepted already are served: closing the listener would reset them.
            (None, None) => {
                last = Some(BACKLOG);
                continue;
            }
            (None, Some(_)) => break,
        };
        let (stream, remote) = match stream {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually the process is out of file descriptors, until connections close.
                tracing::warn!(%error, "a connection cannot be accepted");
                site.accept_failed();
                if last.is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let header = site.has_proxy_header(remote).then(|| stop.subscribe());
        let (site, limits, watcher) = (site.clone(), limits.clone(), open.watcher());
        let (header_time, stall) = (limits.header_time, limits.stall);
        connections.spawn(async move {
            let _counted = (permit, site.connected());
            let mut stream = stream;
            let remote = match header {
                None => remote,
                Some(stop) => match client(&mut stream, header_time, stop).await {
                    Ok(client) => client.or(remote),
                    Err(error) => {
                        tracing::debug!(%error, ?remote, "a connection is closed");
                        return;
                    }
                },
            };
            let stream = TokioIo::new(TimeoutStream::new(stream, header_time, stall));
            let answer = hyper::service::service_fn(move |request| site.answer(request, remote));
            let requests = Arrived::default();
            let connection = server(&limits, requests.clone()).serve_connection(stream, answer).into_owned();
            if let Err(error) = requests.drive(watcher.watch(connection)).await {
                tracing::debug!(%error, "a connection ended badly");
            }
        });
    }
    drop((listener, stop));
    while connections.try_join_next().is_some() {}
    if !connections.is_empty() {
        // The request of a new connection may be on its way, and closing the connection would reset it.
        tokio::time::sleep(SETTLE).await;
    }
    site.shut_down(grace);
    drain(&site, grace, open).await;
    site.end().await;
    Ok(())
}

/// Drains the connections, and the work that the service does without a request.
async fn drain(site: &Site, grace: Duration, open: GracefulShutdown) {
    let began = Instant::now();
    let mut draining = JoinSet::new();
    let beside = site.clone();
    draining.spawn(async move { beside.drain(grace).await });
    let connections = async {
        open.shutdown().await;
        site.finish_calls().await;
    };
    if tokio::time::timeout(grace, connections).await.is_err() {
        tracing::warn!("some connections or calls were still busy and are cut off");
    }
    draining.join_next().await;
    // A call that ended meanwhile may have begun such work.
    site.drain(grace.saturating_sub(began.elapsed())).await;
}

/// Serves the connections of a listener until the future is dropped.
#[cfg(feature = "metrics")]
pub(super) async fn serve_always<L: Listen>(listener: L, site: Site) -> Result<(), Error> {
    let never = watch::Sender::new(false);
    let zero = Duration::ZERO;
    let lifecycle = Lifecycle { listening: Vec::new(), ends: never.subscribe(), lame_duck: zero, grace: zero };
    run(listener, site, lifecycle).await
}

/// Reads the header of the PROXY protocol. The other end has the same time for it as for the headers of a request, and the
/// shutdown does not wait for it.
async fn client(
    stream: &mut (impl AsyncRead + Unpin),
    timeout: Duration,
    mut stop: watch::Receiver<()>,
) -> io::Result<Option<SocketAddr>> {
    let mut stopped = pin!(stop.changed());
    let mut header = pin!(tokio::time::timeout(timeout, proxy_protocol::read(stream)));
    poll_fn(|cx| match stopped.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
        Poll::Pending => header.as_mut().poll(cx).map(|read| read.unwrap_or_else(|late| Err(late.into()))),
    })
    .await
}

/// The output of a future that is ready after other tasks and the system were heard once.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    tokio::task::yield_now().await;
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Waits for a future, but not beyond the end. Closed connections are removed meanwhile: until then they use as much
/// memory as open ones.
async fn unless<T>(
    end: &mut (impl Future<Output = ()> + Unpin),
    connections: &mut JoinSet<()>,
    next: impl Future<Output = T>,
) -> Option<T> {
    let (mut end, mut next) = (pin!(end), pin!(next));
    poll_fn(|cx| {
        while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
        match end.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => next.as_mut().poll(cx).map(Some),
        }
    })
    .await
}

fn server(limits: &HttpLimits, requests: Arrived) -> auto::Builder<Arrived> {
    /// The minimum of hyper.
    const LEAST: usize = 8192;
    let mut server = auto::Builder::new(requests);
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.headers.max(LEAST));
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(limits.headers.try_into().unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20)
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.stall);
    server
}
