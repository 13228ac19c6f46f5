//! Servers that fail do not affect the others.

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits};
use couplet_host::Host;
use tokio::time::Instant;

use crate::{
    evil::Evil,
    kit::{SESSIONS, STATELESS, able, connect, server},
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
