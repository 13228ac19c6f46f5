//! A client with a cache: the server sets the lifetime and scope of its results, and change notifications invalidate
//! them. The actual reads of the resource are counted.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use couplet::{
    client::{Cache, Change, Filter},
    prelude::*,
    types::CacheScope,
};

static READ: AtomicU32 = AtomicU32::new(0);

/// The forecast, which is expensive to compute.
fn forecast() -> String {
    format!("forecast {}", READ.fetch_add(1, Ordering::SeqCst) + 1)
}

async fn look(client: &Client) -> couplet::Result<String> {
    Ok(client.read("weather://oslo").await?.all_text())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("weather", "1.0.0")
        .cache(Duration::from_secs(600), CacheScope::Public)
        .resource(resource("weather://oslo", forecast).subscribable())
        .build();

    // Two clients share public results, because they name the same server.
    let cache = Cache::new().for_server("weather");
    let connect = || Client::new("demo", "1.0.0").cache(cache.clone()).connect(server.clone());
    let (ann, bob) = (connect().await?, connect().await?);
    for client in [&ann, &bob, &ann, &bob] {
        assert_eq!(look(client).await?, "forecast 1");
    }
    println!("four looks, {} read", READ.load(Ordering::SeqCst));

    // A change notification invalidates the result for both.
    let mut changes = ann.listen(Filter::new().resource("weather://oslo")).await?;
    server.updated("weather://oslo");
    assert_eq!(changes.next().await, Some(Change::Updated("weather://oslo".into())));
    assert_eq!((look(&bob).await?, look(&ann).await?), ("forecast 2".to_owned(), "forecast 2".to_owned()));

    // `fresh` bypasses the cache.
    assert_eq!(ann.read("weather://oslo").no_cache().await?.all_text(), "forecast 3");
    assert_eq!(look(&bob).await?, "forecast 3");

    // The cache can be disabled.
    let careful = Client::new("demo", "1.0.0").cache(None).connect(server.clone()).await?;
    assert_ne!(look(&careful).await?, look(&careful).await?);
    println!("{} reads in all", READ.load(Ordering::SeqCst));
    Ok(())
}
