//! Which scopes are asked for.

use serde_json::json;

use crate::world::{ABOUT, SERVER, World};

#[tokio::test]
async fn line_411_what_the_challenge_names_then_all_that_there_are_then_nothing() {
    for (challenge, all, server, own, expected) in [
        (Some("a b"), Some(json!(["c", "d"])), None, vec![], Some("a b")),
        (None, Some(json!(["c", "d"])), None, vec![], Some("c d")),
        (None, None, None, vec![], None),
        (Some("a"), None, Some(json!(["offline_access"])), vec![], Some("a offline_access")),
        (None, None, Some(json!(["offline_access"])), vec![], None),
        (Some("a"), None, Some(json!(["x"])), vec!["y", "a"], Some("a y")),
        (None, None, None, vec!["y"], Some("y")),
        (Some("a \\\" b\\\\c"), None, None, vec![], Some("a")),
    ] {
        let world = World::new();
        if let Some(scope) = challenge {
            world.inner().challenge = format!("Bearer scope=\"{scope}\", resource_metadata=\"{ABOUT}\"");
        }
        world.resource_says("scopes_supported", json!(all));
        world.server_says("scopes_supported", json!(server));
        assert_eq!(world.once(&world.person().scopes(own)).await.unwrap(), 200);
        assert_eq!(world.on_page("scope").as_deref(), expected);
        // Without it OpenID Connect gives nothing for that scope.
        let offline = expected.is_some_and(|e| e.contains("offline_access"));
        assert_eq!(world.on_page("prompt").as_deref(), offline.then_some("consent"));
    }
}

#[tokio::test]
async fn line_414_415_more_is_asked_for_together_with_what_there_was() {
    let world = World::new();
    world.inner().challenge = format!("Bearer scope=\"read\", resource_metadata=\"{ABOUT}\"");
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    world.inner().needs = Some("write".to_owned());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.on_page("scope").as_deref(), Some("read write"));
    world.inner().needs = Some("admin".to_owned());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.on_page("scope").as_deref(), Some("read write admin"));
    assert_eq!(world.inner().pages.len(), 3);
}

/// A server that is never content does not make a person log in again and again.
#[tokio::test]
async fn line_414_nobody_is_asked_twice_for_the_same() {
    let world = World::new();
    world.rule(|seen| {
        let token = (seen.url == SERVER) && seen.headers.contains_key("authorization");
        token.then(|| crate::world::refuse(403, "Bearer error=\"insufficient_scope\", scope=\"admin\""))
    });
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 403);
    assert_eq!(world.call(&client).await.unwrap(), 403);
    assert_eq!(world.inner().pages.len(), 2);
}

#[tokio::test]
async fn line_414_a_server_that_wants_something_else_each_time_is_given_up() {
    let world = World::new();
    let count = std::sync::atomic::AtomicUsize::new(0);
    world.rule(move |seen| {
        let token = (seen.url == SERVER) && seen.headers.contains_key("authorization");
        let scope = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        token.then(|| crate::world::refuse(403, &format!("Bearer error=\"insufficient_scope\", scope=\"s{scope}\"")))
    });
    assert_eq!(world.once(&world.person()).await.unwrap(), 403);
    assert_eq!(world.inner().pages.len(), 3);
}

/// A token that is refused although it is new is not replaced again.
#[tokio::test]
async fn a_server_that_takes_no_token_is_given_up() {
    let world = World::new();
    world.rule(|seen| (seen.url == SERVER).then(|| crate::world::refuse(401, "Bearer error=\"invalid_token\"")));
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 401);
    assert_eq!(world.inner().pages.len(), 1);
}

#[tokio::test]
async fn other_reasons_not_to_be_let_in_are_left_alone() {
    for challenge in
        ["Bearer error=\"insufficient_scope\"", "Bearer scope=\"a\"", "Bearer error=\"other\", scope=\"a\""]
    {
        let world = World::new();
        world.rule(move |seen| (seen.url == SERVER).then(|| crate::world::refuse(403, challenge)));
        assert_eq!(world.once(&world.person()).await.unwrap(), 403, "{challenge}");
        assert!(world.inner().pages.is_empty());
    }
}
