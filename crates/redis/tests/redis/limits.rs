//! Limits that replicas share.

use std::time::Duration;

use couplet_redis::{RedisLimits, Taken};

use crate::server::Server;
#[cfg(feature = "middleware")]
use crate::server::nowhere;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn replicas_share_a_bucket() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (server.redis(), server.redis());
    let (one, two) = (RedisLimits::new(&one, "calls", 3, HOUR), RedisLimits::new(&two, "calls", 3, HOUR));
    assert_eq!(one.take("alice", 2).await.unwrap(), Taken::Allowed);
    assert!(matches!(two.take("alice", 2).await.unwrap(), Taken::Retry(after) if after <= HOUR && after > HOUR / 2));
    assert_eq!(two.take("alice", 1).await.unwrap(), Taken::Allowed, "a refusal takes nothing");
    assert!(matches!(one.take("alice", 1).await.unwrap(), Taken::Retry(_)));
    assert_eq!(one.take("bob", 3).await.unwrap(), Taken::Allowed, "another key");
    assert_eq!(one.take("carol", 99).await.unwrap(), Taken::Allowed, "a high cost takes a full bucket");
    assert!(matches!(one.take("carol", 99).await.unwrap(), Taken::Retry(after) if after <= 3 * HOUR));
    server.assert_all_expire("couplet:limit:{").await;
}

#[tokio::test]
async fn names_separate_limits() {
    let Some(server) = Server::start().await else { return };
    let redis = server.redis();
    assert_eq!(RedisLimits::new(&redis, "calls", 1, HOUR).take("alice", 1).await.unwrap(), Taken::Allowed);
    assert_eq!(RedisLimits::new(&redis, "bytes", 1, HOUR).take("alice", 1).await.unwrap(), Taken::Allowed);
}

#[tokio::test]
async fn tokens_come_back() {
    let Some(server) = Server::start().await else { return };
    let limits = RedisLimits::new(&server.redis(), "calls", 2, Duration::from_millis(5));
    for _ in 0..20 {
        while let Taken::Retry(after) = limits.take("alice", 2).await.unwrap() {
            assert!(after <= Duration::from_millis(10), "{after:?}");
            tokio::time::sleep(after).await;
        }
    }
}

#[tokio::test]
async fn a_connection_that_was_idle_for_too_long_is_no_error() {
    let Some(server) = Server::start().await else { return };
    let limits = RedisLimits::new(&server.redis(), "calls", 2, HOUR);
    assert_eq!(limits.take("alice", 1).await.unwrap(), Taken::Allowed);
    let _: i64 = server.command(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    // Two round trips later the end of the connection has arrived as well.
    for _ in 0..2 {
        let _: String = server.command(&["PING"]).await;
    }
    assert_eq!(limits.take("alice", 1).await.unwrap(), Taken::Allowed);
    assert!(matches!(limits.take("alice", 1).await.unwrap(), Taken::Retry(_)), "each was counted once");
}

#[cfg(feature = "middleware")]
#[tokio::test]
async fn contract_of_buckets() {
    use couplet_testing::contract;
    for server in [Server::start().await, Server::cluster().await] {
        let Some(server) = server else { return };
        let [one, two] = [server.redis(), server.redis()].map(|redis| RedisLimits::new(&redis, "calls", 3, HOUR));
        contract::buckets(&one, &two).await;
        let quick = RedisLimits::new(&server.redis(), "refill", 2, Duration::from_millis(5));
        contract::bucket_refill(&quick).await;
    }
    contract::buckets_away(&RedisLimits::new(&nowhere(), "calls", 3, HOUR)).await;
}

/// Calls of a caller at two replicas count together, and not those of another caller or tool.
#[cfg(feature = "middleware")]
#[tokio::test]
async fn replicas_of_a_server_share_a_rate_limit() {
    use couplet_core::{Call, Caller};
    use couplet_middleware::RateLimit;
    use couplet_server::{Next, Server as Mcp, tool};
    use couplet_testing::types::ProtocolVersion;

    for &version in ProtocolVersion::ALL {
        let Some(server) = Server::start().await else { return };
        let connect = async |caller: &str| {
            let caller = std::sync::Arc::new(Caller::new(caller));
            let limits = RedisLimits::new(&server.redis(), "calls", 1, HOUR);
            let replica: Mcp = Mcp::new("s", "1")
                .tool(tool("a", || "a"))
                .tool(tool("b", || "b"))
                .middleware(move |mut call: Call, next: Next| {
                    call.caller = Some(caller.clone());
                    next.run(call)
                })
                .middleware(RateLimit::new(limits).per_tool().tools_only().fail_closed());
            couplet_testing::connect(replica.build(), version).await.unwrap()
        };
        let (one, two, bob) = (connect("ada").await, connect("ada").await, connect("bob").await);
        assert!(!one.call("a", ()).await.unwrap().is_error());
        let refused = two.call("a", ()).await.unwrap();
        assert!(refused.is_error() && refused.text().starts_with("too many calls; retry in "), "{}", refused.text());
        assert!(!two.call("b", ()).await.unwrap().is_error(), "another tool");
        assert!(!bob.call("a", ()).await.unwrap().is_error(), "another caller");
        server.assert_all_expire("couplet:limit:{").await;
    }
}

#[cfg(feature = "middleware")]
#[tokio::test]
async fn a_rate_limit_without_its_store_allows_or_refuses() {
    use couplet_middleware::RateLimit;
    use couplet_server::{Server as Mcp, tool};
    use couplet_testing::types::ProtocolVersion;

    let redis = nowhere();
    for &version in ProtocolVersion::ALL {
        let limit = || RateLimit::new(RedisLimits::new(&redis, "calls", 1, HOUR)).tools_only();
        for (limit, is_refused) in [(limit(), false), (limit().fail_closed(), true)] {
            let server: Mcp = Mcp::new("s", "1").tool(tool("a", || "a")).middleware(limit);
            let client = couplet_testing::connect(server.build(), version).await.unwrap();
            assert_eq!(client.call("a", ()).await.unwrap().is_error(), is_refused);
        }
    }
}
