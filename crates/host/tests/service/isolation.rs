//! Servers that fail do not affect the others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{
    BoxFuture, Channel, Connect, Connected, Dialect, Error, ErrorKind, Exchange, Inbound, Limits, Outgoing, Service,
};
use couplet_host::{Host, HostBuilder, upstream::UpstreamOptions};
use couplet_types::{ProtocolVersion, RequestId};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    evil::Evil,
    kit::{Changed, SESSIONS, STATELESS, able, connect, entry, id, in_time, server},
};

/// A target that refuses, never answers, or ends as soon as it has started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Down,
    Hangs,
    Crashes,
}

/// The cause that the status of a server names, by its id.
const CAUSES: [(&str, &str); 2] =
    [("down", "no such file: mcp-server-down"), ("crashes", "exited with status 1; its last words: no database")];

impl Connect for Broken {
    fn connect(&mut self, _: Arc<dyn Inbound>, _: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let broken = *self;
        Box::pin(async move {
            let error = |why: &str| Error::new(ErrorKind::Transport, why.to_owned());
            match broken {
                Self::Down => Err(error(CAUSES[0].1)),
                Self::Hangs => std::future::pending().await,
                // There is a connection for a moment.
                Self::Crashes => {
                    let driver = Box::pin(std::future::ready(Err(error(CAUSES[1].1))));
                    Ok(Connected { channel: Arc::new(Closed), driver })
                }
            }
        })
    }
}

/// The channel of a connection that has ended.
struct Closed;

impl Channel for Closed {
    fn next_id(&self) -> RequestId {
        1.into()
    }

    fn open(&self, _: Outgoing) -> Exchange {
        Exchange::failed(Error::new(ErrorKind::Transport, CAUSES[1].1))
    }

    fn notify(&self, _: Bytes) {}

    fn agree(&self, _: &Dialect) {}

    fn close(&self) {}
}

/// Three servers that fail, one that floods, and more that `add` adds.
fn fleet(flood: &Evil, add: impl FnOnce(HostBuilder) -> HostBuilder, far: ProtocolVersion) -> Host {
    let failing = Host::builder()
        .server("down", Broken::Down)
        .server("hangs", Broken::Hangs)
        .server("crashes", Broken::Crashes)
        .server("flood", flood.service());
    SOUND.iter().fold(add(failing), |host, name| host.add(entry(name, server(name, far)))).build()
}

/// The servers that work, with six tools each.
const SOUND: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// The status of each server that failed names the cause.
fn causes_are_named(host: &Host) {
    for (server, cause) in CAUSES {
        let status = host.status().into_iter().find(|status| status.upstream.server.as_str() == server).unwrap();
        assert!(status.upstream.error.as_ref().is_some_and(|error| error.contains(cause)), "{status:?}");
    }
}

/// Lists come from the catalog: neither calls nor further lists reach the lists of a server.
#[tokio::test]
async fn no_list_is_fetched_for_a_call() {
    for far in [SESSIONS, STATELESS] {
        let lists = Arc::new(AtomicUsize::new(0));
        let count = lists.clone();
        let inside: Arc<dyn Service> = Arc::new(server("files", far).build());
        let counted = Changed(
            inside,
            Box::new(move |call| {
                if call.method.ends_with("/list") {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }),
        );
        let host = Host::builder().server("files", Arc::new(counted) as Arc<dyn Service>).build();
        let client = connect(able(STATELESS).0, host.service()).await;
        client.tools().await.unwrap();
        let before = lists.load(Ordering::SeqCst);
        assert_eq!(before, 4, "{far}: one request for each kind");
        for _ in 0..20 {
            client.call("files__who", ()).await.unwrap();
            client.read("files://one").await.unwrap();
            client.tools().await.unwrap();
            let _ = client.call("files__none", ()).await;
        }
        assert_eq!(lists.load(Ordering::SeqCst), before, "{far}");
    }
}

#[tokio::test(start_paused = true)]
async fn acceptance_06_lists_do_not_wait_for_servers_that_fail() {
    for far in [SESSIONS, STATELESS] {
        let flood = Evil::named("flood", far, &["a"]);
        let host = fleet(&flood, |host| host, far);
        let client = connect(able(SESSIONS).0, host.service()).await;
        let began = Instant::now();
        let tools = client.tools().await.unwrap();
        let cold = began.elapsed();
        assert!(cold <= Duration::from_millis(1200), "{cold:?}");
        assert_eq!(tools.len(), 6 * 6 + 1);
        let began = Instant::now();
        for _ in 0..1000 {
            flood.hub().send(couplet_core::Change::Tools);
        }
        assert_eq!(client.tools().await.unwrap().len(), 6 * 6 + 1);
        assert!(began.elapsed() <= Duration::from_millis(5), "{:?}", began.elapsed());
        for name in SOUND {
            assert_eq!(client.call(format!("{name}__who"), ()).await.unwrap().text(), name);
        }
        causes_are_named(&host);
        println!("acceptance 6: {far}: 6 of 10 servers work, 37 tools after {cold:.0?}, both causes are named");
    }
}

/// The time in which the host is ready and the time that the first list waits are the same time.
#[tokio::test(start_paused = true)]
async fn acceptance_06_a_host_that_is_ready_waits_no_further() {
    for first in [0, 400, 1000] {
        let builder = Host::builder().server("hangs", Broken::Hangs);
        let host = builder.server("files", server("files", STATELESS).build()).build();
        let began = Instant::now();
        let getting_ready = tokio::spawn({
            let host = host.clone();
            async move { host.ready(Duration::from_secs(1)).await }
        });
        tokio::time::sleep(Duration::from_millis(first)).await;
        let client = connect(able(STATELESS).0, host.service()).await;
        let (tools, prompts) = tokio::join!(client.tools(), client.prompts());
        assert_eq!((tools.unwrap().len(), prompts.unwrap().len()), (6, 1));
        getting_ready.await.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(1200), "{first}: {:?}", began.elapsed());
        let began = Instant::now();
        client.resources().await.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(5), "{first}: {:?}", began.elapsed());
    }
}

/// Calls of a server that hangs use up its own limits, and those of no other. The clock stands still while anything can
/// run, so that any wait would be seen.
#[tokio::test(start_paused = true)]
async fn acceptance_06_calls_do_not_wait_for_a_server_that_hangs() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let tools = json!([{ "name": "hang", "inputSchema": { "type": "object" } }]);
            let stuck = Evil::new(far, tools, json!([]), |_| Box::pin(std::future::pending()));
            let flood = Evil::named("flood", far, &["a"]);
            let mut options = UpstreamOptions::default();
            (options.calls, options.queue) = (4, 4);
            let stuck = couplet_host::Server::new(id("stuck"), stuck.service()).options(options);
            let host = fleet(&flood, |host| host.add(stuck), far);
            let client = connect(able(near).0.timeout(None).max_timeout(None), host.service()).await;
            assert_eq!(client.tools().await.unwrap().len(), 6 * 6 + 2);
            let mut hanging = tokio::task::JoinSet::new();
            for _ in 0..20 {
                let client = client.clone();
                hanging.spawn(async move { client.call("stuck__hang", ()).await });
            }
            let busy =
                || host.status().iter().find(|s| s.upstream.server.as_str() == "stuck").unwrap().upstream.running;
            while busy() < 4 {
                tokio::task::yield_now().await;
            }
            let began = Instant::now();
            for at in 0..200 {
                flood.hub().send(couplet_core::Change::Tools);
                let name = SOUND[at % 6];
                assert_eq!(client.call(format!("{name}__who"), ()).await.unwrap().text(), name);
            }
            assert!(began.elapsed() <= Duration::from_millis(5), "{near} to {far}: {:?}", began.elapsed());
            assert_eq!(busy(), 4, "the calls that hang still do");
            causes_are_named(&host);
        })
        .await;
    }
}
