//! Tokens that end, and many who need the next one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_auth::client::{MemoryStore, OAuth, Store};
use couplet_core::{BoxFuture, Error};
use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{REDIRECT, World, reply};

#[tokio::test]
async fn line_433_a_token_is_refreshed_without_anybody() {
    let world = World::new();
    world.inner().refreshes = true;
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    for round in 1..3 {
        world.revoke();
        assert_eq!(world.call(&client).await.unwrap(), 200);
        let last = world.seen("/token").pop().unwrap();
        assert_eq!(last.field("grant_type").as_deref(), Some("refresh_token"));
        // The last one that was given is shown.
        assert_eq!(last.field("refresh_token"), Some(format!("refresh-{round}")));
        assert_eq!(last.field("client_id").as_deref(), Some("client-of-as.example"));
    }
    assert_eq!(world.inner().pages.len(), 1);
}

#[tokio::test]
async fn line_433_a_refresh_token_that_is_not_replaced_is_kept() {
    let world = World::new();
    world.inner().refreshes = true;
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    world.inner().refreshes = false;
    for _ in 0..2 {
        world.revoke();
        assert_eq!(world.call(&client).await.unwrap(), 200);
        assert_eq!(world.seen("/token").pop().unwrap().field("refresh_token").as_deref(), Some("refresh-1"));
    }
}

#[tokio::test]
async fn line_433_without_a_refresh_token_a_person_is_asked_again() {
    let world = World::new();
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    world.revoke();
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.inner().pages.len(), 2);
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_leads_to_a_login_and_one_without_an_answer_does_not() {
    for (status, pages) in [(400, 2), (599, 1)] {
        let world = World::new();
        world.inner().refreshes = true;
        let client = world.client(&world.person());
        assert_eq!(world.call(&client).await.unwrap(), 200);
        world.rule(move |seen| {
            let refresh = seen.field("grant_type").as_deref() == Some("refresh_token");
            refresh.then(|| reply(status, &json!({ "error": "invalid_grant" })))
        });
        world.revoke();
        assert_eq!(world.call(&client).await.is_ok(), status == 400);
        assert_eq!(world.inner().pages.len(), pages);
    }
}

/// A token that is known to have ended is not shown any more.
#[tokio::test]
async fn a_token_is_replaced_before_it_is_refused() {
    let world = World::new();
    world.inner().refreshes = true;
    world.inner().lasts = 0;
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    let refused =
        |world: &World| world.seen("example/mcp").iter().filter(|s| s.header("authorization").is_none()).count();
    let before = refused(&world);
    world.inner().lasts = 3600;
    assert_eq!(world.call(&client).await.unwrap(), 200);
    let grants: Vec<_> = world.seen("/token").iter().map(|s| s.field("grant_type").unwrap()).collect();
    assert_eq!(grants.last().map(String::as_str), Some("refresh_token"));
    assert_eq!(refused(&world), before);
}

#[tokio::test]
async fn many_requests_wait_for_one_login() {
    let world = World::new();
    world.inner().refreshes = true;
    let client = world.client(&world.person());
    for round in 1..=3 {
        let mut calls = JoinSet::new();
        for _ in 0..50 {
            let (world, client) = (world.clone(), client.clone());
            calls.spawn(async move { world.call(&client).await.unwrap() });
        }
        while let Some(status) = calls.join_next().await {
            assert_eq!(status.unwrap(), 200);
        }
        assert_eq!(world.seen("/token").len(), round);
        assert_eq!(world.inner().pages.len(), 1);
        world.revoke();
    }
}

/// Whoever began the login gave up, but a person is at it: the next request finds its result.
#[tokio::test]
async fn a_login_outlives_the_request_that_began_it() {
    let world = World::new();
    let (opened, open) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (visitor, shown, go) = (world.clone(), opened.clone(), open.clone());
    let oauth = OAuth::new("Test").handle_redirect(REDIRECT, move |page| {
        let (visitor, shown, go) = (visitor.clone(), shown.clone(), go.clone());
        async move {
            shown.notify_one();
            go.notified().await;
            Ok(visitor.visit(&page))
        }
    });
    let client = world.client(&world.at_home(oauth));
    assert!(!client.is_held_up());
    let first = tokio::spawn({
        let (world, client) = (world.clone(), client.clone());
        async move { world.call(&client).await }
    });
    opened.notified().await;
    assert!(client.is_held_up());
    first.abort();
    first.await.unwrap_err();
    open.notify_one();
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert!(!client.is_held_up());
    assert_eq!(world.inner().pages.len(), 1);
}

/// What went wrong is told to everybody who waited, and does not stay.
#[tokio::test]
async fn a_login_that_failed_is_tried_again_by_the_next_request() {
    let world = World::new();
    let (visitor, failing) = (world.clone(), Arc::new(AtomicBool::new(true)));
    let fails = failing.clone();
    let oauth = OAuth::new("Test").handle_redirect(REDIRECT, move |page| {
        let back = if fails.load(Ordering::Relaxed) { "nowhere".to_owned() } else { visitor.visit(&page) };
        async move { Ok(back) }
    });
    let client = world.client(&world.at_home(oauth));
    let (a, b) = tokio::join!(world.call(&client), world.call(&client));
    assert!(a.is_err() && b.is_err());
    failing.store(false, Ordering::Relaxed);
    assert_eq!(world.call(&client).await.unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_does_not_come_back_is_not_waited_for_for_ever() {
    let world = World::new();
    let oauth = OAuth::new("Test").handle_redirect(REDIRECT, |_| std::future::pending());
    let oauth = world.at_home(oauth).login_timeout(Duration::from_secs(30));
    let error = world.once(&oauth).await.unwrap_err();
    assert!(error.to_string().contains("30s"), "{error}");
}

/// A store that two programs use.
#[derive(Clone, Default)]
struct Common(Arc<MemoryStore>, Arc<AtomicUsize>);

impl Store for Common {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<couplet_auth::Secret>, Error>> {
        self.0.load(key)
    }

    fn save(&self, key: &str, value: Option<couplet_auth::Secret>) -> BoxFuture<'_, Result<(), Error>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.save(key, value)
    }
}

#[tokio::test]
async fn what_another_program_has_got_is_used() {
    let (world, store) = (World::new(), Common::default());
    world.inner().refreshes = true;
    let (a, b) =
        (world.client(&world.person().store(store.clone())), world.client(&world.person().store(store.clone())));
    assert_eq!(world.call(&a).await.unwrap(), 200);
    assert_eq!(world.call(&b).await.unwrap(), 200);
    assert_eq!(world.seen("/token").len(), 1);
    world.revoke();
    assert_eq!(world.call(&a).await.unwrap(), 200);
    assert_eq!(world.call(&b).await.unwrap(), 200);
    assert_eq!(world.seen("/token").len(), 2);
    assert_eq!(world.inner().pages.len(), 1);
}

#[tokio::test]
async fn what_is_forgotten_is_asked_for_again() {
    let world = World::new();
    let oauth = world.person();
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(world.inner().pages.len(), 1);
    oauth.delete_token(crate::world::SERVER).await.unwrap();
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(world.inner().pages.len(), 2);
    assert_eq!(world.seen("/register").len(), 1);
}
