//! Servers that fail do not affect the others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits, Service};
use couplet_host::Host;
use tokio::time::Instant;

use crate::{
    evil::Evil,
    kit::{Changed, SESSIONS, STATELESS, able, connect, server},
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
