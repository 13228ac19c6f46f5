//! Servers that fail do not affect the others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits, Service};
use couplet_host::{Host, upstream::UpstreamOptions};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    evil::Evil,
    kit::{Changed, SESSIONS, STATELESS, able, connect, entry, id, in_time, server},
};

/// A target that refuses, or never answers.
struct Broken {
    hangs: bool,
}

impl Connect for Broken {
    fn connect(&mut self, _: Arc<dyn Inbound>, _: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let hangs = self.hangs;
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Err(Error::new(ErrorKind::Transport, "no such file: mcp-server-down"))
        })
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
async fn a_list_does_not_wait_for_a_server_that_hangs() {
    for far in [SESSIONS, STATELESS] {
        let flood = Evil::named("flood", far, &["a"]);
        let mut host = Host::builder()
            .server("down", Broken { hangs: false })
            .server("hangs", Broken { hangs: true })
            .server("flood", flood.service());
        for name in ["one", "two", "three", "four", "five", "six"] {
            host = host.server(name, server(name, far).build());
        }
        let host = host.build();
        let client = connect(able(SESSIONS).0, host.service()).await;
        let began = Instant::now();
        let tools = client.tools().await.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(1200), "{:?}", began.elapsed());
        assert_eq!(tools.len(), 6 * 6 + 1);
        let began = Instant::now();
        for _ in 0..1000 {
            flood.hub().send(couplet_core::Change::Tools);
        }
        assert_eq!(client.tools().await.unwrap().len(), 6 * 6 + 1);
        assert!(began.elapsed() <= Duration::from_millis(5), "{:?}", began.elapsed());
        assert_eq!(client.call("six__who", ()).await.unwrap().text(), "six");
        let status = host.status();
        let down = status.iter().find(|status| status.upstream.server.as_str() == "down").unwrap();
        assert!(down.upstream.error.as_ref().unwrap().contains("mcp-server-down"), "{down:?}");
    }
}

/// The time in which the host is ready and the time that the first list waits are the same time.
#[tokio::test(start_paused = true)]
async fn acceptance_06_a_host_that_is_ready_waits_no_further() {
    for first in [0, 400, 1000] {
        let builder = Host::builder().server("hangs", Broken { hangs: true });
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
            let mut host = Host::builder()
                .server("down", Broken { hangs: false })
                .server("hangs", Broken { hangs: true })
                .add(couplet_host::Server::new(id("stuck"), stuck.service()).options(options))
                .server("flood", flood.service());
            for name in ["one", "two", "three", "four", "five", "six"] {
                host = host.add(entry(name, server(name, far)));
            }
            let host = host.build();
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
                let name = ["one", "two", "three", "four", "five", "six"][at % 6];
                assert_eq!(client.call(format!("{name}__who"), ()).await.unwrap().text(), name);
            }
            assert!(began.elapsed() <= Duration::from_millis(5), "{near} to {far}: {:?}", began.elapsed());
            assert_eq!(busy(), 4, "the calls that hang still do");
        })
        .await;
    }
}
