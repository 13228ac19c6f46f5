//! A client that asks no more often than it has to: the server says for how long its answers are good and for whom, and
//! tells of changes. How often the resource was really read is counted.

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

/// The forecast, which takes long to make.
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

    // Two clients share what is public, because they say that it is the same server.
    let cache = Cache::new().for_server("weather");
    let connect = || Client::new("demo", "1.0.0").cache(cache.clone()).connect(server.clone());
    let (ann, bob) = (connect().await?, connect().await?);
    for client in [&ann, &bob, &ann, &bob] {
        assert_eq!(look(client).await?, "forecast 1");
    }
    println!("four looks, {} read", READ.load(Ordering::SeqCst));

    // A change makes it old at once, for both.
    let mut changes = ann.listen(Filter::new().resource("weather://oslo")).await?;
    server.updated("weather://oslo");
    assert_eq!(changes.next().await, Some(Change::Updated("weather://oslo".into())));
    assert_eq!((look(&bob).await?, look(&ann).await?), ("forecast 2".to_owned(), "forecast 2".to_owned()));

    // Who wants to be sure asks.
    assert_eq!(ann.read("weather://oslo").no_cache().await?.all_text(), "forecast 3");
    assert_eq!(look(&bob).await?, "forecast 3");

    // Who wants no cache has none.
    let careful = Client::new("demo", "1.0.0").cache(None).connect(server.clone()).await?;
    assert_ne!(look(&careful).await?, look(&careful).await?);
    println!("{} reads in all", READ.load(Ordering::SeqCst));
    Ok(())
}
