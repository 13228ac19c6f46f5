//! Ending a login.

use std::sync::Arc;

use bytes::Bytes;
use couplet_auth::client::{LogOut, MemoryStore, OAuth, Store};
use couplet_core::{BoxFuture, Error};
use http::Response;
use serde_json::json;

use crate::world::{ISSUER, SERVER, World, reply};

/// A store that can be looked into.
#[derive(Clone, Default)]
struct Shared(Arc<MemoryStore>);

impl Store for Shared {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<couplet_auth::Secret>, Error>> {
        self.0.load(key)
    }

    fn save(&self, key: &str, value: Option<couplet_auth::Secret>) -> BoxFuture<'_, Result<(), Error>> {
        self.0.save(key, value)
    }
}

/// A user who has logged in.
async fn logged_in(offers: bool) -> (World, OAuth) {
    let world = World::new();
    world.inner().refreshes = true;
    if offers {
        world.server_says("revocation_endpoint", json!(format!("{ISSUER}/revoke")));
    }
    let oauth = world.person().store(Shared::default());
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    (world, oauth)
}

/// After a logout the next request asks a person again.
async fn is_over(world: &World, oauth: &OAuth) {
    let pages = world.inner().pages.len();
    assert!(matches!(oauth.log_out(SERVER).await.unwrap(), LogOut::NotLoggedIn));
    world.once(oauth).await.unwrap();
    assert_eq!(world.inner().pages.len(), pages + 1);
}

#[tokio::test]
async fn both_tokens_are_revoked_and_forgotten() {
    let (world, oauth) = logged_in(true).await;
    world.rule(|seen| seen.url.ends_with("/revoke").then(|| reply(200, &json!({}))));
    assert!(matches!(oauth.log_out(SERVER).await.unwrap(), LogOut::Revoked));
    let sent: Vec<_> = world.seen("/revoke").iter().map(|s| (s.field("token"), s.field("token_type_hint"))).collect();
    let pair = |token: &str, hint: &str| (Some(token.to_owned()), Some(hint.to_owned()));
    assert_eq!(sent, [pair("refresh-1", "refresh_token"), pair("token-1", "access_token")]);
    assert_eq!(world.seen("/revoke")[0].field("client_id").as_deref(), Some("client-of-as.example"));
    is_over(&world, &oauth).await;
}

#[tokio::test]
async fn a_login_is_forgotten_even_if_it_cannot_be_revoked() {
    let (world, oauth) = logged_in(false).await;
    assert!(matches!(oauth.log_out(SERVER).await.unwrap(), LogOut::NotOffered));
    is_over(&world, &oauth).await;

    let (world, oauth) = logged_in(true).await;
    world.rule(|seen| {
        let lost = Response::builder().status(599).body(Bytes::new()).unwrap();
        seen.url.ends_with("/revoke").then_some(lost)
    });
    let LogOut::Failed(why) = oauth.log_out(SERVER).await.unwrap() else { panic!("it was out of reach") };
    assert!(why.to_string().contains("unreachable"), "{why}");
    is_over(&world, &oauth).await;
}

#[tokio::test]
async fn an_access_token_that_cannot_be_revoked_is_no_failure() {
    let (world, oauth) = logged_in(true).await;
    world.rule(|seen| {
        let access = seen.field("token_type_hint").as_deref() == Some("access_token");
        let answer =
            if access { reply(400, &json!({ "error": "unsupported_token_type" })) } else { reply(200, &json!({})) };
        seen.url.ends_with("/revoke").then_some(answer)
    });
    assert!(matches!(oauth.log_out(SERVER).await.unwrap(), LogOut::Revoked));
}
